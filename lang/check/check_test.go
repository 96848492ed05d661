package check_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/parser"
	"healc/lang/types"
)

var update = flag.Bool("update", false, "rewrite the expected typed trees")

// TestTypes compares the typed trees of testdata/types with the files beside them.
func TestTypes(t *testing.T) {
	files, err := filepath.Glob("testdata/types/*.heal")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".heal"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p, errs := compile(t, string(text))
			if len(errs.Items) > 0 {
				t.Fatal(errs)
			}
			var got bytes.Buffer
			if err := tree.Dump(&got, p); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(name, ".heal") + ".types"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("the typed tree of %s differs from %s; got\n%s", name, golden,
					firstDifference(got.String(), string(want)))
			}
		})
	}
}

// firstDifference shows the first line that differs, with the line before it.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			expected := "the end"
			if i < len(w) {
				expected = w[i]
			}
			return strings.Join(g[max(i-1, 0):i+1], "\n") + "\nwant " + expected
		}
	}
	return "less than expected"
}

// TestRender fixes the text of errors with aligned shapes, bindings and hints.
func TestRender(t *testing.T) {
	tests := []struct{ source, want string }{
		{"fn norm(x: f32[5, 2, 4, 1], mean: f32[3, 1, 1]) -> f32[5, 2, 4, 1] = {\n    let d = x .- mean;\n    d\n}\n", `
error[E0203]: shapes do not broadcast
  --> test.heal:2:13
   |
 2 |     let d = x .- mean;
   |             ^^^^^^^^^ f32[5, 2, 4, 1] .- f32[3, 1, 1]
   |
   = [5, 2, 4, 1]
   =    [3, 1, 1]
   =     ^ 2 and 3 differ, and neither is 1
`},
		{"fn center[M, N](x: f32[M, N]) -> f32[M, N] = {\n    let mean = mean(x, axis = 1);\n    x .- mean\n}\n", `
error[E0203]: shapes do not broadcast
  --> test.heal:3:5
   |
 3 |     x .- mean
   |     ^^^^^^^^^ f32[M, N] .- f32[M]
   |
   = [M, N]
   =    [M]
   =     ^ N and M differ, and neither is 1
   = help: ` + "`unsqueeze(mean, 1)` has the shape [M, 1] and broadcasts; so does a reduction with `keep`" + `
`},
		{"fn f[M, N](a: f32[M, 2*N + 1],\n  b: f32[100, 1]) -> f32[M, 1] =\n    a .+ b\n", `
error[E0203]: shapes do not broadcast
  --> test.heal:3:5
   |
 3 |     a .+ b
   |     ^^^^^^ f32[M, 2*N+1] .+ f32[100, 1]
   |
   = [  M, 2*N+1]
   = [100,     1]
   =  ^^^ M and 100 differ, and neither is 1
`},
		{"fn dot[N](x: f32[N], y: f32[N]) -> f32 = +/(x * y)\nfn f(a: f32[3], b: f32[4]) -> f32 = dot(\n    a,\n" +
			"    b)\n", `
error[E0209]: shape parameter ` + "`N` of `dot`" + ` is both 3 and 4
  --> test.heal:4:5
   |
 4 |     b)
   |     ^ f32[4]
  ::: test.heal:3:5
   |
 3 |     a,
   |     ^ f32[3]: N is 3
   |
   = [3]
   = [4]
   =  ^ 3 and 4 differ
   = fn dot[N](x: f32[N], y: f32[N]) -> f32
`},
		{"fn f(a: f32[2, 3], b: f32[3]) -> f32[2, 3] = a + b\n", `
error[E0204]: ` + "`+`" + ` takes operands of one shape
  --> test.heal:1:46
   |
 1 | fn f(a: f32[2, 3], b: f32[3]) -> f32[2, 3] = a + b
   |                                              ^^^^^ f32[2, 3] + f32[3]
   |
   = [2, 3]
   =    [3]
   =  ^ the ranks are 2 and 1
   = help: write ` + "`.+`" + ` to broadcast
`},
	}
	for _, test := range tests {
		_, errs := compile(t, test.source)
		if len(errs.Items) != 1 {
			t.Errorf("%d errors for\n%s%v", len(errs.Items), test.source, errs)
			continue
		}
		if got := diag.Render(errs.Items[0], false); got != strings.TrimPrefix(test.want, "\n") {
			t.Errorf("got\n%s\nwant%s", got, test.want)
		}
	}
}

