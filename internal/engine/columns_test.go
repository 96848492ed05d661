package engine

import (
	"context"
	"slices"
	"testing"

	"healc/internal/backend"
	"healc/runtime/tensor"
)

// TestColumns: results that are declared column-major lie so, have the bits of the interpreter, and are made by code
// that writes them in that order.
func TestColumns(t *testing.T) {
	const src = `
fn centered[M, N](x: f32[M, N]) -> f32[M, N] in col_major = x .- +/[axis=1, keep](x)
fn sums[M, N](x: f32[M, N]) -> (f32[M], f32[M, N] in col_major, f32[M, N]) =
    (+/[axis=1](x), cumsum(x, axis = 1), x .* 2.0)
fn cube[M, N](x: f32[M, N]) -> f32[M, 2, N] in col_major = tabulate(M, 2, N, |i, j, k| x[i, k] + j as f32)
fn product[M, N](x: f32[M, N]) -> f32[M, M] in col_major = x @ transpose(x)
fn flat[M, N](x: f32[M, N]) -> f32[N] in col_major = x[0]
@kernel
fn promised[M, N](x: f32[M, N]) -> f32[M, N] in col_major = x .* 3.0
fn same[M, N](x: f32[M, N] in col_major) -> f32[M, N] in col_major = x
`
	ctx := context.Background()
	compiled := func(backend string) *Module {
		m, err := Compile(src, Options{Backend: backend, Threads: 2, SplitAll: true})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	interp, cpu := compiled(backend.Interp), compiled(backend.CPU)
	defer interp.Close()
	for _, name := range interp.Names() {
		for _, shape := range [][2]int{{1, 1}, {5, 7}, {70, 33}, {3, 1}, {2, 0}} {
			if shape[1] == 0 && (name == "product" || name == "promised") { // of no elements
				continue
			}
			data := make([]float32, shape[0]*shape[1])
			for i := range data {
				data[i] = float32(i%13) / 7
			}
			x := tensor.FromSlice(data, shape[0], shape[1])
			defer x.Close()
			if name == "same" {
				var err error
				if x, err = x.ColumnMajor(); err != nil {
					t.Fatal(err)
				}
				defer x.Close()
			}
			var all [2][]*tensor.Tensor
			for i, m := range []*Module{interp, cpu} {
				f, err := m.Func(name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Prepare(ctx, []*tensor.Tensor{x}); err != nil {
					t.Fatal(err)
				}
				if all[i], err = f.CallAll(ctx, x); err != nil {
					t.Fatal(name, err)
				}
				if i == 1 { // a second time, into what it gave
					before := all[i][0].Bits()
					if err := f.CallInto(ctx, all[i], x); err != nil || !slices.Equal(before, all[i][0].Bits()) {
						t.Errorf("%s%v gives other bits into its results: %v", name, shape, err)
					}
				}
				if columns := f.turned(); i == 1 && (columns != nil) != (name != "flat" && name != "promised") {
					t.Errorf("%s has code for columns: %t", name, columns != nil)
				}
			}
			for i, want := range all[0] {
				got := all[1][i]
				if !slices.Equal(got.Shape, want.Shape) || got.IsColumnMajor() != want.IsColumnMajor() ||
					got.IsContiguous() != want.IsContiguous() || !slices.Equal(got.Bits(), want.Bits()) {
					t.Errorf("%s%v gives %v with strides %d, want %v with %d", name, shape, got, got.Strides, want,
						want.Strides)
				}
				got.Close()
				want.Close()
			}
		}
	}
	f, err := cpu.Func("centered")
	if err != nil {
		t.Fatal(err)
	}
	cpu.Close()
	if _, err := f.CallAll(ctx, tensor.FromSlice(make([]float32, 12), 3, 4)); err == nil {
		t.Error("a function of a module that is closed runs")
	}
}
