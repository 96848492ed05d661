package heal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc"
	"healc/internal/backend"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// memory reads files that are in memory; it notes what is read.
func memory(files map[string]string, read *[]string) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if read != nil {
			*read = append(*read, path)
		}
		text, ok := files[path]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), nil
	}
}

// evaluate compiles files["main.heal"] and prints the value of its function f.
func evaluate(t *testing.T, files map[string]string, backend string) string {
	t.Helper()
	m, err := heal.CompileFile(diag.NewFile("main.heal", files["main.heal"]),
		heal.Options{Backend: backend, ReadFile: memory(files, nil)})
	if err != nil {
		return err.Error()
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Call(context.Background())
	if err != nil {
		return err.Error()
	}
	defer out.Close()
	var b strings.Builder
	if err := tensor.Format(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestImports runs programs of several files, on both backends.
func TestImports(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a function", map[string]string{
			"main.heal": "import \"./lib\"\nfn f() -> i32 = lib.twice(21)\n",
			"lib.heal":  "pub fn twice(x: i32) -> i32 = x + x\n",
		}, "42"},
		{"an alias, a folder, and private functions behind a public one", map[string]string{
			"main.heal":  "import \"./a/lib\" as l\nfn hidden() -> i32 = 1\nfn f() -> i32 = l.go(hidden())\n",
			"a/lib.heal": "pub fn go(x: i32) -> i32 = hidden(x) * 10\nfn hidden(x: i32) -> i32 = x + 1\n",
		}, "20"},
		{"two files of one name", map[string]string{
			"main.heal": "import \"./a/l\" as a\nimport \"./b/l\" as b\nfn f() -> i32 = a.v() + b.v()\n",
			"a/l.heal":  "pub fn v() -> i32 = 1\n",
			"b/l.heal":  "pub fn v() -> i32 = 2\n",
		}, "3"},
		{"one file imported twice is one module", map[string]string{
			"main.heal": "import \"./a\"\nimport \"./b\"\nfn f() -> i32 = a.v() + b.v()\n",
			"a.heal":    "import \"./c\"\npub fn v() -> i32 = c.w[2]()\n",
			"b.heal":    "import \"./sub/../c\"\npub fn v() -> i32 = c.w[3]()\n",
			"c.heal":    "pub fn w[N]() -> i32 = N\n",
		}, "5"},
		{"constants, also in shapes", map[string]string{
			"main.heal": "import \"./c\"\nfn f() -> f32[c.N + 1] = full[f32, c.N + 1](c.X)\n",
			"c.heal":    "pub const N: nat = BASE * 2\nconst BASE: nat = 1\npub const X: f32 = 1.5\n",
		}, "[1.5 1.5 1.5]"},
		{"generic functions, and functions as arguments", map[string]string{
			"main.heal": "import \"./g\"\n" +
				"fn f() -> f64 = g.twice(1.25_f64) + (tabulate(3, g.number) as f64)[2] + g.apply[f64]()\n",
			"g.heal": "pub fn twice[T: num](x: T) -> T = add2(x, x)\nfn add2[T: num](x: T, y: T) -> T = x + y\n" +
				"pub fn number(i: i32) -> i32 = i\npub fn apply[T: float]() -> T = 0.5\n",
		}, "5.0"},
		{"a pipe into a module", map[string]string{
			"main.heal": "import math\nfn f() -> i32 = 12 |> math.gcd(18)\n",
		}, "6"},
		{"the same bits as a local function", map[string]string{
			"main.heal": "import nn\n" +
				"fn local(x: f32[2, 3]) -> f32[2, 3] = { let e = exp(x .- max/[axis=1, keep](x)); e ./ +/[axis=1, " +
				"keep](e) }\n" +
				"fn f() -> bool = { let x = [[0.1, 0.2, 0.7], [3.0, -1.0, 0.25]]; all(nn.softmax(x) .== local(x)) }\n",
		}, "true"},
	} {
		for _, backend := range []string{heal.Interp, heal.CPU} {
			if got := evaluate(t, c.files, backend); got != c.want {
				t.Errorf("%s on %s: %s, want %s", c.name, backend, got, c.want)
			}
		}
	}
}