// TestHelp checks the hints that name the fix.
func TestHelp(t *testing.T) {
	tests := []struct{ source, want string }{
		{"fn f(x: f32, n: i32) -> f32 = x * n", "write `n as f32`"},
		{"fn f(x: f64, n: f32) -> f64 = (n + 1) * x", "write `(n + 1) as f64`"},
		{"fn f(x: i32) -> f32 = x", "convert it: `x as f32`"},
		{"fn f(value: f32) -> f32 = vaule", "did you mean `value`?"},
		{"fn f(x: f32) -> f32 = sqtr(x)", "did you mean `sqrt`?"},
		{"fn f[Rows](x: f32[Row]) -> i32 = 0", "did you mean `Rows`?"},
		{"fn f(x: f32[K]) -> i32 = 0", "declare it: `fn f[K](...)`"},
		{"fn f(x: f32[M, N]) -> f32[M, K] = x", "declare them: `fn f[M, N, K](...)`"},
		{"fn f(x: f32[4, 4]) -> f32[4, 4] = mm(x, x)", "write `x @ y`"},
		{"fn f(x: f32) -> f32 = { y = x * 2; y }", "declare it: `let y = e;`, or `let mut y = e;` if it changes"},
		{"fn f(x: f32) -> f32 = { let mut sum = x; sun = x * 2; sum }", "did you mean `sum`?"},
		{"fn f(x: f32[4]): f32[4] = x", "the type of the result stands after `->`"},
		{"fn f(sum: f32[3]) -> f32 = sum(sum)", "the value hides the function `sum`: give it another name"},
		{"fn f(x: f32[3]) -> f32[3] = map(f = |v| v, x)", "it takes any number of arguments, and none by its name"},
		{"fn f(x: [3]f32) -> f32 = 1", "the type of a tensor is written `f32[2, N]`"},
		{"fn f(x: f32) -> [f32; 3] = x", "the type of a tensor is written `f32[2, N]`"},
		{"entry main(x: i32) -> i32 = x",
			"a function that is called from outside is declared by `pub fn name(x: f32) -> f32 = e`"},
		{"let f (x: f32): f32 = x", "a function is declared by `fn name(x: f32) -> f32 = e`"},
		{"let n = 3", "a constant of the file is declared by `const N: nat = 1`"},
		{"fn f(x: f32) -> f32 = if x > 0 x else 0.0", "what follows stands in braces: `{ e }`"},
		{"use nn", "a module is imported by `import nn`, a file by `import \"./name\"`"},
		{"fn f(x: f32) -> f32 { x; }", "leave out the last `;`: a block that ends in `;` has the value unit"},
		{"fn f(x: f32[3]) -> f32 = x(0)", "index it with brackets: `x[i]`"},
		{"fn f[N](x: i32[4]) -> i32 = 0\nfn g(x: i32[4]) -> i32 = f(x)", "give it in the call: `f[N](...)`"},
		{"@kernal fn f(x: f32) -> f32 = x", "did you mean `@kernel`?"},
		{"fn f(x: i32) -> i32 = { assert(x > 0); x }",
			"what a function asks of its arguments is `require(x, ok, \"message\")`, which has no effect"},
		{"fn f(x: f32) -> f32 = print_f32(x)", "write `@io fn f`, or leave out the input or output"},
		{"fn f(a: bool[2], b: bool[2]) -> bool[2] = a && b", "write `.&&` for element by element"},
		{"fn f(x: f32[3]) -> f32 = x.sum()", "a function stands before its arguments: `sum(x)`"},
		{"fn f(x: f32[3]) -> f32[3] = x.clip(0, 1)", "write `clamp(x, 0.0, 1.0)`"},
		{"fn f(x: f32[3]) -> f32 = sum(x, dim = 0)", "write `axis = ...`"},
		{"fn f(a: i64, b: i64) -> i64 = modadd(a, b, 17)", "write `modsum(a, b, p)`"},
		{"fn f(x: f32[2, 3]) -> f32[3, 2] = x.T", "write `transpose(x)`"},
		{"fn f(x: f32[3]) -> f32[3] = np.exp(x)", "`exp` is a function of the language: write `exp(...)`"},
		{"fn f(x: f32[3]) -> f32[3] = net.act(x)",
			"write `import \"./net\"` at the top of the file, if it is a file beside this one"},
		{"fn f(x: float) -> f32 = x",
			"write `f32`; a parameter for every such type is declared by `fn f[T: float](x: T)`"},
		{"fn f(x: double) -> f32 = x", "write `f64`"},
		{"fn f(x: f32) -> i32 = int(x)", "`x as i32` converts"},
		{"fn f() -> bool = True", "write `true`"},
		{"const N = 3", "a type stands after the name: `N: nat =`"},
		{"fn f(x) -> f32 = x", "a type stands after the name: `x: f32`"},
		{"fn f(x: f32[3] -> f32 = x[0]", ""},
		{"fn f(x: f32[2, 3]) -> f32[2] = x[:, 1]", "a slice is written `1..3`, a whole axis `..`"},
		{"fn f(x: f32[4]) -> f32[2] = x[0:2]", "a slice is written `1..3`, a whole axis `..`"},
		{"fn f(x: f32[2, 3]) -> f32[2] = max(x, axis = 1)",
			"`max/(x)` is that of all elements of x, `max/[axis=1](x)` that along an axis"},
		{"fn f(x: f32[2, 3]) -> f32 = min(x)",
			"`min/(x)` is that of all elements of x, `min/[axis=1](x)` that along an axis"},
		{"fn f(a: f32[2, 3], b: f32[2, 3]) -> f32[2, 2] = a @ b",
			"the other axis of the right operand fits: write `@ transpose(...)`"},
	}
	for _, test := range tests {
		_, errs := compile(t, test.source)
		if len(errs.Items) == 0 || errs.Items[0].Help != test.want {
			t.Errorf("%s\ngives %v\nwant help %s", test.source, errs, test.want)
		}
	}
}

