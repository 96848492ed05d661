package heal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	heal "healc"
	"healc/lang/types"
	storage "healc/runtime/memory"
	"healc/runtime/tensor"
)

// TestUpdates calls functions with `&mut` parameters: the arguments are changed where they are.
func TestUpdates(t *testing.T) {
	const source = "fn add(x: &mut f32[2, 3], y: f32[2, 3]) -> f32 = { x .+= y; x[0, 0] }\n"
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := heal.Compile(source, heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("add")
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Signature(); !strings.Contains(got, "x: &mut f32[2, 3]") {
			t.Errorf("the signature is %s", got)
		}
		y := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		// The rows of x are every other row of something larger, whose other elements stay.
		all := tensor.FromSlice(make([]float32, 12), 4, 3)
		x, err := all.Slice(tensor.Range{Start: 0, Stop: 4, Step: 2})
		if err != nil {
			t.Fatal(err)
		}
		for call := 1; call <= 2; call++ {
			first, err := f.Call(context.Background(), x, y)
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := tensor.Slice[float32](first); v[0] != float32(call) {
				t.Errorf("%s: call %d gives %v", backend, call, v)
			}
			first.Close()
		}
		got, err := tensor.Slice[float32](all)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []float32{2, 4, 6, 0, 0, 0, 8, 10, 12, 0, 0, 0} {
			if got[i] != want {
				t.Errorf("%s: element %d is %v, want %v", backend, i, got[i], want)
			}
		}
		// Memory that is shared would make the result depend on the order of writes.
		row := tensor.FromSlice([]float32{1, 2, 3}, 3)
		wide, err := row.Expand(2, 3)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := tensor.FromStorage(storage.WrapReadOnly(y.Ptr(), 24, y, nil), types.F32, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			x, y *tensor.Tensor
			want string
		}{{x, x, "shares memory with argument `y`"}, {wide, y, "axis 0 are one place"},
			{kept, x, "lies in a file and cannot be written"}} {
			_, err := f.Call(context.Background(), c.x, c.y)
			var bad *heal.ArgumentError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: the error is %v, want %q", backend, err, c.want)
			}
		}
		for _, x := range []*tensor.Tensor{x, y, all, row, wide, kept} {
			x.Close()
		}
		m.Close()
	}
}

// TestUpdatesBehindTuples: a parameter that is changed is counted behind all that those before it become.
func TestUpdatesBehindTuples(t *testing.T) {
	const source = "fn add(a: (f32[2], (f32[], f32[2])), x: &mut f32[2]) -> f32 = { let (_p, (q, r)) = a; x += r; q }\n"
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := heal.Compile(source, heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("add")
		if err != nil {
			t.Fatal(err)
		}
		vec := func(a, b float32) *tensor.Tensor { return tensor.FromSlice([]float32{a, b}, 2) }
		x := vec(1, 2)
		out, err := f.Call(context.Background(), vec(0, 0), tensor.Scalar(float32(7)), vec(10, 20), x)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := tensor.Slice[float32](out); err != nil || v[0] != 7 {
			t.Errorf("%s: the result is %v, %v", backend, v, err)
		}
		if v, err := tensor.Slice[float32](x); err != nil || v[0] != 11 || v[1] != 22 {
			t.Errorf("%s: x is %v, %v", backend, v, err)
		}
		m.Close()
	}
}

// TestCallOfNoResult: a function that Call is not for does not run, and so changes nothing.
func TestCallOfNoResult(t *testing.T) {
	const source = "fn grow(x: &mut f32[3]) = { x += 1.0; }\n" +
		"fn both(x: &mut f32[3]) -> (f32, f32) = { x += 1.0; (x[0], x[1]) }\n"
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := heal.Compile(source, heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for name, want := range map[string]string{"grow": "grow has no result; use CallAll",
			"both": "both has 2 results; use CallAll"} {
			f, err := m.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			x := tensor.FromSlice([]float32{1, 2, 3})
			defer x.Close()
			if _, err := f.Call(context.Background(), x); err == nil || err.Error() != want {
				t.Errorf("%s: %s: %v, want %s", backend, name, err, want)
			}
			if v, _ := tensor.Slice[float32](x); v[0] != 1 {
				t.Errorf("%s: %s has run, and x is %v", backend, name, v)
			}
		}
	}
}
