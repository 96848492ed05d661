package growth

import (
	"fmt"
	"strings"
)

// Stage is how far programs of a family go.
type Stage string

// The stages. Each has those before it.
const (
	Check  Stage = "check"  // to the typed program and the warnings
	Code   Stage = "code"   // to the LLVM IR of the function f
	Format Stage = "format" // the formatted text, after parsing alone
	Run    Stage = "run"    // to the kernels of f, which has no parameters, and the end of them
)

// A Family has a program of each size. N is the least of the sizes that are compared, N, 2N and 4N.
type Family struct {
	Name   string
	Stage  Stage
	N      int
	Source func(n int) string
}

// Families are what programs are made of, one after the other and one in the other.
var Families = []Family{
	{"lets", Check, 400, func(n int) string {
		return "fn f(x: i32) -> i32 = {\nlet y0 = x;\n" + lines(n, "let y%[2]d = y%[1]d + 1;\n") + last("y%d }", n)
	}},
	{"unused variables", Check, 400, func(n int) string {
		return "fn f(x: i32) -> i32 = {\n" + lines(n, "let y%d = x;\n") + "x }"
	}},
	{"unused functions", Check, 400, func(n int) string {
		return "pub fn f(x: i32) -> i32 = x\n" + lines(n, "fn f%d(x: i32) -> i32 = x\n")
	}},
	{"operators", Check, 400, func(n int) string { return "fn f(x: f64) -> f64 = x" + strings.Repeat(" + x", n) }},
	{"else ifs", Check, 200, func(n int) string {
		return "fn f(x: i32) -> i32 = " + lines(n, "if x == %d { 1 } else ") + "{ 0 }"
	}},
	{"parentheses", Check, 100, func(n int) string {
		return "fn f(x: i32) -> i32 = " + strings.Repeat("(", n) + "x" + strings.Repeat(")", n)
	}},
	{"blocks", Check, 50, func(n int) string {
		return "fn f(x: i32) -> i32 = " + strings.Repeat("{ let x = x + 1; ", n) + "x" + strings.Repeat(" }", n)
	}},
	{"lambdas", Check, 25, func(n int) string {
		return "fn f(x: f32[4]) -> f32[4] = " + strings.Repeat("map(|v| v + +/(", n) + "x" + strings.Repeat("), x)", n)
	}},
	{"functions", Check, 400, func(n int) string {
		return "fn f0(x: i32) -> i32 = x\n" + lines(n, "fn f%[2]d(x: i32) -> i32 = f%[1]d(x)\n")
	}},
	{"loops over parts of ranks", Check, 25, func(n int) string {
		return "fn f(x: f32[8] sharded(0)) -> f32[8] sharded(0) = " + strings.Repeat("iterate(3, x, |x| ", n) +
			"x .* 2.0" + strings.Repeat(")", n)
	}},
	{"functions of parts of ranks", Check, 100, func(n int) string {
		return "fn f0(x: f32[8] sharded(0)) -> f32[8] sharded(0) = x\n" +
			lines(n, "fn f%[2]d(x: f32[8] sharded(0)) -> f32[8] sharded(0) = f%[1]d(x) + x\n")
	}},
	{"type parameters", Check, 100, func(n int) string {
		return "fn f0[T: num](x: T) -> T = x\n" + lines(n, "fn f%[2]d[T: num](x: T) -> T = f%[1]d(x) + x\n") +
			last("fn f(x: f32) -> f32 = f%d(x)", n)
	}},
	{"parameters", Check, 200, func(n int) string {
		return "fn f(" + lines(n, "x%d: i32, ") + ") -> i32 = 0\n" +
			"fn g(y: i32) -> i32 = f(" + strings.Repeat("y, ", n) + ")"
	}},
	{"shape parameters", Check, 100, func(n int) string {
		return "fn f[" + lines(n, "N%d, ") + "](" + lines(n, "x%[1]d: f32[N%[1]d], ") + ") -> i32 = 0"
	}},
	{"tests", Check, 200, func(n int) string { return lines(n, "test \"t%[1]d\" { assert(%[1]d == %[1]d); }\n") }},
	{"literal", Check, 4000, func(n int) string {
		return "fn f() -> f32[" + fmt.Sprint(n) + "] = [" + strings.Repeat("1.5, ", n) + "]"
	}},
	{"string", Check, 20000, func(n int) string { return "fn f() -> string = \"" + strings.Repeat("a\\n", n) + "\"" }},
	{"comments", Check, 4000, func(n int) string { return strings.Repeat("# a\n", n) + "fn f() -> i32 = 1\n" }},
	{"imports", Check, 50, func(n int) string {
		return lines(n, "import \"./d%[1]d/a\" as a%[1]d\n") + "fn f() -> i32 = a0.g()"
	}},
	{"constants", Check, 400, func(n int) string {
		return "const C0: i64 = 1\n" + lines(n, "const C%[2]d: i64 = C%[1]d + 1\n")
	}},
	{"errors", Check, 400, func(n int) string {
		return "fn f(x: i32) -> i32 = {\n" + lines(n, "let a%d = x + 1.5;\n") + "x }"
	}},
	{"axes", Check, 2000, func(n int) string { return "fn f(x: f32[" + strings.Repeat("1, ", n) + "]) -> i32 = 0" }},
	{"derivative of a chain", Check, 100, func(n int) string {
		return "fn g(x: f32) -> f32 = {\nlet y = x;\n" + strings.Repeat("let y = y * x;\n", n) +
			"y }\nfn f(x: f32) -> f32 = grad(g)(x)"
	}},
	{"formatted operators", Format, 400, func(n int) string {
		return "fn f(x: f64) -> f64 = x" + strings.Repeat(" + x", n)
	}},
	{"formatted arguments", Format, 400, func(n int) string {
		return "fn f() -> i32 = g(" + lines(n, "argument%d, ") + ")"
	}},

	{"elements", Code, 100, func(n int) string {
		return "fn f(x: f32[8]) -> f32[8] = {\nlet y = x;\n" + strings.Repeat("let y = y .* x .+ sqrt(y);\n", n) + "y }"
	}},
	{"products", Code, 20, func(n int) string {
		return "fn f(x: f32[100, 100]) -> f32[100, 100] = x" + strings.Repeat(" @ x", n)
	}},
	{"reductions", Code, 25, func(n int) string {
		return "fn f(x: f32[100]) -> f32 = {\nlet y = 0.0;\n" + lines(n, "let y = y + +/(x .* %d.0);\n") + "y }"
	}},
	{"scans", Code, 25, func(n int) string {
		return "fn f(x: f32[10]) -> f32[10] = " + strings.Repeat("cumsum(", n) + "x" + strings.Repeat(")", n)
	}},
	{"a sort in recursion", Run, 150, func(n int) string {
		return "fn r(k: i32) -> i32 = if k > 5 { r(k - 1) } else { sort(tabulate(" + fmt.Sprint(n) +
			", |i| i * 79 % 107))[k] }\nfn f() -> i32 = r(7)"
	}},
	{"sorts", Code, 25, func(n int) string {
		return "fn f(x: f32[100]) -> f32[100] = " + strings.Repeat("sort(", n) + "x" + strings.Repeat(")", n)
	}},
	{"results", Code, 16, func(n int) string {
		return "fn f(x: f32[8]) -> (" + strings.Repeat("f32[8], ", n) + ") = (" + lines(n, "x .+ %d.0, ") + ")"
	}},
	{"any shape", Code, 10, func(n int) string {
		return "fn f[N](x: f32[N]) -> f32[N] = {\nlet y = x;\n" +
			lines(n, "let y = cumsum(y .* %d.0) .+ +/(y);\n") + "y }"
	}},
	{"calls", Code, 50, func(n int) string {
		return "fn f0(x: f32[8]) -> f32[8] = x\n" +
			lines(n, "fn f%[2]d(x: f32[8]) -> f32[8] = cumsum(f%[1]d(x)) .+ %[1]d.0\n") +
			last("fn f(x: f32[8]) -> f32[8] = f%d(x)", n)
	}},
	{"other functions", Code, 400, func(n int) string {
		return "fn f(x: f32[8]) -> f32[8] = x .+ 1.0\n" + lines(n, "fn f%d(x: f32[8]) -> f32[8] = x .* 2.0\n")
	}},
	{"loops", Code, 10, func(n int) string {
		return "fn f(x: f32[400]) -> f32[400] = {\nlet y = x;\n" +
			lines(n, "let y = iterate(3, y, |v| v .* x .+ %d.0);\n") + "y }"
	}},
	{"branches", Code, 20, func(n int) string {
		return "fn f(x: f32) -> f32 = {\nlet mut y = x;\n" + lines(n, "if x > %d.0 { y = y * x; }\n") + "y }"
	}},
	{"branches of tensors", Code, 20, func(n int) string {
		return "fn f(c: bool[8], x: f32[100]) -> f32[100] = {\nlet mut y = x;\n" +
			strings.Repeat("if c[3] { y = y .* x; }\nif c[4] { y = y .+ x; }\n", n) + "y }"
	}},
	{"branches of elements", Code, 10, func(n int) string {
		return "fn f(c: bool[1000], x: f32[100]) -> f32[100] = {\nlet mut y = x;\n" +
			lines(n, "if c[%[1]d] { y[%[1]d] = y[%[2]d] + 1.0; }\n") + "y }"
	}},
	{"branches of lanes", Code, 10, func(n int) string {
		return "fn f(c: bool[1000]) -> i32[50] = tabulate(50, |i| {\nlet mut y = i;\n" +
			lines(n, "if c[i + %d] { y = y + 1; } else if c[i] { y = y * 2; }\n") + "y })"
	}},
	{"chosen tensors", Code, 10, func(n int) string {
		return "fn f(x: f32[100]) -> f32[100] = {\nlet y = x;\n" +
			lines(n, "let y = if y[%d] > 0.5 { y .* x } else { y .+ x };\n") + "y }"
	}},
	{"reductions of any shape", Code, 16, func(n int) string {
		return "fn f[N](x: f32[N]) -> f32 = {\nlet y = 0.0;\n" +
			lines(n, "let y = y + +/(concat((x, x)) .* %d.0);\n") + "y }"
	}},
	{"else ifs of a kernel", Code, 50, func(n int) string {
		return "fn f(x: i32) -> i32 = " + lines(n, "if x == %[1]d { %[2]d } else ") + "{ 0 }"
	}},
	{"else ifs of tensors", Code, 25, func(n int) string {
		return "fn f(x: i32, y: f32[8]) -> f32[8] = " + lines(n, "if x == %[1]d { y .+ %[2]d.0 } else ") + "{ y }"
	}},
	{"conditions of changed elements", Code, 10, func(n int) string { return changing(n, "b[i]") }},
	{"conditions of a changed product", Code, 10, func(n int) string {
		return changing(n, "fold(m[i, j], |s, t| fma(-x[i, t], x[t, j], s), 0..64)")
	}},
	{"patterns", Code, 50, func(n int) string {
		return "fn f(x: i32) -> i32 = match x {\n" + lines(n, "%[1]d => %[2]d,\n") + "_ => 0,\n}"
	}},
	{"slices", Code, 100, func(n int) string {
		return "fn f(x: f32[4000]) -> f32[4000] = {\nlet mut y = x;\n" +
			lines(n, "y[%[1]d..%[1]d + 3] = y[%[2]d..%[2]d + 3] .+ 1.0;\n") + "y }"
	}},
	{"derivative of a derivative", Code, 10, func(n int) string {
		return "fn g(x: f32) -> f32 = {\nlet y = x;\n" + strings.Repeat("let y = y * x + sin(y);\n", n) +
			"y }\nfn f(x: f32) -> f32 = grad(grad(g))(x)"
	}},
	{"derivative of functions", Code, 50, func(n int) string {
		return "fn f0(x: f32) -> f32 = x\n" + lines(n, "fn f%[2]d(x: f32) -> f32 = f%[1]d(x) * sin(x)\n") +
			last("fn f(x: f32) -> f32 = grad(f%d)(x)", n)
	}},
	{"requirements", Code, 25, func(n int) string {
		return "fn f(x: f32[8]) -> f32[8] = {\nlet y = x;\n" +
			lines(n, "let y = require(y, y[0] > %d.0, \"no\");\n") + "y }"
	}},
	{"derivative", Code, 25, func(n int) string {
		return "fn g(x: f32[8]) -> f32 = {\nlet y = x;\n" + strings.Repeat("let y = y .* x .+ sin(y);\n", n) +
			"+/(y) }\nfn f(x: f32[8]) -> f32[8] = grad(g)(x)"
	}},
}

