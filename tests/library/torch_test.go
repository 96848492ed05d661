package library

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/runtime/tensor"
)

// differentiated is a library of a program's public functions and their derivatives.
func differentiated(t *testing.T, name, source string) (*engine.Module, *aot.Library) {
	t.Helper()
	m, err := engine.CompileFile(diag.NewFile(name+".heal", source), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	var names []string
	for _, f := range m.Program().Funcs {
		if f.Public {
			names = append(names, f.Name)
		}
	}
	whole := func(string) map[string]int64 { return nil }
	l, err := m.Library(name, names, whole)
	if err == nil {
		err = m.AddDerivatives(l, whole)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Target.CPU = plain
	return m, l
}

// TestTorch: functions are operators of PyTorch by its own checks, with derivatives, and are compiled by it; without
// PyTorch, the module is Python, and says what it should.
func TestTorch(t *testing.T) {
	source, err := os.ReadFile("testdata/nets.heal")
	if err != nil {
		t.Fatal(err)
	}
	_, l := differentiated(t, "nets", string(source))
	text, err := aot.Torch(l, "nets")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`schema="(Tensor x, Tensor scale, Tensor shift, float eps) -> Tensor",`,
		`schema="(Tensor x, SymInt k, bool on) -> (Tensor, Tensor, Tensor)",`,
		`schema="(Tensor(a0!) x, float by) -> ()",`,
		`schema="(Tensor x, Tensor y, Tensor weight) -> (Tensor, Tensor)",`,
		"return _torch.empty((_extent(-2 + N),), dtype=_torch.float64)",
		"    ctx.others = k, on,\n",
		"    return given, None, None\n",
		"cut(x, lambda_):",
		`raise NotImplementedError("ranks has no derivative: it gives no floats")`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	interpreter := numpy()
	if interpreter == "" || exec.Command(interpreter, "-c", "import torch").Run() != nil {
		with, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("there is no Python")
		}
		parse := exec.Command(with, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
		parse.Stdin = strings.NewReader(text)
		if out, err := parse.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	torchRun(t, interpreter, l, "nets")
	if source, err = os.ReadFile("../../examples/layernorm.heal"); err != nil {
		t.Fatal(err)
	}
	_, l = differentiated(t, "layernorm", string(source))
	if err := l.ForTVM(); err != nil {
		t.Fatal(err)
	}
	torchRun(t, interpreter, l, "layernorm")
}

// torchRun runs testdata/use_NAME.py with a library and its modules in the working folder, and the library alone in a
// folder of that name.
func torchRun(t *testing.T, interpreter string, l *aot.Library, name string) {
	t.Helper()
	text, err := aot.Torch(l, name)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/use_" + name + ".py")
	if err != nil {
		t.Fatal(err)
	}
	file, dir := "lib"+name+".so", t.TempDir()
	so := linked(t, l, objects, file)
	inFolder(t, dir, map[string]string{file: so, name + ".py": aot.Python(l, file), name + "_torch.py": text,
		"use.py": string(script)})
	alone := filepath.Join(dir, "alone") // Python would take it for the module
	if err := os.Mkdir(alone, 0o700); err != nil {
		t.Fatal(err)
	}
	inFolder(t, alone, map[string]string{name + ".so": so})
	run := exec.Command(interpreter, "use.py")
	run.Dir, run.Env = dir, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}

// TestDerivatives: the derivative in a library is `vjp` of the function, to the bit, by all of its tensors of floats.
func TestDerivatives(t *testing.T) {
	m, l := differentiated(t, "d", `
pub fn f[N](x: f32[N], c: f32, k: i32, w: f32[N]) -> (f32[N], i32, f32) = (exp(x) .* w .* c, k, sum(x .* x))
pub fn want[N](x: f32[N], c: f32, k: i32, w: f32[N], a: f32[N], b: f32) -> (f32[N], f32[N]) = {
    let (dx, dc, dw) = vjp(|x, c, w| (exp(x) .* w .* c, sum(x .* x)))(x, c, w, (a, b));
    (dx, dw)
}
`)
	at := slices.IndexFunc(l.Entries, func(e *aot.Entry) bool { return e.Name == "f.vjp" })
	if at < 0 {
		t.Fatal("f has no derivative")
	}
	vjp := l.Entries[at]
	l.Entries = []*aot.Entry{vjp}
	lib, err := Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	f, err := m.Func("want")
	if err != nil {
		t.Fatal(err)
	}
	const n = 70
	vector := func(scale float32) *tensor.Tensor {
		return newTensor(t, func(i int) float32 { return scale * float32(i%13-6) }, n)
	}
	number := func(x float32) *tensor.Tensor {
		s := tensor.Scalar(x)
		t.Cleanup(s.Close)
		return s
	}
	k := tensor.Scalar(int32(3))
	t.Cleanup(k.Close)
	args := []*tensor.Tensor{vector(0.25), number(1.5), k, vector(0.5), vector(2), number(0.75)}
	want, err := f.CallAll(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	var got []*tensor.Tensor
	for _, w := range want {
		z, err := tensor.Zeros(w.DType, w.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(z.Close)
		t.Cleanup(w.Close)
		got = append(got, z)
	}
	if err := lib.Call(vjp, args, got); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !slices.Equal(got[i].Bits(), want[i].Bits()) {
			t.Errorf("derivative %d is %v, not %v", i, got[i], want[i])
		}
	}
}

// TestTorchUnsupported: what is no operator of PyTorch is an error that says why.
func TestTorchUnsupported(t *testing.T) {
	for source, want := range map[string]string{
		"pub fn f(x: i4[8]) -> i32[8] = x as i32\n":             "it has no tensors of i4",
		"pub fn f[N]() -> i32[N] = tabulate(N, |i| i as i32)\n": "give it a value with --shape N=EXTENT",
	} {
		_, err := aot.Torch(libraryOf(t, "s", source, "f"), "s")
		if e := (*codegen.Unsupported)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
	}
	m, err := engine.CompileFile(diag.NewFile("s.heal", "pub fn f[N](x: f32[N]) -> f32 = sum(x .* x)\n"+
		"pub fn f_vjp[N](x: f32[N]) -> f32 = sum(x)\n"), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	whole := func(string) map[string]int64 { return nil }
	l, err := m.Library("s", []string{"f", "f_vjp"}, whole)
	if err != nil {
		t.Fatal(err)
	}
	err = m.AddDerivatives(l, whole)
	const want = "called as `f_vjp` is there"
	if e := (*codegen.Unsupported)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("f and f_vjp: %v", err)
	}
}