// TestImportErrors requires an error with the code and the text, in the right file, and nothing else.
func TestImportErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		code  diag.Code
		place string
		text  string // of the rendered error
	}{
		{"no such module", map[string]string{"main.heal": "import linalgg\nfn f() -> i32 = linalgg.g()\n"},
			diag.CodeImport, "main.heal:1:1", "did you mean `linalg`?"},
		{"a module that is not imported", map[string]string{"main.heal": "fn f() -> f64 = maths.PI\n"},
			diag.CodeUnknownName, "main.heal:1:17", "did you mean `math`? Write `import math` at the top of the file"},
		{"a module that there is not", map[string]string{"main.heal": "fn f() -> f64 = physics.C\n"},
			diag.CodeUnknownName, "main.heal:1:17", "the modules of the library are linalg, math, "},
		{"a module as a value", map[string]string{"main.heal": "import math\nfn f() -> f64 = math\n"},
			diag.CodeUnknownName, "main.heal:2:17", "what it has is named `math.name`"},
		{"a function of the language as one of a module",
			map[string]string{"main.heal": "import math\nfn f() -> f64 = math.sqrt(2.0)\n"},
			diag.CodeUnknownName, "main.heal:2:22", "it is a function of the language: write `sqrt(...)`"},
		{"no such file", map[string]string{"main.heal": "import \"./nosuch\"\n"}, diag.CodeImport, "main.heal:1:1",
			"there is no file nosuch.heal"},
		{"a path out of the folder", map[string]string{"main.heal": "import \"../x/l\"\n", "../x/l.heal": ""},
			diag.CodeOutside, "main.heal:1:1", "`--allow-import ../x`"},
		{"a library module in quotes", map[string]string{"main.heal": "import \"nn\"\n"}, diag.CodeImport,
			"main.heal:1:1", "`import nn`"},
		{"no path from the root", map[string]string{"main.heal": "import \"/etc/x\"\n"}, diag.CodeImport,
			"main.heal:1:1", "does not start with"},
		{"a cycle", map[string]string{
			"main.heal": "import \"./a\"\n", "a.heal": "import \"./b\"\n", "b.heal": "import \"./a\"\n",
		}, diag.CodeImportCycle, "b.heal:1:1", "a.heal imports itself"},
		{"a file that imports itself", map[string]string{"main.heal": "import \"./main\"\n"}, diag.CodeImportCycle,
			"main.heal:1:1", "main.heal imports itself"},
		{"a private function", map[string]string{
			"main.heal": "import \"./l\"\nfn f() -> i32 = l.g()\n", "l.heal": "fn g() -> i32 = 1\n",
		}, diag.CodePrivate, "main.heal:2:19", "declared here without `pub`"},
		{"a private constant in a shape", map[string]string{
			"main.heal": "import \"./l\"\nfn f(x: f32[l.N]) -> i32 = 1\n", "l.heal": "const N: nat = 1\n",
		}, diag.CodePrivate, "main.heal:2:15", "constant `N` of module `l` is private"},
		{"a missing name",
			map[string]string{"main.heal": "import nn\nfn f(x: f32[2, 2]) -> f32[2, 2] = nn.softmx(x)\n"},
			diag.CodeUnknownName, "main.heal:2:38", "did you mean `nn.softmax`?"},
		{"a module that is not imported",
			map[string]string{"main.heal": "fn f(x: f32[2, 2]) -> f32[2, 2] = nn.softmax(x)\n"},
			diag.CodeUnknownName, "main.heal:1:35", "write `import nn`"},
		{"a function of a module alone", map[string]string{"main.heal": "fn f(x: f32[3]) -> f32 = median(x)\n"},
			diag.CodeUnknownName, "main.heal:1:26", "write `import stats` at the top of the file and `stats.median`"},
		{"a function of an imported module alone",
			map[string]string{"main.heal": "import stats as s\nfn f(x: f32[3]) -> f32 = median(x)\n"},
			diag.CodeUnknownName, "main.heal:2:26", "help: write `s.median`"},
		{"one name twice", map[string]string{"main.heal": "import nn\nimport math as nn\n"}, diag.CodeDuplicate,
			"main.heal:2:16", "imported twice"},
		{"a syntax error there", map[string]string{"main.heal": "import \"./l\"\n", "l.heal": "pub fn g() -> i32 = \n"},
			diag.CodeUnexpected, "l.heal:1:20", "expected"},
		{"a type error there", map[string]string{"main.heal": "import \"./l\"\n",
			"l.heal": "\npub fn g(x: i32) -> f32 = x\n"},
			diag.CodeResult, "l.heal:2:27", "`l.g` returns f32, but its body is i32"},
		{"a wrong argument",
			map[string]string{"main.heal": "import nn\nfn f(x: i32[2, 2]) -> i32[2, 2] = nn.softmax(x)\n"},
			diag.CodeBound, "main.heal:2:35", "fn nn.softmax[T: float, M, N](x: T[M, N]) -> T[M, N]"},
		{"a function as a value", map[string]string{"main.heal": "import nn\nfn f() -> i32 = nn.softmax\n"},
			diag.CodeFunctionValue, "main.heal:2:17", "call it"},
		{"an effect across files", map[string]string{
			"main.heal": "import \"./l\"\nfn f() -> i32 = l.g()\n", "l.heal": "@io pub fn g() -> i32 = print_i32(1)\n",
		}, diag.CodeEffect, "main.heal:2:17", "`l.g`"},
	} {
		_, err := heal.CompileFile(diag.NewFile("main.heal", c.files["main.heal"]),
			heal.Options{Backend: heal.Interp, ReadFile: memory(c.files, nil)})
		var list *diag.List
		if !errors.As(err, &list) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(list.Items) != 1 {
			t.Errorf("%s: %d errors:\n%v", c.name, len(list.Items), list)
		}
		d := list.Items[0]
		if d.Code != c.code || d.Primary.Span.Pos().String() != c.place ||
			!strings.Contains(diag.Render(d, false), c.text) {
			t.Errorf("%s: want %s at %s with %q, got\n%s", c.name, c.code, c.place, c.text, diag.Render(d, false))
		}
	}
}