// TestMissingDims checks that shape parameters that the head of a function lacks are reported once, and do not make it
// fail elsewhere.
func TestMissingDims(t *testing.T) {
	for source, want := range map[string]int{
		"fn f(x: f32[M, N], y: f32[N, M]) -> f32[M, M] = x @ y":        1,
		"fn f(x: f32[M], y: f32[M]) -> f32[M] = x + y":                 1,
		"fn f(x: f32[M], y: f32[N]) -> f32[M] = x + y":                 2, // the shapes differ, whatever they are
		"fn f(x: f32[M]) -> f32[M] = x\nfn g(x: f32[M]) -> f32[M] = x": 2,
	} {
		if p, errs := compile(t, source); len(errs.Items) != want || p.Func("f") != nil {
			t.Errorf("%s\ngives %v", source, errs)
		}
	}
}

// TestMainFunction runs the search for the function that a program starts with.
func TestMainFunction(t *testing.T) {
	tests := []struct{ source, want string }{
		{"fn main() -> i32 = 0", ""},
		{"fn main() -> u8 = 0", ""},
		{"fn main() -> bool = true", ""},
		{"fn main() { 1; }", ""},
		{"fn f() -> i32 = 0", "there is no function `main` in test.heal"},
		{"fn main(x: i32) -> i32 = x", "`main` takes no parameters"},
		{"fn main() -> f32 = 0.0", "`main` returns an integer, bool or unit, not f32"},
	}
	for _, test := range tests {
		p, errs := compile(t, test.source)
		if errs.HasErrors() {
			t.Fatal(errs)
		}
		f, d := p.Main()
		switch {
		case test.want == "" && (f == nil || d != nil && d.Message != ""):
			t.Errorf("%s: %v", test.source, d)
		case test.want != "" && (d == nil || d.Message != test.want || d.Code != diag.CodeMain):
			t.Errorf("%s: got %v, want %s", test.source, d, test.want)
		}
	}
}

// TestFailedFunctions checks that a program keeps the functions without errors.
func TestFailedFunctions(t *testing.T) {
	p, errs := compile(t, "fn good(x: f32) -> f32 = x\nfn wrong(x: f32) -> i32 = x\nfn fine(x: f32) -> f32 = good(x)\n")
	if len(errs.Items) != 1 || p.Func("good") == nil || p.Func("fine") == nil || p.Func("wrong") != nil {
		t.Errorf("got %v and %v", p.Funcs, errs)
	}
}

