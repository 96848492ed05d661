package heal_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	heal "healc"
	"healc/runtime/tensor"
)

// floats are the elements of t, which is closed.
func floats(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Slice[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	v = slices.Clone(v)
	x.Close()
	return v
}

// TestGradient calls the derivative of a function by all its floats, by some, and by parts of a tuple.
func TestGradient(t *testing.T) {
	const source = `
fn f(x: f32, y: f32) -> f32 = x * y + x
fn line[N](p: (f32[N], f32), n: i32, x: f32[N]) -> f32 = { let (a, b) = p; sum(a * x) + b * (n as f32) }
`
	one := func(v ...float32) *tensor.Tensor {
		if len(v) == 1 {
			return tensor.Scalar(v[0])
		}
		return tensor.FromSlice(v)
	}
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := heal.Compile(source, heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			f    string
			wrt  []string
			args []*tensor.Tensor
			want [][]float32
		}{
			{"f", nil, []*tensor.Tensor{one(2), one(3)}, [][]float32{{8}, {4}, {2}}},
			{"f", []string{"y"}, []*tensor.Tensor{one(2), one(3)}, [][]float32{{8}, {2}}},
			{"f", []string{"y", "x"}, []*tensor.Tensor{one(2), one(3)}, [][]float32{{8}, {4}, {2}}},
			{"line", []string{"p"}, []*tensor.Tensor{one(1, 2), one(5), tensor.Scalar(int32(3)), one(7, 11)},
				[][]float32{{44}, {7, 11}, {3}}},
			{"line", []string{"x", "p.1"}, []*tensor.Tensor{one(1, 2), one(5), tensor.Scalar(int32(3)), one(7, 11)},
				[][]float32{{44}, {3}, {1, 2}}},
			{"line", nil, []*tensor.Tensor{one(1, 2), one(5), tensor.Scalar(int32(3)), one(7, 11)},
				[][]float32{{44}, {7, 11}, {3}, {1, 2}}},
		} {
			g, err := m.Gradient(c.f, c.wrt...)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := m.Gradient(c.f, c.wrt...); again != g {
				t.Errorf("the derivative of %s by %v is made twice", c.f, c.wrt)
			}
			out, err := g.CallAll(context.Background(), c.args...)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]float32
			for _, x := range out {
				got = append(got, floats(t, x))
			}
			if !slices.EqualFunc(got, c.want, slices.Equal[[]float32]) {
				t.Errorf("%s: %s by %v gives %v, want %v", backend, c.f, c.wrt, got, c.want)
			}
			// What is added to 1 twice.
			add, err := m.AddGradient(c.f, c.wrt...)
			if err != nil {
				t.Fatal(err)
			}
			args := slices.Clone(c.args)
			for _, w := range c.want[1:] {
				ones := make([]float32, len(w))
				for i := range ones {
					ones[i] = 1
				}
				args = append(args, one(ones...))
			}
			for range 2 {
				v, err := add.Call(context.Background(), args...)
				if err != nil {
					t.Fatal(err)
				}
				if got := floats(t, v); !slices.Equal(got, c.want[0]) {
					t.Errorf("%s: the value of %s is %v, want %v", backend, c.f, got, c.want[0])
				}
			}
			for i, x := range args[len(c.args):] {
				for k, got := range floats(t, x) {
					if want := 1 + 2*c.want[1+i][k]; got != want {
						t.Errorf("%s: %s by %v: sum %d is %v at %d, want %v", backend, c.f, c.wrt, i, got, k, want)
					}
				}
			}
			for _, x := range c.args {
				x.Close()
			}
		}
		m.Close()
	}
}

// TestGradientOfInstance: a function with type parameters is named by its instance, and may have a gradient of its own.
func TestGradientOfInstance(t *testing.T) {
	m, err := heal.Compile("fn cube[T: float](x: T) -> T = x * x * x\nfn slope[T: float](x: T) -> T = grad(cube)(x)\n",
		heal.Options{Entry: "slope[f32]"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g, err := m.Gradient("slope[f32]")
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.Scalar[float32](2)
	defer x.Close()
	out, err := g.CallAll(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := floats(t, out[0]), floats(t, out[1]); a[0] != 12 || b[0] != 12 {
		t.Errorf("the first and second derivatives of x^3 at 2 are %v and %v", a, b)
	}
}

func TestGradientErrors(t *testing.T) {
	m, err := heal.Compile(`
fn f(w: f32[3], x: f32[3], n: i32) -> f32 = sum(w * x) * (n as f32)
fn wide(x: f32[3]) -> f32[3] = x * x
fn whole(x: i32) -> f32 = x as f32
fn cut(x: f32) -> f32 = x * ((x as i32) as f32)
fn change(x: &mut f32[3]) -> f32 = { x .*= 2.0; x[0] }
@io fn show(x: f32) -> f32 = { print(x); x }
`, heal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		f    string
		wrt  []string
		want string
	}{
		{"g", nil, `there is no function "g"`},
		{"f", []string{"v"}, "`f` has no parameter `v`"},
		{"f", []string{"v"}, "it has w, x, n"},
		{"f", []string{"w", "w"}, "parameter `w` of `f` is named twice"},
		{"f", []string{"n"}, "parameter `n` of `f` is i32, and only floats have derivatives"},
		{"wide", nil, "a gradient needs a function that gives one float: `wide(x: f32[3]) -> f32[3]`"},
		{"whole", nil, "`whole` has no float parameter"},
		{"cut", nil, "E0403"},
		{"change", nil, "`&mut`"},
		{"show", nil, "effects"},
	} {
		_, err := m.Gradient(c.f, c.wrt...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the gradient of %s by %v: %v, want %q", c.f, c.wrt, err, c.want)
		}
	}
}

// TestGradientOnDevice: the gradient of a parameter that is on a device is there, too.
func TestGradientOnDevice(t *testing.T) {
	m, err := heal.Compile("fn f(w: f32[3] on device, x: f32[3]) -> f32 = sum(w * w * to_device(x))\n",
		heal.Options{Backend: heal.PTXSim})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	host := tensor.FromSlice([]float32{1, 2, 3})
	x := tensor.FromSlice([]float32{10, 100, 1000})
	w, err := host.ToDevice(m.Device())
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range []*tensor.Tensor{host, x, w} {
		defer y.Close()
	}
	g, err := m.Gradient("f")
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.CallAll(context.Background(), w, x)
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Device() != nil || out[1].Device() != m.Device() || out[2].Device() != nil {
		t.Errorf("the value is on %v, the gradients on %v and %v", out[0].Device(), out[1].Device(), out[2].Device())
	}
	dw, err := out[1].ToHost()
	if err != nil {
		t.Fatal(err)
	}
	if got := floats(t, dw); !slices.Equal(got, []float32{20, 400, 6000}) {
		t.Errorf("the gradient by w is %v", got)
	}
	if got := floats(t, out[2]); !slices.Equal(got, []float32{1, 4, 9}) {
		t.Errorf("the gradient by x is %v", got)
	}
	add, err := m.AddGradient("f", "w")
	if err != nil {
		t.Fatal(err)
	}
	value, err := add.Call(context.Background(), w, x, out[1])
	if err != nil {
		t.Fatal(err)
	}
	sum, err := out[1].ToHost()
	if err != nil {
		t.Fatal(err)
	}
	if got := floats(t, sum); !slices.Equal(got, []float32{40, 800, 12000}) {
		t.Errorf("the gradient by w, twice, is %v", got)
	}
	for _, y := range append(out[:2], value) {
		y.Close()
	}
}