// TestImportsAreHermetic: what a program means depends on its text and on the files that it names alone.
// A library module never comes from the disk, a text that is no file imports none, and a program that
// imports nothing reads nothing.
func TestImportsAreHermetic(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"nn.heal": "pub fn softmax(x: i32) -> i32 = 7\n",
		"lib.heal": "pub fn g() -> i32 = 7\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := diag.NewFile("main.heal", "import nn\nfn f(x: i32) -> i32 = nn.softmax(x)\n")
	if _, err := heal.CompileFile(file, heal.Options{Backend: heal.Interp}); err == nil {
		t.Error("a file of the working folder stands in for a module of the library")
	}
	if _, err := heal.Compile("import \"./lib\"\nfn f() -> i32 = lib.g()\n", heal.Options{Backend: heal.Interp}); err ==
		nil {
		t.Error("a text that is no file imports a file of the working folder")
	}
	var read []string
	files := map[string]string{"p/main.heal": "import nn\nimport \"./a\"\nfn f() -> i32 = a.v()\n",
		"p/a.heal": "pub fn v() -> i32 = 1\n"}
	for range 2 {
		m, err := heal.CompileFile(diag.NewFile("p/main.heal", files["p/main.heal"]),
			heal.Options{Backend: heal.Interp, ReadFile: memory(files, &read)})
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}
	if got, want := fmt.Sprint(read), "[p/a.heal p/a.heal]"; got != want {
		t.Errorf("the files that are read are %s, want %s", got, want)
	}
}

// TestSameNamesEveryTime: instances are named by their types, and their order is that of the source.
func TestSameNamesEveryTime(t *testing.T) {
	src := "import math\nfn id[A: any, B: num](a: A, b: B) -> B = b\n" +
		"fn f() -> f64 = id(true, math.square(2.0_f64)) + id(1_u8, 1.0)\nfn g() -> i32 = id(1.0, 2)\n"
	names := func() string {
		m, err := engine.Compile(src, engine.Options{Backend: backend.Interp})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var out []string
		for _, f := range m.IR().Funcs {
			out = append(out, f.Name)
		}
		return strings.Join(out, " ")
	}
	first := names()
	if want := "f g id.bool.f64 id.u8.f64 id.f32.i32 math.square.f64"; first != want {
		t.Errorf("the functions are %s, want %s", first, want)
	}
	for range 5 {
		if again := names(); again != first {
			t.Fatalf("once %s, then %s", first, again)
		}
	}
}

