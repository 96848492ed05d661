package interp

import (
	"errors"
	"math"
	"math/rand"
	"testing"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// TestGradientsOfTable: for random uses of every operation that has a derivative, of any shape and along any axes, the
// change of a weighted sum of the results along a random direction is the same by central differences, by reverse mode
// and by forward mode.
func TestGradientsOfTable(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 15
	}
	for _, d := range ir.Ops() {
		differentiable := d.VJP != nil || d.Expand != nil && d.NoGrad == ""
		if !differentiable || hosts[d.Name] || d == ops.Call {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			rng := rand.New(rand.NewSource(int64(len(d.Name)) + 3))
			within := [2]float64{-1.5, 1.5}
			if d.Class == ir.Pointwise {
				within = [2]float64{0.15, 0.9} // where all of them are defined
			}
			made := 0
			for try := 0; try < 40*n && made < n; try++ {
				g := newGen(rng)
				g.real = &within
				if in := g.instance(d); in != nil && in.compareModes(t, rng) {
					made++
				}
			}
			if made < n {
				t.Errorf("only %d instances", made)
			}
		})
	}
}

// compareModes reports that there was something to compare: the function has a value at the point and depends on floats
// there without a kink or a pole close by.
func (in *instance) compareModes(t *testing.T, rng *rand.Rand) bool {
	t.Helper()
	m := &ir.Module{Funcs: []*ir.Func{in.f, in.derivative("back", ops.Vjp), in.derivative("forth", ops.Jvp)}}
	run := func(name string, args ...*ir.Array) []*ir.Array {
		out, err := RunDims(m, name, in.dims, args, &MemSystem{})
		if err != nil {
			return nil
		}
		return out
	}
	values := run("f", in.args...)
	if values == nil {
		return false
	}
	var directions, weights []*ir.Array
	for _, a := range in.args {
		if a.DType == types.F64 {
			directions = append(directions, like(a, rng))
		}
	}
	depends := false
	for _, v := range values {
		if v.DType == types.F64 {
			weights = append(weights, like(v, rng))
			depends = depends || len(v.Bits) > 0
		}
	}
	if len(directions) == 0 || !depends {
		return false
	}
	moved := func(by float64) float64 {
		args := append([]*ir.Array{}, in.args...)
		k := 0
		for i, a := range args {
			if a.DType != types.F64 {
				continue
			}
			args[i] = ir.NewArray(a.DType, a.Shape...)
			for j := range a.Bits {
				args[i].Bits[j] = math.Float64bits(number(a, j) + by*number(directions[k], j))
			}
			k++
		}
		out := run("f", args...)
		if out == nil {
			return math.NaN()
		}
		return product(weights, out)
	}
	slope := func(h float64) float64 {
		return (8*(moved(h)-moved(-h)) - (moved(2*h) - moved(-2*h))) / (12 * h)
	}
	near := func(a, b, tol float64) bool {
		return math.Abs(a-b) <= tol*(1+math.Max(math.Abs(a), math.Abs(b)))
	}
	want := slope(1e-4)
	if other := slope(3e-4); !near(want, other, 1e-8) {
		return false
	}
	back := run("back", append(append([]*ir.Array{}, in.args...), weights...)...)
	forth := run("forth", append(append([]*ir.Array{}, in.args...), directions...)...)
	if back == nil || forth == nil {
		t.Errorf("a derivative fails where the function does not\n%s", m)
		return true
	}
	reverse, forward := product(directions, back), product(weights, forth)
	if !near(reverse, want, 1e-6) {
		t.Errorf("reverse mode gives %v, central differences %v\n%s", reverse, want, m)
	}
	if !near(forward, reverse, 1e-10) {
		t.Errorf("forward mode gives %v, reverse mode %v\n%s", forward, reverse, m)
	}
	return true
}

// derivative is a function that differentiates in.f by all of its f64 parameters and gives the derivatives alone.
func (in *instance) derivative(name string, mode *ir.OpDef) *ir.Func {
	region, err := ir.NewCloner().Block(in.f.Body)
	if err != nil {
		panic(err)
	}
	f := &ir.Func{Name: name, Dims: in.f.Dims, Body: &ir.Block{}}
	var wrt []int64
	var by []types.Tensor
	for i, p := range in.f.Params() {
		f.Body.Param("", p.Type, p.Span)
		if p.Type.Elem == types.F64 {
			wrt, by = append(wrt, int64(i)), append(by, p.Type)
		}
	}
	if mode == ops.Vjp {
		by = nil
		for _, y := range in.f.Results {
			if y.Elem.IsFloat() {
				by = append(by, y)
			}
		}
	}
	for _, t := range by {
		f.Body.Param("", t, in.op.Span)
	}
	b := &ir.Builder{Block: f.Body}
	out := b.EmitOp(mode, ir.A{"wrt": wrt}, append([]*ir.Value{}, f.Body.Params...), []*ir.Block{region}).Results
	f.Body.Yields = append(f.Body.Yields, out[len(in.f.Results):]...)
	f.Results = ir.ArgTypes(f.Body.Yields)
	return f
}

// like is an array of the shape of a, with elements between -1 and 1.
func like(a *ir.Array, rng *rand.Rand) *ir.Array {
	out := ir.NewArray(a.DType, a.Shape...)
	for i := range out.Bits {
		out.Bits[i] = math.Float64bits(2*rng.Float64() - 1)
	}
	return out
}

func number(a *ir.Array, i int) float64 { return scalar.FloatValue(a.DType, a.Bits[i]) }

// product is the sum of the products of the elements of f64 arrays; others in bs are left out.
func product(as, bs []*ir.Array) float64 {
	sum, k := 0.0, 0
	for _, b := range bs {
		if b.DType != types.F64 {
			continue
		}
		for i := range b.Bits {
			sum += number(as[k], i) * number(b, i)
		}
		k++
	}
	return sum
}

// TestBrokenDerivative: a derivative that cannot be taken, of a module that no checker has seen, is an error.
func TestBrokenDerivative(t *testing.T) {
	m, list := ir.Parse(diag.NewFile("in.ir", `module "m"

func @f(%x: f32) -> f32 {
  %0: f32 = const {value = f32 1.0}
  %1: f32, %2: f32 = vjp %x, %0 {wrt = [0]} ^(%y: f32) {
    %3: i32 = cast %y {to = i32}
    %4: f32 = cast %3 {to = f32}
    yield %4
  }
  return %2
}
`))
	if list.HasErrors() {
		t.Fatal(list)
	}
	_, err := Run(m, "f", []*ir.Array{ir.NewArray(types.F32)}, &MemSystem{})
	var failed *ir.GradientError
	if !errors.As(err, &failed) || failed.Diagnostic.Code != diag.CodeIntegerPath {
		t.Errorf("%v", err)
	}
}
