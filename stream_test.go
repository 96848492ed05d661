package heal

import (
	"context"
	"testing"

	"healc/runtime/tensor"
)

// TestStreamedResults writes results that are too large for the caches, whole and as rows, into tensors that begin
// anywhere in a cache line, with several numbers of threads. Nothing around them changes.
func TestStreamedResults(t *testing.T) {
	const rows, cols = 1031, 4099
	ctx := context.Background()
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(i%1000) - 500
	}
	c := make([]float32, rows)
	for i := range c {
		c[i] = float32(i)
	}
	in, column := tensor.FromSlice(x, rows, cols), tensor.FromSlice(c, rows, 1)
	defer in.Close()
	defer column.Close()
	room := tensor.FromSlice(make([]float32, rows*cols+64))
	defer room.Close()
	y, err := tensor.Slice[float32](room)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		src  string
		args []*tensor.Tensor
		want func(i int) float32
	}{
		{"fn f[M, N](x: f32[M, N]) -> f32[M, N] = x .* 2.0 .+ 1.0", []*tensor.Tensor{in}, func(i int) float32 {
			return 2*x[i] + 1
		}},
		{"fn f[M, N](x: f32[M, N], c: f32[M, 1]) -> f32[M, N] = x .+ c", []*tensor.Tensor{in, column},
			func(i int) float32 {
				return x[i] + c[i/cols]
			}},
		{"fn f[M, N](x: f32[M, N]) -> f32[M, N] = flip(x, 1) .* 2.0", []*tensor.Tensor{in}, func(i int) float32 {
			return 2 * x[i/cols*cols+cols-1-i%cols]
		}},
	} {
		for k, threads := range []int{1, 2, 3, 7} {
			f := function(t, p.src, "f", Options{Threads: threads})
			offset := 5*k + 1
			clear(y)
			part, err := room.Slice(tensor.Range{Start: int64(offset), Stop: int64(offset + len(x))})
			if err != nil {
				t.Fatal(err)
			}
			defer part.Close()
			out, err := part.Reshape(rows, cols)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			if err := f.CallInto(ctx, []*tensor.Tensor{out}, p.args...); err != nil {
				t.Fatal(err)
			}
			for i, got := range y {
				want := float32(0)
				if j := i - offset; j >= 0 && j < len(x) {
					want = p.want(j)
				}
				if got != want {
					t.Fatalf("%s on %d threads: element %d is %v, want %v", p.src, threads, i-offset, got, want)
				}
			}
		}
	}
}
