package gradients

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/interp"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/parser"
	"healc/lang/types"
	programs "healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// A function is one of f64 tensors, which gives the function itself, its reverse and its forward mode.
type function struct {
	m      *ir.Module
	shapes [][]int64 // of the parameters
	out    []int64   // of the result
}

// run calls one of the functions of the module.
func (f *function) run(t *testing.T, entry string, args ...[]float64) []*ir.Array {
	t.Helper()
	out, err := interp.Run(f.m, entry, f.arguments(entry, args), &interp.MemSystem{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", entry, err, f.m)
	}
	return out
}

// arguments are tensors of the shapes that one of the functions takes.
func (f *function) arguments(entry string, args [][]float64) []*ir.Array {
	shapes := slices.Concat(f.shapes, f.shapes)
	if entry == "back" {
		shapes = append(slices.Clone(f.shapes), f.out)
	}
	in := make([]*ir.Array, len(args))
	for i, a := range args {
		in[i] = ir.NewArray(types.F64, shapes[i]...)
		for k, v := range a {
			in[i].Bits[k] = math.Float64bits(v)
		}
	}
	return in
}

func values(a *ir.Array) []float64 {
	out := make([]float64, len(a.Bits))
	for i, b := range a.Bits {
		out[i] = scalar.FloatValue(a.DType, b)
	}
	return out
}

func dot(x, y []float64) float64 {
	s := 0.0
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

func close(a, b, tol float64) bool {
	return math.Abs(a-b) <= tol*(1+math.Max(math.Abs(a), math.Abs(b)))
}

// verify compares, at a point, the derivative along a random direction in three ways: by central differences, by
// reverse mode and by forward mode.
func (f *function) verify(t *testing.T, rng *rand.Rand, point [][]float64) {
	t.Helper()
	dir := make([][]float64, len(point))
	for i, p := range point {
		dir[i] = random(rng, len(p), -1, 1)
	}
	size := 1
	for _, n := range f.out {
		size *= int(n)
	}
	ct := random(rng, size, -1, 1)
	const h = 1e-5
	moved := func(by float64) float64 {
		args := make([][]float64, len(point))
		for i, p := range point {
			args[i] = append([]float64{}, p...)
			for k := range p {
				args[i][k] += by * dir[i][k]
			}
		}
		return dot(ct, values(f.run(t, "f", args...)[0]))
	}
	want := (8*(moved(h)-moved(-h)) - (moved(2*h) - moved(-2*h))) / (12 * h)
	reverse := 0.0
	for i, g := range f.run(t, "back", append(append([][]float64{}, point...), ct)...) {
		reverse += dot(dir[i], values(g))
	}
	forward := dot(ct, values(f.run(t, "forth", append(append([][]float64{}, point...), dir...)...)[0]))
	if !close(reverse, want, 1e-7) {
		t.Errorf("at %v: reverse mode gives %v, central differences %v\n%s", point, reverse, want, f.m)
	}
	if !close(forward, reverse, 1e-11) {
		t.Errorf("at %v: forward mode gives %v, reverse mode %v\n%s", point, forward, reverse, f.m)
	}
}

func random(rng *rand.Rand, n int, lo, hi float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo + (hi-lo)*rng.Float64()
	}
	return out
}

// ranges are where the points for an operation are drawn, for those that are not defined everywhere.
var ranges = map[string][2]float64{
	"log": {0.2, 3}, "log2": {0.2, 3}, "log10": {0.2, 3}, "log1p": {-0.6, 3}, "sqrt": {0.2, 3}, "rsqrt": {0.2, 3},
	"cbrt": {0.2, 3},
	"asin": {-0.9, 0.9}, "acos": {-0.9, 0.9}, "pow": {0.3, 2.5}, "div": {0.3, 3}, "rem": {0.3, 3},
}

// sameCompiled compiles a case in the way of the day, for which a part of the cases has its turn, and compares the
// function and both of its derivatives with the interpreter, bit for bit, at a point whose arguments have gaps in
// memory.
func (f *function) sameCompiled(t *testing.T, number int, rng *rand.Rand, point [][]float64) {
	t.Helper()
	parts := sample.Part(12)
	turn := number + sample.Today(t)
	if testing.Short() || turn%parts > 0 {
		return
	}
	seed := uint64(number)
	calls := []struct {
		entry string
		more  [][]float64 // arguments behind the point
	}{{"f", nil}, {"back", [][]float64{random(rng, int(size(f.out)), -1, 1)}}, {"forth", nil}}
	for _, p := range point {
		calls[2].more = append(calls[2].more, random(rng, len(p), -1, 1))
	}
	judge, err := engine.CompileIR(f.m, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	for _, w := range ways.Each(turn / parts) {
		o := engine.Options{Backend: heal.CPU, Threads: 1 + turn/parts%3, SplitAll: true}
		if err := w.Run(t, o, func(o engine.Options) error {
			m, err := engine.CompileIR(f.m, o)
			if err != nil {
				return err
			}
			defer m.Close()
			for _, c := range calls {
				args := f.arguments(c.entry, slices.Concat(point, c.more))
				want, err := programs.Call(judge, c.entry, args, seed)
				if err != nil {
					return err
				}
				got, err := programs.Call(m, c.entry, args, seed)
				if err != nil {
					return err
				}
				if d := programs.Diff(want, got); d != "" {
					return fmt.Errorf("%s on %d threads: %s", c.entry, o.Threads, d)
				}
			}
			return nil
		}); err != nil {
			t.Errorf("%v\n%s", err, f.m)
		}
	}
}

// TestOperations ranges over the table: every element-wise operation on floats that has a rule, and the gradient of
// its gradient.
func TestOperations(t *testing.T) {
	n := 0
	for _, d := range ir.Ops() {
		// they take other types, too
		if d.Class != ir.Pointwise || d.VJP == nil || d == ops.Select || d == ops.Cast || d == ops.Bitcast ||
			d == ops.Require {
			continue
		}
		n++
		t.Run(d.Name, func(t *testing.T) {
			rng := rand.New(rand.NewSource(int64(len(d.Name)) + 7))
			for _, order := range []int{1, 2} {
				f := pointwise(d, order)
				in := ranges[d.Name]
				if in == [2]float64{} {
					in = [2]float64{-2, 2}
				}
				var point [][]float64
				for range 5 {
					point = make([][]float64, d.Arity)
					for i := range point {
						point[i] = random(rng, 4, in[0], in[1])
					}
					f.verify(t, rng, point)
				}
				f.sameCompiled(t, 2*n+order, rng, point)
			}
		})
	}
	if n < 35 {
		t.Errorf("only %d operations were tried", n)
	}
}

// pointwise is the operation on vectors of 4, or for the order 2 the sum of its gradients.
func pointwise(d *ir.OpDef, order int) *function {
	v := types.Of(types.F64, 4)
	f := &function{out: []int64{4}}
	for range d.Arity {
		f.shapes = append(f.shapes, []int64{4})
	}
	body := func(b *ir.Builder, x []*ir.Value) *ir.Value { return b.Emit(d, nil, x...) }
	if order == 2 {
		first := body
		body = func(b *ir.Builder, x []*ir.Value) *ir.Value {
			grads := derivative(b, ops.Vjp, v, first, x, x[:1]).Results[1:]
			sum := grads[0]
			for _, g := range grads[1:] {
				sum = b.Emit(ops.Add, nil, sum, g)
			}
			return sum
		}
	}
	f.m = &ir.Module{Name: d.Name}
	make := func(name string, params int, code func(b *ir.Builder, x []*ir.Value) []*ir.Value) {
		fn := &ir.Func{Name: name, Body: &ir.Block{}}
		for range params {
			fn.Body.Param("", v, diag.Span{})
		}
		fn.Body.Yields = code(&ir.Builder{Block: fn.Body}, fn.Body.Params)
		fn.Results = ir.ArgTypes(fn.Body.Yields)
		f.m.Funcs = append(f.m.Funcs, fn)
	}
	n := d.Arity
	make("f", n, func(b *ir.Builder, x []*ir.Value) []*ir.Value { return []*ir.Value{body(b, x)} })
	make("back", n+1, func(b *ir.Builder, x []*ir.Value) []*ir.Value {
		return append([]*ir.Value{}, derivative(b, ops.Vjp, v, body, x[:n], x[n:]).Results[1:]...)
	})
	make("forth", 2*n, func(b *ir.Builder, x []*ir.Value) []*ir.Value {
		return append([]*ir.Value{}, derivative(b, ops.Jvp, v, body, x[:n], x[n:]).Results[1:]...)
	})
	return f
}

// derivative writes a vjp or jvp of body at x.
func derivative(b *ir.Builder, d *ir.OpDef, v types.Tensor, body func(*ir.Builder, []*ir.Value) *ir.Value, x,
	more []*ir.Value) *ir.Op {
	region := &ir.Block{}
	var wrt []int64
	for i := range x {
		region.Param("", v, diag.Span{})
		wrt = append(wrt, int64(i))
	}
	region.Yields = []*ir.Value{body(&ir.Builder{Block: region}, region.Params)}
	return b.EmitOp(d, ir.A{"wrt": wrt}, append(append([]*ir.Value{}, x...), more...), []*ir.Block{region})
}

// expressions are functions of x: f64[3, 4] and y: f64[4], each with the shape of its result.
var expressions = []struct {
	expr string
	out  []int64
}{
	{"x .+ y", []int64{3, 4}}, {"y .* x", []int64{3, 4}}, {"x ./ (2.0 .+ y .* y)", []int64{3, 4}},
	{"x .* +/(y)", []int64{3, 4}},
	{"x .- +/[axis=1, keep](x)", []int64{3, 4}}, {"x .* expand(+/[axis=0](x), [1, 4])", []int64{3, 4}},
	{"+/(x)", []int64{}}, {"+/[axis=0](x) * y", []int64{4}}, {"+/[axis=(0, 1)](x .* y)", []int64{}},
	{"*/[axis=1](x)", []int64{3}}, {"*/(y)", []int64{}}, {"-/[axis=1](x)", []int64{3}}, {"//[axis=1](x)", []int64{3}},
	{"-/(x)", []int64{}},
	{"max/[axis=1](x)", []int64{3}}, {"min/[axis=0, keep](x)", []int64{1, 4}}, {"max/(x)", []int64{}},
	{"mean(x, axis = 0) * y", []int64{4}}, {"var(x, axis = 1)", []int64{3}}, {"var(x)", []int64{}},
	{"x @ y", []int64{3}}, {"transpose(x) @ x", []int64{4, 4}}, {"x @ transpose(x)", []int64{3, 3}},
	{"y @ transpose(x)", []int64{3}},
	{"reshape(x, [2, 6])", []int64{2, 6}}, {"flatten(x)", []int64{12}}, {"permute_axes(x, [1, 0])", []int64{4, 3}},
	{"reshard(x * x, -1) .* replicate(y)", []int64{3, 4}},
	{"{ let z: f64[3, 4] sharded(0) = x * x; let w: f64[3, 4] sharded(1) = reshard(z, 1); replicate(w) .* y }",
		[]int64{3, 4}},
	{"x[1]", []int64{4}}, {"x[1..3, 0..4 by 2]", []int64{2, 2}}, {"flip(x, 1)", []int64{3, 4}},
	{"x[.., 2] * x[.., 1]", []int64{3}},
	{"concat((x, reshape(y, [1, 4])), 0)", []int64{4, 4}}, {"stack((y, y * y), 0)", []int64{2, 4}},
	{"roll(x, 1, 1)", []int64{3, 4}},
	{"pad(y, 0, 1, 2, 0.5)", []int64{7}}, {"repeat(y, 2, 0)", []int64{8}},
	{"{ let (a, b) = split(y, 2, 0); a * b }", []int64{2}},
	{"{ let i = argmax(stop_gradient(y)); y[i] * x[i % 3] }", []int64{4}},
	{"{ let i = argmax(y) / 2; y[i..i + 2] }", []int64{2}},
	{"y[[3, 0, 3, 1, 3]]", []int64{5}}, {"x[[2, 0], [1, 1]] ", []int64{2}}, {"x[[2, 0, 2]]", []int64{3, 4}},
	{"x[.., [1, 1, 0]]", []int64{3, 3}},
	{"take_along_axis(x, [[1, 1], [0, 3], [2, 2]], 1)", []int64{3, 2}},
	{"scatter_add(y, [1, 1, 3], x[.., 0], 0)", []int64{4}},
	{"sort(x, 1) .* y", []int64{3, 4}}, {"{ let mut z = x * x; z[1] = y; z[.., 0..4 by 2] .*= 3.0; z }", []int64{3, 4}},
	{"{ let i = argmin(y); let mut z = y * y; z[i] = y[0]; z }", []int64{4}},
	{"where(x .> 0.0, x * x, sin(x))", []int64{3, 4}}, {"(x as f64) * 2.0", []int64{3, 4}},
	{"clamp(x, -0.5, 0.5)", []int64{3, 4}},
	{"if sum(y) > 0.0 { x .* y } else { x * x }", []int64{3, 4}},
	{"if x[0, 0] > y[0] { sum(x) } else { sum(y) * x[1, 1] }", []int64{}},
	{"match argmax(y) { 0 => sum(y * y), n if n > 2 => sum(x), _ => x[0, 0] * y[1] }", []int64{}},
	{"map(|a, b| a * sin(b), x, y)", []int64{3, 4}}, {"tabulate(3, |i| y[i] * y[i + 1])", []int64{3}},
	{"tabulate(4, 3, |i, j| x[j, i] * y[i])", []int64{4, 3}}, {"tabulate(3, |i| x[i] * y[i])", []int64{3, 4}},
	{"tabulate(5, |i| sum(x) * y[0] * (i as f64))", []int64{5}}, {"tabulate(2, |i| sum(x @ y) * y[i])", []int64{2}},
	{"tabulate(3, |i| tabulate(4, |j| x[i, j] * y[3 - j]))", []int64{3, 4}},
	{"tabulate(3, |i| if i == 1 { y[i] } else { x[i, 0] * y[1] })", []int64{3}},
	{"(|a, b| a * sin(b) + b)/(x)", []int64{}}, {"fold(y[0], |a, b| a * cos(b) + y[1], x)", []int64{}},
	{"cumsum(y)", []int64{4}}, {"cumprod(flatten(x))", []int64{12}},
	{"scan(y[2], |a, b| a * 0.5 + b * b * y[3], y)", []int64{4}},
	{"cumsum(x)", []int64{3, 4}}, {"cumprod(x) .* y", []int64{3, 4}},
	{"scan(y[0], |a, b| a * sin(b) + y[1], x)", []int64{3, 4}},
	{"scan(y[2], |a, b| a * 0.5 + b * y[argmax(y)] * x[1, 2], x * x)", []int64{3, 4}},
	{"scan(0.5_f64, |a, b| a * b + sum(y * b), x)", []int64{3, 4}},
	{"{ let (s, p, n) = scan((y[0], 1.0_f64, 1), |(s, p, n), b| (s * 0.5 + p * b, p * cos(s) + b, n + 1), x); s .* p " +
		".* (n as f64) }", []int64{3, 4}},
	{"(|a, b| a * sin(b) + b)/[axis=0](x)", []int64{4}}, {"(|a, b| a * b + y[0])/[axis=1, keep](x)", []int64{3, 1}},
	{"fold(y[1], |a, b| a * b + x[1, 1], reshape(x, [2, 2, 3]))", []int64{}},
	{"tabulate(3, |i| fold(y[i], |a, b| a * b + y[0], x[i]))", []int64{3}},
	{"tabulate(3, |i| sum(scan(y[i], |a, b| a * b + y[0], x[i])))", []int64{3}},
	{"iterate(3, y, |s| cumsum(s) .* (|a, b| a * b)/(x))", []int64{4}},
	{"iterate(5, y, |s| sin(s) + y)", []int64{4}}, {"iterate(argmax(y) + 1, y, |s| sin(s) * x[0])", []int64{4}},
	{"iterate(0, y, |s| s * s)", []int64{4}},
	{"{ let (a, b) = iterate(3, (x, y), |(a, b)| (a .* b, a[0] + b)); a .+ b }", []int64{3, 4}},
	{"iterate_until(y, |s| s * 1.5, |s| sum(s * s) > 20.0, 30)", []int64{4}},
	{"iterate_until(y, |s| s * 1.5 + x[1], |s| sum(s * s) > 20.0, argmax(y) + 2)", []int64{4}},
	{"iterate(3, y, |s| iterate(2, s, |u| u * cos(u) + s))", []int64{4}},
	{"iterate(4, y, |s| if s[0] > 0.3 { s * 0.5 } else { s * s })", []int64{4}},
	{"{ let (i, p) = iterate(4, (0, 1.0_f64), |(i, p)| (i + 1, p * y[i])); p }", []int64{}},
	{"prod(x, axis = 0)", []int64{4}},
	{"-/[axis=(0, 1)](x)", []int64{}},
	{"//(y)", []int64{}},
	{"x @ reshape(y, [4, 1])", []int64{3, 1}},
	{"reshape(x, [3, 2, 2]) @ reshape(y, [2, 2])", []int64{3, 2, 2}},
	{"reshape(y, [1, 2, 2]) @ reshape(x, [3, 2, 2])", []int64{3, 2, 2}},
	{"reshape(y, [2, 2]) @ x[0..2]", []int64{2, 4}},
	{"tabulate(3, |i| iterate(2, x[i], |s| sin(s) + y))", []int64{3, 4}},
	{"tabulate(3, |i| iterate(2, y[i], |s| grad(|a| sin(a) * a)(s)))", []int64{3}},
	{"iterate(2, y, |s| tabulate(4, |i| grad(|a| sin(a) * s[i])(s[3 - i])))", []int64{4}},
	{"grad(|z| sum(z * z * y))(y)", []int64{4}},
	{"grad(|z| sum(grad(|u| sum(sin(u) * z))(z)))(y)", []int64{4}},
	{"tabulate(2, |i| sum(map(|a, b| a * sin(b) + y[i], x, y)))", []int64{2}},
	{"map(|a| iterate(3, a, |s| sin(s) * y[1]), x)", []int64{3, 4}},
	{"map(|a| fold(a, |s, b| s * b, y), x)", []int64{3, 4}},
	{"{ let mut z = x; z[0] = y; z[1, 2] += y[0]; z[.., 1] *= z[.., 2]; z }", []int64{3, 4}},
	{"{ let mut s = 0.0_f64; let mut t = y; t += t * 2.0; s += sum(t); s }", []int64{}},
	{"{ let mut z = zeros[f64, 3, 4](); z[1..3, ..] = x[0..2, ..]; z }", []int64{3, 4}},
	{"sort(y)", []int64{4}},
	{"sort(x, 0)", []int64{3, 4}},
	{"y[argsort(y)]", []int64{4}},
	{"take_along_axis(x, argsort(x, 1), 1)", []int64{3, 4}},
	{"where(x .> y, x, expand(y, [3, 4]))", []int64{3, 4}},
	{"if y[0] > 0.0 { iterate(2, y, |s| s * y) } else { tabulate(4, |i| y[3 - i]) }", []int64{4}},
	{"match (argmax(y)) { 0 => y * 2.0, 1 => y * y, _ => iterate(2, y, |s| sin(s)) }", []int64{4}},
	{"moveaxis(x, 0, 1)", []int64{4, 3}},
	{"squeeze(reshape(y, [1, 4]), 0)", []int64{4}},
	{"pad(x, 1, 1, 1, 0.0)", []int64{3, 6}},
	{"repeat(x, 3, 1)", []int64{3, 12}},
	{"fma(x, x, x)", []int64{3, 4}},
	{"softplus(x) .+ gelu(x) .* silu(x)", []int64{3, 4}},
	{"abs(x) .^ abs(y)", []int64{3, 4}},
	{"(x .% 0.7)", []int64{3, 4}},
	{"{ let (a, b) = iterate_until((x, y), |(a, b)| (a * 1.3, b + a[0]), |(a, b)| sum(a * a) > 30.0, 20); a .+ b }",
		[]int64{3, 4}},
	{"{ let (v, s) = fold((y, 1.0_f64), |(v, s), e| (v * cos(e), s + e * v[0]), x); v * s }", []int64{4}},
	{"scan(y[0], |a, b| if b > 0.0 { a * b } else { a + b * y[1] }, x)", []int64{3, 4}},
	{"scan(y[0], |a, b| iterate(2, a, |s| sin(s) + b), y)", []int64{4}},
	{"checkpoint(|x, y| tanh(x .* y))(x, y)", []int64{3, 4}},
	{"mean(x, axis = (0, 1))", []int64{}},
	{"var(x, axis = 0)", []int64{4}},
	{"stack((y, y * y), 1)", []int64{4, 2}},
	{"{ let i = argmax(y); x[.., i] }", []int64{3}},
	{"x[-1, ..]", []int64{4}},
	{"x[0..3 by 2]", []int64{2, 4}},
	{"x[[0, 2], ..]", []int64{2, 4}},
	{"x[.., [[0, 1], [2, 2]]]", []int64{3, 2, 2}},
	{"eye[f64, 4]() @ y", []int64{4}},
	{"max(x, y[0]) .- min(x, y)", []int64{3, 4}},
	{"clamp(x, y[0], y[0] + 1.0)", []int64{3, 4}},
	{"sum(x) |> sin()", []int64{}},
	{"-x .* sign(x)", []int64{3, 4}},
	{"floor(x) .* x .+ round(y) .* y", []int64{3, 4}},
	{"roll(x, -1, 0)", []int64{3, 4}},
	{"flip(x, 0) .* x", []int64{3, 4}},
	{"transpose(x) @ x @ y", []int64{4}},
}

// TestExpressions does the same for everything else, written in the language.
func TestExpressions(t *testing.T) {
	for i, e := range expressions {
		t.Run(e.expr, func(t *testing.T) {
			const params = "x: f64[3, 4], y: f64[4]"
			out := tensorText(e.out)
			first := fmt.Sprintf("fn f(%s) -> %s = %s\n", params, out, e.expr)
			both(t, 2*i, first, out, e.out)
			if testing.Short() {
				return
			}
			// The gradient of a weighted sum of the gradients of a weighted sum.
			weights := "0.7"
			if len(e.out) > 0 {
				weights = fmt.Sprintf("reshape(sin((0..%d) as f64 + 1.0), %s)", size(e.out), shapeText(e.out))
			}
			second := strings.Replace(first, "fn f(", "fn g(", 1) + "fn f(" + params + ") -> f64 = {\n" +
				"    let (a, b) = vjp(g)(x, y, " + weights + ");\n" +
				"    sum(a * reshape(cos((0..12) as f64), [3, 4])) + sum(b * cos((0..4) as f64))\n}\n"
			both(t, 2*i+1, second, "f64", []int64{})
		})
	}
}

// both adds the derivatives of f to program number i and verifies them at some points.
func both(t *testing.T, i int, src, result string, out []int64) {
	t.Helper()
	const params = "x: f64[3, 4], y: f64[4]"
	src += fmt.Sprintf("fn back(%s, c: %s) -> (f64[3, 4], f64[4]) = vjp(f)(x, y, c)\n", params, result) +
		fmt.Sprintf("fn forth(%s, dx: f64[3, 4], dy: f64[4]) -> %s = jvp(f)(x, y, dx, dy)\n", params, result)
	f := &function{m: compile(t, src), shapes: [][]int64{{3, 4}, {4}}, out: out}
	rng := rand.New(rand.NewSource(11))
	var point [][]float64
	for range 3 {
		point = [][]float64{random(rng, 12, -2, 2), random(rng, 4, -2, 2)}
		f.verify(t, rng, point)
	}
	f.sameCompiled(t, i, rng, point)
}

func size(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

func tensorText(s []int64) string {
	if len(s) == 0 {
		return "f64"
	}
	return "f64" + shapeText(s)
}

func shapeText(s []int64) string {
	out := "["
	for i, n := range s {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprint(n)
	}
	return out + "]"
}

func compile(t *testing.T, src string) *ir.Module {
	t.Helper()
	tree, list := parser.Parse(diag.NewFile("f.heal", src))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	prog, list := check.Check(tree)
	if err := list.Err(); err != nil {
		t.Fatalf("%s\n%v", src, err)
	}
	m := irgen.Generate(prog)
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	return m
}