// TestCheckExpr types values of the command line.
func TestCheckExpr(t *testing.T) {
	n := types.Param("N")
	tests := []struct {
		text string
		want types.Type
		out  string // the value, or a part of the error
		code diag.Code
	}{
		{"3", types.Scalar(types.F32), "f32 3.0", ""},
		{"[1, 2.5]", types.Tensor{Elem: types.F64, Shape: types.Shape{n}}, "f64[2] [1.0, 2.5]", ""},
		{"[[1, 2], [3, -4]]", types.Of(types.I8, 2, 2), "i8[2, 2] [1, 2, 3, -4]", ""},
		{"1.0 / 4.0", nil, "f32 0.25", ""},
		{"\"path\"", types.Scalar(types.String), "string \"path\"", ""},
		{"2 * (3 + 4)", nil, "i32 14", ""},
		{"[1, 2, 3]", types.Of(types.F32, 2), "the value has to be f32[2], not f32[3]", diag.CodeMismatch},
		{"1", types.Of(types.F32, 2), "the value has to be f32[2], not f32", diag.CodeMismatch},
		{"300", types.Scalar(types.U8), "300 does not fit u8", diag.CodeLiteral},
		{"x + 1", types.Scalar(types.F32), "unknown name `x`", diag.CodeUnknownName},
		{"0..3", nil, "the value is not a constant", diag.CodeNotConstant},
		{"print_i32(1)", nil, "cannot do input or output", diag.CodeNotConstant},
	}
	for _, test := range tests {
		src := diag.NewFile("--in x", "fn value() = "+test.text)
		file, errs := parser.Parse(src)
		if errs.HasErrors() {
			t.Fatal(errs)
		}
		v, list := check.CheckExpr(src, file.Decls[0].(*ast.FuncDecl).Body, test.want)
		if test.code != "" {
			if v != nil || len(list.Items) != 1 || list.Items[0].Code != test.code ||
				!strings.Contains(list.Items[0].Message, test.out) {
				t.Errorf("%s: got %v, want %s %s", test.text, list, test.code, test.out)
			}
			continue
		}
		if list.HasErrors() || show(v) != test.out {
			t.Errorf("%s: got %s %v, want %s", test.text, show(v), list, test.out)
		}
	}
}

// show prints an array as "type value".
func show(a *ir.Array) string {
	if a == nil {
		return "nothing"
	}
	var b bytes.Buffer
	p := &tree.Program{Funcs: []*tree.Func{{Name: "f", Result: types.Unit,
		Body: &tree.Const{Info: tree.Info{T: a.Type()}, Value: a}}}}
	if err := tree.Dump(&b, p); err != nil {
		return err.Error()
	}
	text := strings.TrimSpace(strings.SplitN(b.String(), "\n", 2)[1])
	i := strings.LastIndex(text, ": ")
	return text[i+2:] + " " + text[:i]
}

// TestOperationExamples types the example of every operation of the table.
func TestOperationExamples(t *testing.T) {
	for _, x := range ir.Examples() {
		if p, errs := compile(t, x.Program()); len(errs.Items) > 0 || p.Func("example") == nil {
			t.Errorf("%s: %s\n%v", x.Op.Name, x.Expr, errs)
		}
	}
}

// TestSharded: a program knows whether its source says something to ranks.
func TestSharded(t *testing.T) {
	for source, want := range map[string]bool{
		"fn f(x: f32[2]) -> f32[2] = x":                                             false,
		"fn f(x: f32[2] on device) -> f32[2] on device = x":                         false,
		"fn replicate(n: i32) -> i32 = n\nfn f(n: i32) -> i32 = replicate(n)":       false,
		"fn f(x: f32[2] sharded(0)) -> i32 = 0":                                     true,
		"fn f(x: f32[2]) -> f32[2] sharded(0) = x":                                  true,
		"fn f(x: f32[2]) -> i32 = { let _y: (i32, f32[2] sharded(0)) = (1, x); 0 }": true,
		"fn f[T: num, N](x: T[N] sharded(0)) -> T[N] = replicate(x)":                true,
		"fn f(x: f32[2]) -> f32[2] = replicate(x)":                                  true,
		"fn f(x: f32[2]) -> f32[2] = map(|a| a + 1.0, reshard(x, 0))":               true,
	} {
		p, errs := compile(t, source)
		if errs.HasErrors() {
			t.Fatalf("%s\n%v", source, errs)
		}
		if p.Sharded != want {
			t.Errorf("%s\nSharded is %v", source, p.Sharded)
		}
	}
}