// TestKernelAttribute checks what `@kernel` promises, for shapes that are written and for those of a call.
func TestKernelAttribute(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"@kernel fn f(x: f32[64]) -> f32[64] = exp(x) * 2.0\n", ""},
		// the library costs nothing
		{"import nn\n@kernel fn f(x: f32[4096, 1024]) -> f32[4096, 1024] = nn.softmax(x)\n", ""},
		{"import nn\n" +
			"@kernel fn f(x: f32[512, 768], s: f32[768], b: f32[768]) -> f32[512, 768] = nn.layer_norm(x, s, b, " +
			"1e-5)\n", ""},
		{"import nn\n@kernel fn f(x: f64[512, 768], s: f64[768]) -> f64[512, 768] = nn.rms_norm(x, s, 1e-5)\n", ""},
		{"@kernel fn f(x: f32[64, 64]) -> f32[64] = { let y = x @ x; y @ +/[axis=0](y) }\n", "it becomes 3 kernels"},
		{"@kernel @io fn f(x: f32[64]) -> f32[64] = { print(1); exp(x) }\n", "other steps beside it"},
		{"@kernel fn f(x: f32[64]) -> f32[32] = x[0..32]\n", "a view of its operands"},
	} {
		_, err := heal.Compile(c.src, heal.Options{Backend: heal.Interp})
		if c.want == "" && err != nil {
			t.Errorf("%s%v", c.src, err)
		}
		var list *diag.List
		if c.want != "" && (!errors.As(err, &list) || list.Items[0].Code != diag.CodeKernel ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%swant %q, got %v", c.src, c.want, err)
		}
	}
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := heal.Compile("@kernel fn f[N](x: f32[N, N]) -> f32[N] = { let y = x @ x; y @ +/[axis=0](y) }\n",
			heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x := tensor.FromSlice(make([]float32, 32*32), 32, 32)
		if _, err := f.Call(context.Background(), x); err == nil || !strings.Contains(err.Error(), "E0503") {
			t.Errorf("on %s: %v", backend, err)
		}
		x.Close()
		m.Close()
	}
}

// TestStrings: strings are arguments and results of functions.
func TestStrings(t *testing.T) {
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := heal.Compile("fn f(s: string, n: i32) -> (i32, string) = (len(s), iterate(n, s, |s| s ++ \"!\"))\n",
			heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range []string{"ab", "ab!", "ab!!"} {
			count, err := tensor.FromBits(types.I32, nil, []uint64{uint64(n)})
			if err != nil {
				t.Fatal(err)
			}
			out, err := f.CallAll(context.Background(), tensor.Text("ab"), count)
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := out[1].Text(); !ok || s != want || out[0].Bits()[0] != 2 {
				t.Errorf("on %s: %v, %q, %v", backend, out[0].Bits(), s, ok)
			}
			if _, err := f.CallAll(context.Background(), count, count); err == nil ||
				!strings.Contains(err.Error(), "string") {
				t.Errorf("on %s: %v", backend, err)
			}
			out[0].Close()
			count.Close()
		}
		m.Close()
	}
}

