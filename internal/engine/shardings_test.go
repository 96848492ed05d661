package engine

import (
	"context"
	"slices"
	"testing"

	"healc/internal/backend"
	"healc/runtime/tensor"
)

// TestShardings: a function knows which part of its arguments and results a rank has, and runs on one rank as one that
// does not say so.
func TestShardings(t *testing.T) {
	const src = `
fn plain(x: f32[4], y: f32[4]) -> f32[4] = x + y
fn rows(x: f32[4, 2] sharded(0), y: f32[4, 2], n: f32) -> (f32[4, 2] sharded(1), f32) = (reshard(x + y .* n, 1), n)
fn tuples(p: (f32[4] sharded(0), (i32, f32[2, 3] sharded(-1)))) -> f32[4] sharded(0) = { let (x, _q) = p; x }
fn changed(p: (f32[2], f32[2]), x: &mut f32[4] sharded(0), n: f32) -> f32 = { x += n; n }
fn columns(x: f32[2, 3, 4] in col_major sharded(0)) -> (f32, f32[2, 3, 4] in col_major sharded(0)) = (1.0, x .+ 1.0)
fn loss(x: f32[4], w: f32[4] sharded(0)) -> f32 = +/(replicate(w * w) * x)
`
	m, err := Compile(src, Options{Backend: backend.CPU, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		name            string
		params, results []int
		signature       string
	}{
		{"plain", []int{-1, -1}, []int{-1}, "plain(x: f32[4], y: f32[4]) -> f32[4]"},
		{"rows", []int{0, -1, -1}, []int{1, -1},
			"rows(x: f32[4, 2] sharded(0), y: f32[4, 2], n: f32) -> (f32[4, 2] sharded(1), f32)"},
		{"tuples", []int{0, -1, 1}, []int{0},
			"tuples(p.0: f32[4] sharded(0), p.1: i32, p.2: f32[2, 3] sharded(1)) -> f32[4] sharded(0)"},
		{"changed", []int{-1, -1, 0, -1}, []int{-1, 0},
			"changed(p.0: f32[2], p.1: f32[2], x: &mut f32[4] sharded(0), n: f32) -> f32"},
		{"columns", []int{0}, []int{-1, 0},
			"columns(x: f32[2, 3, 4] in col_major sharded(0)) -> (f32, f32[2, 3, 4] in col_major sharded(0))"},
	} {
		f, err := m.Func(c.name)
		if err != nil {
			t.Fatal(err)
		}
		shardingsAre(t, f, c.params, c.results)
		if f.Memory().IsSharded() != (c.name != "plain") {
			t.Errorf("%s: IsSharded is %v", c.name, f.Memory().IsSharded())
		}
		if got := f.Signature(); got != c.signature {
			t.Errorf("the signature is %s, not %s", got, c.signature)
		}
	}
	f, err := m.Func("columns")
	if err != nil {
		t.Fatal(err)
	}
	code, memory := f.Memory().TurnedOver()
	shardingsAre(t, &Func{m: f.m, ir: code, memory: memory}, []int{0}, []int{-1, 2})

	if f, err = m.Gradient("loss"); err != nil {
		t.Fatal(err)
	}
	shardingsAre(t, f, []int{-1, 0}, []int{-1, -1, 0})
	if f, err = m.AddGradient("loss", "w"); err != nil {
		t.Fatal(err)
	}
	shardingsAre(t, f, []int{-1, 0, 0}, []int{-1, 0})

	if f, err = m.Func("rows"); err != nil {
		t.Fatal(err)
	}
	x := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)
	out, err := f.CallAll(context.Background(), x, x, tensor.Scalar(float32(10)))
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{11, 22, 33, 44, 55, 66, 77, 88}
	if v, err := tensor.Slice[float32](out[0]); err != nil || !slices.Equal(v, want) {
		t.Errorf("the result is %v, %v", v, err)
	}
}

func shardingsAre(t *testing.T, f *Func, params, results []int) {
	t.Helper()
	for i, want := range params {
		if got := f.Memory().ParamAxis(i); got != want {
			t.Errorf("%s: parameter %d is sharded along axis %d, not %d", f.ir.Name, i, got, want)
		}
	}
	for i, want := range results {
		if got := f.Memory().ResultAxis(i); got != want {
			t.Errorf("%s: result %d is sharded along axis %d, not %d", f.ir.Name, i, got, want)
		}
	}
	if len(params) != len(f.ir.Params()) || len(results) != len(f.ir.Results) {
		t.Errorf("%s has %d parameters and %d results", f.ir.Name, len(f.ir.Params()), len(f.ir.Results))
	}
}
