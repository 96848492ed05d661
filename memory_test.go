package heal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"healc/runtime"
	"healc/runtime/tensor"
)

// TestLayouts calls a function whose parameter and result are declared in column-major order.
func TestLayouts(t *testing.T) {
	const src = "pub fn f(x: f32[2, 3] in col_major, y: f32[2, 3] in strided) -> " +
		"(f32[2, 3] in col_major, f32[2, 3]) = (x + y, x - y)"
	for _, backend := range []string{CPU, Interp} {
		f := function(t, src, "f", Options{Backend: backend, Threads: 1})
		const want = "f(x: f32[2, 3] in col_major, y: f32[2, 3] in strided) -> (f32[2, 3] in col_major, f32[2, 3])"
		if f.Signature() != want {
			t.Errorf("the signature is %s", f.Signature())
		}
		rows, err := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}).Reshape(2, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		cols, err := rows.ColumnMajor()
		if err != nil {
			t.Fatal(err)
		}
		defer cols.Close()
		out, err := f.CallAll(context.Background(), cols, rows)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out[0].Strides, []int64{1, 2}) || !slices.Equal(out[1].Strides, []int64{3, 1}) {
			t.Errorf("%s: the results have the strides %d and %d", backend, out[0].Strides, out[1].Strides)
		}
		dense, err := out[0].Contiguous()
		if err != nil {
			t.Fatal(err)
		}
		if v, err := tensor.Slice[float32](dense); err != nil || !slices.Equal(v, []float32{2, 4, 6, 8, 10, 12}) {
			t.Errorf("%s: %v, %v", backend, v, err)
		}
		for _, x := range append(out, dense) {
			x.Close()
		}
		_, err = f.CallAll(context.Background(), rows, rows)
		var bad *ArgumentError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "`x` is declared `in col_major`") {
			t.Errorf("%s: a row-major argument gives %v", backend, err)
		}
	}
}

// TestPlaces: what needs a device is refused when it is called, itself or through a call; the rest runs.
func TestPlacesWithoutDevice(t *testing.T) {
	const src = `fn on(x: f32[2] on device) -> f32[2] on device = x + x
fn through(x: f32[2]) -> f32[2] = to_host(on(to_device(x)))
fn caller(x: f32[2]) -> f32[2] = through(x)
fn host(x: f32[2]) -> f32[2] = to_host(x) * 2.0`
	x := tensor.FromSlice([]float32{1, 2})
	defer x.Close()
	for _, backend := range []string{CPU, Interp} {
		for _, name := range []string{"on", "through", "caller"} {
			_, err := function(t, src, name, Options{Backend: backend, Threads: 1}).Call(context.Background(), x)
			var failed *runtime.RuntimeError
			if !errors.As(err, &failed) || failed.Site.Line == 0 ||
				!strings.Contains(err.Error(), "`on device` needs a GPU backend") {
				t.Errorf("%s: %s gives %v", backend, name, err)
			}
		}
		y, err := function(t, src, "host", Options{Backend: backend, Threads: 1}).Call(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		y.Close()
	}
}
