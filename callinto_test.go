package heal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// TestCallIntoAllocatesNothing: a second call with places for the results leaves Go's heap alone, and takes no
// memory for tensors either.
func TestCallIntoAllocatesNothing(t *testing.T) {
	for _, c := range []struct {
		name, src string
		shapes    [][]int64
	}{
		{"chain", chain, [][]int64{{100}, {100}, {100}}},
		{"large", "fn f[N](x: f32[N]) -> f32[N] = exp(x)", [][]int64{{1 << 18}}},
		{"two results", "fn f[N](x: f32[N]) -> (f32[N], f32) = (exp(x), +/(x))", [][]int64{{3000}}},
		{"intermediates", "fn f[M, N](x: f32[M, N]) -> f32[M, N] = { let s = sort(x); s ./ (+/[axis=0](s)) }",
			[][]int64{{20, 30}}},
		{"host loop", "fn f[N](x: f32[N]) -> f32[N] = iterate(3, x, |s| sort(s) .* 0.5)", [][]int64{{2000}}},
	} {
		for _, threads := range []int{1, 2} {
			f := function(t, c.src, "f", Options{Threads: threads})
			var args []*tensor.Tensor
			for i, s := range c.shapes {
				x, err := tensor.Rand(types.F32, uint64(i+1), s...)
				if err != nil {
					t.Fatal(err)
				}
				defer x.Close()
				args = append(args, x)
			}
			ctx := context.Background()
			want, err := f.CallAll(ctx, args...)
			if err != nil {
				t.Fatal(err)
			}
			var out []*tensor.Tensor
			for _, w := range want {
				o, err := tensor.New(w.DType, w.Shape...)
				if err != nil {
					t.Fatal(err)
				}
				defer o.Close()
				defer w.Close()
				out = append(out, o)
			}
			live := memory.LiveBytes()
			n := testing.AllocsPerRun(100, func() {
				if err := f.CallInto(ctx, out, args...); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 {
				t.Errorf("%s on %d threads: %v allocations a call", c.name, threads, n)
			}
			if l := memory.LiveBytes(); l != live {
				t.Errorf("%s: %d bytes of tensors before, %d after", c.name, live, l)
			}
			for i, w := range want {
				if !slices.Equal(w.Bits(), out[i].Bits()) {
					t.Errorf("%s on %d threads: result %d differs from that of a plain call", c.name, threads, i)
				}
			}
		}
	}
}

// TestCallIntoAnywhere writes into views, over arguments, and where it must refuse.
func TestCallIntoAnywhere(t *testing.T) {
	ctx := context.Background()
	for _, backend := range []string{CPU, Interp} {
		f := function(t, "fn f[N](x: f32[N]) -> f32[N] = flip(x, 0) .+ x", "f", Options{Backend: backend})
		fresh := func() *tensor.Tensor {
			v := make([]float32, 100)
			for i := range v {
				v[i] = float32(i * i)
			}
			x := tensor.FromSlice(v)
			t.Cleanup(x.Close)
			return x
		}
		x := fresh()
		want, err := f.Call(ctx, x)
		if err != nil {
			t.Fatal(err)
		}
		defer want.Close()
		check := func(what string, out *tensor.Tensor) {
			t.Helper()
			if !slices.Equal(out.Bits(), want.Bits()) {
				t.Errorf("%s, %s: wrong elements", backend, what)
			}
		}
		if err := f.CallInto(ctx, []*tensor.Tensor{x}, x); err != nil {
			t.Fatal(err)
		}
		check("over the argument", x)
		wide, err := tensor.New(types.F32, 201)
		if err != nil {
			t.Fatal(err)
		}
		defer wide.Close()
		for name, r := range map[string]tensor.Range{
			"forwards": {Start: 1, Stop: 201, Step: 2}, "backwards": {Start: 200, Stop: 0, Step: -2},
			"dense": {Start: 1, Stop: 101},
		} {
			view, err := wide.Slice(r)
			if err != nil {
				t.Fatal(err)
			}
			defer view.Close()
			if err := f.CallInto(ctx, []*tensor.Tensor{view}, fresh()); err != nil {
				t.Fatal(err)
			}
			check(name, view)
		}
		short, err := tensor.New(types.F32, 99)
		if err != nil {
			t.Fatal(err)
		}
		defer short.Close()
		for _, out := range [][]*tensor.Tensor{{}, {short}, {nil}} {
			if err := f.CallInto(ctx, out, fresh()); err == nil {
				t.Errorf("%s: results into %v", backend, out)
			}
		}
	}
	f := function(t, "fn f[N](x: f32[N]) -> (f32[N], f32[N]) = (x, x .+ x)", "f", Options{})
	x := tensor.FromSlice(make([]float32, 8))
	y := tensor.FromSlice(make([]float32, 8))
	defer x.Close()
	defer y.Close()
	if err := f.CallInto(ctx, []*tensor.Tensor{y, y}, x); err == nil ||
		!strings.Contains(err.Error(), "share memory") {
		t.Errorf("two results in one place: %v", err)
	}
}

// TestCallIntoArguments: a result may be an argument unless broadcasting enlarges that argument.
func TestCallIntoArguments(t *testing.T) {
	ctx := context.Background()
	for _, backend := range []string{CPU, Interp} {
		g := function(t, "fn g(x: i32[1, 4], y: i32[3, 4]) -> i32[3, 4] = x .+ y", "g", Options{Backend: backend})
		y := tensor.FromSlice([]int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 3, 4)
		defer y.Close()
		row, err := y.Slice(tensor.Range{Start: 1, Stop: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer row.Close()
		err = g.CallInto(ctx, []*tensor.Tensor{y}, row, y)
		if want :=
			"g: argument `x` of shape [1, 4] shares memory with result 0 of shape [3, 4], to which broadcasting " +
				"enlarges it"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", backend, err, want)
		}
		// A place of another shape is answered as that, whatever memory it shares.
		double := function(t, "fn double[N](x: i32[N]) -> i32[N] = x * 2", "double", Options{Backend: backend})
		line, err := row.Squeeze(0)
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		err = double.CallInto(ctx, []*tensor.Tensor{y}, line)
		if err == nil || strings.Contains(err.Error(), "broadcasting") || !strings.Contains(err.Error(), "i32[3,4]") ||
			!strings.Contains(err.Error(), "i32[4]") {
			t.Errorf("%s: a row into three: %v", backend, err)
		}
		kept, err := tensor.FromStorage(memory.WrapReadOnly(line.Ptr(), 16, line, nil), types.I32, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close()
		if err := double.CallInto(ctx, []*tensor.Tensor{kept}, line); err == nil ||
			!strings.Contains(err.Error(), "lies in a file and cannot be written") {
			t.Errorf("%s: into memory that cannot be written: %v", backend, err)
		}
		other := tensor.FromSlice([]int32{10, 20, 30, 40}, 1, 4)
		defer other.Close()
		if err := g.CallInto(ctx, []*tensor.Tensor{y}, other, y); err != nil {
			t.Errorf("%s: %v", backend, err)
		}
		if want := []uint64{11, 22, 33, 44, 15, 26, 37, 48, 19, 30, 41, 52}; !slices.Equal(y.Bits(), want) {
			t.Errorf("%s: %v, want %v", backend, y.Bits(), want)
		}
		// A result that is smaller than the argument whose memory it has: everything is read before it is written.
		h := function(t, "fn h[M, N](x: i32[M, N]) -> i32[N] = +/[axis=0](x)", "h", Options{Backend: backend})
		first, err := y.Index(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		if err := h.CallInto(ctx, []*tensor.Tensor{first}, y); err != nil {
			t.Errorf("%s: %v", backend, err)
		}
		if want := []uint64{45, 78, 111, 144}; !slices.Equal(first.Bits(), want) {
			t.Errorf("%s: %v, want %v", backend, first.Bits(), want)
		}
	}
}

// TestCallIntoOverArguments: results that are views of arguments, into those very arguments and into strided tensors,
// without an allocation.
func TestCallIntoOverArguments(t *testing.T) {
	ctx := context.Background()
	for _, backend := range []string{CPU, Interp} {
		f := function(t, "fn f[N](x: i32[N], y: i32[N]) -> (i32[N], i32[N], i32[N]) = (y, flip(x, 0), x .+ y)", "f",
			Options{Backend: backend})
		memory := tensor.FromSlice(make([]int32, 18), 2, 9)
		defer memory.Close()
		place := func(r ...tensor.Range) *tensor.Tensor {
			v, err := memory.Slice(r...)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			v, err = v.Reshape(-1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(v.Close)
			return v
		}
		x, y := place(tensor.Range{Start: 0, Stop: 1}), place(tensor.Range{Start: 1, Stop: 2})
		wide := tensor.FromSlice(make([]int32, 27), 9, 3)
		defer wide.Close()
		column, err := wide.Index(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer column.Close()
		for i := range int64(9) {
			if err := errors.Join(x.SetBits(uint64(i), i), y.SetBits(uint64(10*i), i)); err != nil {
				t.Fatal(err)
			}
		}
		out := []*tensor.Tensor{x, y, column}
		if err := f.CallInto(ctx, out, x, y); err != nil {
			t.Fatal(err)
		}
		for i := range int64(9) {
			for k, want := range []int64{10 * i, 8 - i, 11 * i} {
				if got, err := out[k].At(i); err != nil || got != uint64(want) {
					t.Errorf("%s: result %d, element %d is %d, not %d (%v)", backend, k, i, got, want, err)
				}
			}
		}
		if backend == Interp {
			continue
		}
		if n := testing.AllocsPerRun(100, func() {
			if err := f.CallInto(ctx, out, x, y); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations a call", n)
		}
	}
}

// TestShapesInTurn: calls of several shapes in turns find their code without a word to the heap, and an argument of a
// wrong type is refused as the first time.
func TestShapesInTurn(t *testing.T) {
	f := function(t, chain, "f", Options{Threads: 1})
	var args, outs [][]*tensor.Tensor
	for _, n := range []int64{3, 100, 7} {
		var list []*tensor.Tensor
		for range 4 {
			x, err := tensor.Ones(types.F32, n)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(x.Close)
			list = append(list, x)
		}
		args, outs = append(args, list[:3]), append(outs, list[3:])
	}
	ctx := context.Background()
	all := func() {
		for i := range args {
			if err := f.CallInto(ctx, outs[i], args[i]...); err != nil {
				t.Error(err)
			}
		}
	}
	all()
	if n := testing.AllocsPerRun(20, all); n != 0 {
		t.Errorf("three calls allocate %v times", n)
	}
	wrong, err := tensor.Ones(types.F64, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	for range 2 {
		if _, err := f.Call(ctx, args[2][0], args[2][1], wrong); err == nil ||
			!strings.Contains(err.Error(), "argument `b` is f64[7]; its elements must be f32") {
			t.Errorf("a wrong type: %v", err)
		}
		all()
	}
}

// TestClosed: calls after Close are errors, whatever was called before, with few elements and with enough for all
// threads.
func TestClosed(t *testing.T) {
	for _, backend := range []string{Interp, CPU, PTXSim} {
		m, err := Compile("fn f[N](x: f32[N]) -> f32[N] = x .* 2.0\nfn g[N](x: f32[N]) -> f32[N] = x .* 3.0",
			Options{Backend: backend, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x, y := tensor.FromSlice([]float32{1, 2, 3}, 3), tensor.FromSlice([]float32{0, 0, 0}, 3)
		large, err := tensor.Zeros(types.F32, 1<<18)
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if err := f.CallInto(ctx, []*tensor.Tensor{y}, x); err != nil {
			t.Fatal(err)
		}
		m.Close()
		m.Close()
		for _, name := range []string{"f", "g"} {
			late, err := m.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range []*Func{f, late} {
				_, one := h.Call(ctx, x)
				_, all := h.CallAll(ctx, large)
				for how, err := range map[string]error{"Call": one, "CallAll": all,
					"CallInto": h.CallInto(ctx, []*tensor.Tensor{y}, x)} {
					if err == nil || !strings.Contains(err.Error(), "its module is closed") {
						t.Errorf("%s of %s on %s: %v", how, name, backend, err)
					}
				}
			}
		}
		for _, tensor := range []*tensor.Tensor{x, y, large} {
			tensor.Close()
		}
	}
}

// TestResultsCounted: tensors for another number of results are answered before anything runs.
func TestResultsCounted(t *testing.T) {
	for _, backend := range []string{Interp, CPU, PTXSim} {
		m, err := Compile("fn f(x: i32) -> i32 = 1 / x\nfn g(x: i32) -> (i32, i32) = (1 / x, x)",
			Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		x := tensor.Scalar(int32(0))
		defer x.Close()
		for name, want := range map[string]string{"f": "f has 1 result, not 3", "g": "g has 2 results, not 3"} {
			f, err := m.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			out := []*tensor.Tensor{x, x, x}
			if err := f.CallInto(context.Background(), out, tensor.Scalar(int32(0))); err == nil ||
				err.Error() != want {
				t.Errorf("%s on %s: %v, want %s", name, backend, err, want)
			}
		}
	}
}
