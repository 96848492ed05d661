package random

import (
	"math"
	"math/rand/v2"
	"testing"

	"healc/ir"
	"healc/ir/interp"
	"healc/ir/ops"
	"healc/lang/types"
)

// TestModes differentiates random programs of f64: the weighted change of the results along a direction is the same by
// reverse mode and by forward mode.
func TestModes(t *testing.T) {
	n := *count
	if testing.Short() {
		n = 200
	}
	compared := 0
	for i := range n {
		seed := *first + uint64(i)
		p := NewReal(seed, map[string]int{})
		back, forth := derivative(p.IR.Func("f"), "back", ops.Vjp), derivative(p.IR.Func("f"), "forth", ops.Jvp)
		if back == nil {
			continue
		}
		p.IR.Funcs = append(p.IR.Funcs, back, forth)
		if err := ir.Verify(p.IR); err != nil {
			t.Fatalf("-random.seed=%d: %v\n%s", seed, err, p)
		}
		if len(ops.CheckGradients(p.IR)) > 0 {
			continue
		}
		if compareModes(t, p) {
			compared++
		}
	}
	t.Logf("%d of %d programs have a derivative of numbers", compared, n)
	if n >= 100 && compared < n/4 {
		t.Errorf("%d of %d programs have a derivative of numbers: the generator draws too few", compared, n)
	}
}

// compareModes reports that there were numbers to compare.
func compareModes(t *testing.T, p *Program) bool {
	r := rand.New(rand.NewPCG(p.Seed, 11))
	f := p.IR.Func("f")
	args := append([]*ir.Array{}, p.Input...)
	var directions, weights []*ir.Array
	for i, a := range args {
		if a.DType == types.F64 {
			args[i] = numbers(r, a, 1.5)
			directions = append(directions, numbers(r, a, 1))
		}
	}
	run := func(name string, args []*ir.Array) []*ir.Array {
		out, err := interp.RunDims(p.IR, name, p.Bind, args, &interp.MemSystem{})
		if err != nil {
			return nil
		}
		return out
	}
	values := run("f", args)
	if values == nil {
		return false
	}
	for i, v := range values {
		if f.Results[i].Elem == types.F64 {
			weights = append(weights, numbers(r, v, 1))
		}
	}
	reversed, forwarded := run("back", append(args[:len(args):len(args)], weights...)),
		run("forth", append(args[:len(args):len(args)], directions...))
	if reversed == nil || forwarded == nil {
		t.Errorf("-random.seed=%d: a derivative fails where the function does not\n%s", p.Seed, p)
		return false
	}
	reverse, size := weigh(directions, reversed)
	forward, other := weigh(weights, forwarded)
	scale := math.Max(size, other)
	if math.IsNaN(scale) || scale > 1e30 || scale == 0 {
		return false
	}
	if !(math.Abs(reverse-forward) <= 1e-7*scale+1e-9) {
		t.Errorf("-random.seed=%d: reverse mode gives %v, forward mode %v\n%s", p.Seed, reverse, forward, p)
	}
	return true
}

// numbers is an f64 array of the shape of a, with elements between -by and by.
func numbers(r *rand.Rand, a *ir.Array, by float64) *ir.Array {
	out := ir.NewArray(types.F64, a.Shape...)
	for i := range out.Bits {
		out.Bits[i] = math.Float64bits(by * (2*r.Float64() - 1))
	}
	return out
}

// weigh is the sum of the products of the elements, and that of their magnitudes.
func weigh(as, bs []*ir.Array) (sum, size float64) {
	for k, a := range as {
		for i := range a.Bits {
			x := math.Float64frombits(a.Bits[i]) * math.Float64frombits(bs[k].Bits[i])
			sum, size = sum+x, size+math.Abs(x)
		}
	}
	return sum, size
}

// derivative is a function that differentiates f by its f64 parameters and gives the derivatives alone; nil when f has
// none.
func derivative(f *ir.Func, name string, mode *ir.OpDef) *ir.Func {
	region, err := ir.NewCloner().Block(f.Body)
	if err != nil {
		panic(err)
	}
	out := &ir.Func{Name: name, Dims: f.Dims, Body: &ir.Block{}}
	var wrt []int64
	var more []types.Tensor
	for i, p := range f.Params() {
		out.Body.Param("", p.Type, p.Span)
		if p.Type.Elem == types.F64 {
			wrt, more = append(wrt, int64(i)), append(more, p.Type)
		}
	}
	floats := 0
	for _, y := range f.Results {
		if y.Elem == types.F64 {
			floats++
		} else if y.Elem.IsFloat() {
			return nil
		}
	}
	if len(wrt) == 0 || floats == 0 {
		return nil
	}
	if mode == ops.Vjp {
		more = nil
		for _, y := range f.Results {
			if y.Elem == types.F64 {
				more = append(more, y)
			}
		}
	}
	for _, t := range more {
		out.Body.Param("", t, f.Span)
	}
	b := &ir.Builder{Block: out.Body}
	all := b.EmitOp(mode, ir.A{"wrt": wrt}, append([]*ir.Value{}, out.Body.Params...), []*ir.Block{region}).Results
	out.Body.Yields = append(out.Body.Yields, all[len(f.Results):]...)
	out.Results = ir.ArgTypes(out.Body.Yields)
	return out
}