// TestCallers: a failure in the code of another file says which call led there, on every backend.
func TestCallers(t *testing.T) {
	files := map[string]string{
		"main.heal": `import "./lib"
import nn
import ring

fn through(x: f32[4], i: i32) -> f32 = lib.outer(x, i)
fn index(x: f32[4], i: i32) -> f32 = through(x, i) * 2.0
fn twice(x: f32[4], i: i32) -> f32 = lib.outer(x, 0) + lib.outer(x, i)
fn slope(x: f32[4], i: i32) -> f32 = +/(grad(|x| lib.outer(x, i))(x))
fn files(x: f32[4], i: i32) -> f32 = lib.further(x, i)
fn extent(x: f32[4], i: i32) -> f32 = +/(lib.first[4](x))
fn recurses(x: f32[4], i: i32) -> f32 = lib.deep(2, i) as f32
fn checked(x: f32[4], i: i32) -> f32 = lib.checked(i)
fn modulus(x: f32[4], i: i32) -> f32 = ring.psi(18, 8) as f32
fn loss(x: f32[4], i: i32) -> f32 = nn.softmax_cross_entropy(unsqueeze(x, 0), full[i32, 1](i))
fn mutually(x: f32[4], i: i32) -> f32 = lib.even(i) as f32
fn endless(x: f32[4], i: i32) -> f32 = lib.endless(i) as f32
fn several(x: f32[4], i: i32) -> f32 = (lib.positive(9 + i, 1) + lib.deep(2, i) + lib.deep(3, i)) as f32
`,
		"lib.heal": `import "./a/far"
fn inner(x: f32[4], i: i32) -> f32 = x[i]
pub fn outer(x: f32[4], i: i32) -> f32 = inner(x, i) + 1.0
pub fn further(x: f32[4], i: i32) -> f32 = far.at(x, i)
pub fn first[N](x: f32[N]) -> f32[5] = x[0..5]
pub fn deep(n: i32, i: i32) -> i32 = if n == 0 { 1 / (i - i) } else { deep(n - 1, i) }
pub fn checked(i: i32) -> f32 = (1 % (i - i)) as f32
pub fn even(i: i32) -> i32 = if i == 0 { far.low(i) } else { odd(i - 1) }
fn odd(i: i32) -> i32 = if i == 1 { 7 + far.low(i) } else { even(i - 1) }
pub fn endless(i: i32) -> i32 = if i == 100000 { i } else { endless(i + 1) }
pub fn positive(n: i32, i: i32) -> i32 = if n == 0 { 1 / i } else { positive(n - 1, i) }
`,
		"a/far.heal": "pub fn at(x: f32[4], i: i32) -> f32 = x[i] * 3.0\n" +
			"pub fn low(n: i32) -> i32 = if n == -10 { 1 / (n + 10) } else { low(n - 1) }\n",
	}
	want := map[string]string{
		"index": "lib.heal:2:38: index 4 is out of range for an axis of extent 4 (called at main.heal:5:40)",
		"twice": "lib.heal:2:38: index 4 is out of range for an axis of extent 4 (called at main.heal:7:56)",
		"slope": "lib.heal:2:38: index 4 is out of range for an axis of extent 4 (called at main.heal:8:50)",
		"files": "a/far.heal:1:39: index 4 is out of range for an axis of extent 4 (called at lib.heal:4:44) " +
			"(called at main.heal:9:38)",
		"extent":   "N = 4) (called at main.heal:10:42)",
		"recurses": "lib.heal:6:50: integer division by zero (called at main.heal:11:41)",
		"mutually": "a/far.heal:2:43: integer division by zero (called at lib.heal:9:41) (called at main.heal:15:41)",
		"endless":  "lib.heal:10:8: calls are nested more than 10000 deep (called at main.heal:16:40)",
		"several":  "lib.heal:6:50: integer division by zero (called at main.heal:17:66)",
		"checked":  "lib.heal:7:34: integer division by zero (called at main.heal:12:40)",
		"modulus":  "18 is no prime p with p = 1 modulo 2m for the length m = 8 (called at main.heal:13:40)",
		"loss":     "index 4 is out of range for an axis of extent 4 (called at main.heal:14:37)",
	}
	for _, backend := range []string{heal.Interp, heal.CPU, heal.PTXSim} {
		m, err := heal.CompileFile(diag.NewFile("main.heal", files["main.heal"]),
			heal.Options{Backend: backend, ReadFile: memory(files, nil)})
		if err != nil {
			t.Fatal(err)
		}
		x := tensor.FromSlice([]float32{1, 2, 3, 4}, 4)
		for name, want := range want {
			f, err := m.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = f.Call(context.Background(), x, tensor.Scalar(int32(4))); err == nil ||
				!strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s on %s: %v\nwant %s", name, backend, err, want)
			}
		}
		x.Close()
		m.Close()
	}
}

// TestImportsStay: no import leaves the folder of the program, by `..` or by links, unless its folder is allowed.
func TestImportsStay(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	for name, text := range map[string]string{"other/lib.heal": "pub fn g() -> i32 = 7\n",
		"program/own.heal": "pub fn g() -> i32 = 7\n", "program2/lib.heal": "pub fn g() -> i32 = 7\n"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link.heal": "../other/lib.heal", "folder": "../other",
		"inner.heal": "own.heal", "absolute.heal": filepath.Join(program, "own.heal")} {
		if err := os.Symlink(to, filepath.Join(program, name)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		path      string
		in, other bool // it is read, and with the folder other allowed
	}{
		{"./own", true, true}, {"./inner", true, true}, {"./absolute", true, true}, {"../program/own", true, true},
		{"../other/lib", false, true}, {"./link", false, true}, {"./folder/lib", false, true},
		{"../program2/lib", false, false},
		{"../nosuch/lib", false, false}, {"./folder/nosuch", false, false},
	} {
		for _, allow := range []bool{false, true} {
			opts := heal.Options{Backend: heal.Interp}
			want := c.in
			if allow {
				opts.AllowImport = []string{filepath.Join(dir, "other")}
				want = c.other
			}
			file := diag.NewFile(filepath.Join(program, "main.heal"),
				fmt.Sprintf("import %q as l\nfn f() -> i32 = l.g()\n", c.path))
			m, err := heal.CompileFile(file, opts)
			if err == nil {
				m.Close()
			}
			if (err == nil) != want {
				t.Errorf("%s, allowed %t: %v", c.path, allow, err)
			}
			if heal.SandboxMissing() == "" {
				opts.Sandbox = &heal.Sandbox{}
				m, err := heal.CompileFile(file, opts)
				if err == nil {
					m.Close()
				}
				if (err == nil) != want {
					t.Errorf("%s in a sandbox, allowed %t: %v", c.path, allow, err)
				}
			}
			if err != nil && !allow && !strings.Contains(err.Error(), "leaves the folder of the program") {
				t.Errorf("%s: %v", c.path, err)
			}
		}
	}
}
