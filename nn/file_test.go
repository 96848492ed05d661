package nn_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	heal "healc"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/nn"
	"healc/runtime/tensor"
)

// ofFloats is a tensor of a float type.
func ofFloats(t *testing.T, d types.DType, v []float64, shape ...int64) *tensor.Tensor {
	t.Helper()
	bits := make([]uint64, len(v))
	for i, x := range v {
		bits[i] = scalar.FloatBits(d, x)
	}
	x, err := tensor.FromBits(d, shape, bits)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func toFloats(x *tensor.Tensor) []float64 {
	var out []float64
	for _, b := range x.Bits() {
		out = append(out, scalar.FloatValue(x.DType, b))
	}
	return out
}

// everyFloat has a parameter of each float type, in several shapes.
const everyFloat = "fn f(a: f32[2, 3], b: f64[3], c: (f16, f16[1, 2]), d: f32[0]) -> f64 = { let (p, q) = c; " +
	"(sum(a) as f64) + sum(b * b) + (p as f64) + (sum(q) as f64) + (sum(d) as f64) }\n"

func everyValue(t *testing.T, scale float64) map[string]*tensor.Tensor {
	return map[string]*tensor.Tensor{
		"a":   ofFloats(t, types.F32, []float64{scale, 2, math.Inf(1), math.Copysign(0, -1), 1e-40, 7}, 2, 3),
		"b":   ofFloats(t, types.F64, []float64{scale, math.Pi, -1e300}, 3),
		"c.0": ofFloats(t, types.F16, []float64{scale}), "c.1": ofFloats(t, types.F16, []float64{6e-8, 65504}, 1, 2),
		"d": ofFloats(t, types.F32, nil, 0),
	}
}

// TestFiles writes parameters of all types to both formats, and reads them into others.
func TestFiles(t *testing.T) {
	leaks(t)
	prog := compile(t, everyFloat, heal.Options{})
	from, to := module(t, prog, "f", everyValue(t, 1)), module(t, prog, "f", everyValue(t, 5))
	dir := t.TempDir()
	for _, ext := range []string{".npz", ".safetensors"} {
		path := filepath.Join(dir, "m"+ext)
		for range 2 { // the second replaces the first
			if err := from.Save(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := to.Load(path); err != nil {
			t.Fatal(err)
		}
		for _, p := range from.Parameters() {
			if got := to.Parameter(p.Name).Value; !slices.Equal(got.Bits(), p.Value.Bits()) ||
				got.String() != p.Value.String() {
				t.Errorf("%s: %s is %v, and %v was saved", ext, p.Name, toFloats(got), toFloats(p.Value))
			}
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("files: %v, %v", files, err)
	}
}

// TestBF16Files: .npz has no bf16, and says what has.
func TestBF16Files(t *testing.T) {
	leaks(t)
	prog := compile(t, "fn f(a: bf16[2]) -> bf16 = sum(a)\n", heal.Options{})
	m := module(t, prog, "f", map[string]*tensor.Tensor{"a": ofFloats(t, types.BF16, []float64{1.5, -3}, 2)})
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := m.Parameter("a").Value.Clear(); err != nil {
		t.Fatal(err)
	}
	if err := m.Load(path); err != nil || !slices.Equal(toFloats(m.Parameter("a").Value), []float64{1.5, -3}) {
		t.Errorf("read %v, %v", toFloats(m.Parameter("a").Value), err)
	}
	if err := m.Save(strings.TrimSuffix(path, "safetensors") + "npz"); err == nil ||
		!strings.Contains(err.Error(), "bf16") {
		t.Errorf("bf16 in .npz: %v", err)
	}
}

// TestNumPyFiles: NumPy reads what is saved, and what NumPy writes is loaded, in Fortran order too.
func TestNumPyFiles(t *testing.T) {
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("no " + python + " with NumPy; apt-get install python3-numpy")
	}
	leaks(t)
	m := module(t, compile(t, everyFloat, heal.Options{}), "f", everyValue(t, 3))
	dir := t.TempDir()
	path := filepath.Join(dir, "m.npz")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	const script = `
import sys, numpy as np
z = np.load(sys.argv[1])
assert sorted(z.files) == ["a", "b", "c.0", "c.1", "d"], z.files
assert z["a"].dtype == np.float32 and z["a"].shape == (2, 3) and z["a"][0, 0] == 3 and np.isinf(z["a"][0, 2]), z["a"]
assert z["b"].dtype == np.float64 and z["b"][1] == np.pi
assert z["c.0"].dtype == np.float16 and z["c.0"].shape == () and z["c.1"].shape == (1, 2)
np.savez_compressed(sys.argv[1], **{k: np.array(z[k] + z[k].dtype.type(1), order="F") for k in z.files})
`
	if out, err := exec.Command(python, "-c", script, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := m.Load(path); err != nil {
		t.Fatal(err)
	}
	if got := toFloats(m.Parameter("a").Value); !slices.Equal(got, []float64{4, 3, math.Inf(1), 1, 1, 8}) {
		t.Errorf("a is %v", got)
	}
}

// TestWrongFiles: each leaves the parameters as they were.
func TestWrongFiles(t *testing.T) {
	leaks(t)
	prog := compile(t,
		"fn f(w: f32[2], b: f32) -> f32 = sum(w) + b\nfn g(w: f32[2]) -> f32 = sum(w)\n"+
			"fn h(w: f32[3], b: f32) -> f32 = sum(w) + b\nfn k(w: f64[2], b: f32) -> f64 = sum(w)\n", heal.Options{})
	one := func() *tensor.Tensor { return tensor.Scalar[float32](1) }
	m := module(t, prog, "f", map[string]*tensor.Tensor{"w": f32s(t, []float32{7, 8}), "b": one()})
	g := module(t, prog, "g", map[string]*tensor.Tensor{"w": f32s(t, []float32{1, 2})})
	h := module(t, prog, "h", map[string]*tensor.Tensor{"w": f32s(t, []float32{1, 2, 3}), "b": one()})
	k := module(t, prog, "k", map[string]*tensor.Tensor{"w": ofFloats(t, types.F64, []float64{1, 2}, 2), "b": one()})
	for _, ext := range []string{".npz", ".safetensors"} {
		path := filepath.Join(t.TempDir(), "m"+ext)
		want := func(what string) {
			t.Helper()
			if err := m.Load(path); err == nil || !strings.Contains(err.Error(), what) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, want %q", ext, err, what)
			}
			wantFloats(t, "w", m.Parameter("w").Value, 7, 8)
			wantFloats(t, "b", m.Parameter("b").Value, 1)
		}
		want("no such file")
		for _, c := range []struct {
			m    *nn.Module
			what string
		}{{g, "lacks `b`"}, {h, "`w` is f32[3] in the file, and f32[2] is needed"}, {k, "`w` is f64[2] in the file"}} {
			if err := c.m.Save(path); err != nil {
				t.Fatal(err)
			}
			want(c.what)
		}
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		if err := g.Load(path); err == nil || !strings.Contains(err.Error(), "has `b`, which nothing here is called") {
			t.Errorf("%s: one too many: %v", ext, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []int{0, 5, len(data) / 2, len(data) - 1} {
			if err := os.WriteFile(path, data[:cut], 0o666); err != nil {
				t.Fatal(err)
			}
			want("")
		}
	}
	if err := m.Save("m.pt"); err == nil || !strings.Contains(err.Error(), `.npz and .safetensors, not ".pt"`) {
		t.Errorf("another format: %v", err)
	}
	if err := m.Load("m"); err == nil || !strings.Contains(err.Error(), `.npz and .safetensors, not ""`) {
		t.Errorf("no format: %v", err)
	}
}

// TestTrainingGoesOn: what is saved in the middle and loaded elsewhere ends in the same bits.
func TestTrainingGoesOn(t *testing.T) {
	leaks(t)
	x, y := rings(t, 40)
	defer x.Close()
	defer y.Close()
	prog := compile(t, net, heal.Options{})
	for _, o := range optimizers {
		for _, ext := range []string{".npz", ".safetensors"} {
			values, states := filepath.Join(t.TempDir(), "m"+ext), filepath.Join(t.TempDir(), "o"+ext)
			start := func() (*nn.Module, *nn.Optimizer) {
				m := module(t, prog, "loss", netValues(t))
				opt, err := o.make(m)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(opt.Close)
				return m, opt
			}
			m, opt := start()
			train(t, m, opt, 5, x, y)
			if err := m.Save(values); err != nil {
				t.Fatal(err)
			}
			if err := opt.Save(states); err != nil {
				t.Fatal(err)
			}
			want := train(t, m, opt, 5, x, y)
			m, opt = start()
			if err := m.Load(values); err != nil {
				t.Fatal(err)
			}
			if err := opt.Load(states); err != nil {
				t.Fatal(err)
			}
			if got := train(t, m, opt, 5, x, y); !slices.Equal(got, want) {
				t.Errorf("%s, %s: the losses go on as %v, and without a break as %v", o.name, ext, got, want)
			}
		}
	}
}