// Imported is what programs import, under any path.
func Imported(string) ([]byte, error) { return []byte("pub fn g() -> i32 = 1\n"), nil }

// changing is a program that changes elements of a matrix under n conditions, each of which is made of the one before,
// twice.
func changing(n int, value string) string {
	return "fn f(x: f64[64, 64], b: f64[64], at: i32[1000]) -> f64[64, 64] = {\n" +
		"let (_, r) = iterate(3, (0, x), |(n, m)| (n + 1, tabulate(64, 64, |i, j| {\nlet c = i > n;\n" +
		lines(n, "let c = (c && j > n + at[%[1]d]) || (c && i < n + at[%[2]d]);\n") +
		"where(c && i >= n, " + value + ", m[i, j])\n})));\nr }"
}

// lines is n texts, in which %d and %[1]d stand for their numbers from 0, and %[2]d for those from 1.
func lines(n int, text string) string {
	var b strings.Builder
	for i := range n {
		from0, from1 := fmt.Sprint(i), fmt.Sprint(i+1)
		b.WriteString(strings.NewReplacer("%d", from0, "%[1]d", from0, "%[2]d", from1).Replace(text))
	}
	return b.String()
}

// last is a text with the number n.
func last(format string, n int) string { return fmt.Sprintf(format, n) }
