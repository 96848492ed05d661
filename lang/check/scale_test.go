package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/parser"
)

// TestScale checks that large and nested programs take time in proportion to their size, and that what
// would take more is an error. The limit is far above what any of them needs.
func TestScale(t *testing.T) {
	const limit = 20 * time.Second
	repeat := func(n int, s string) string { return strings.Repeat(s, n) }
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := []struct{ name, source, want string }{
		{"lets", "fn f(x: i32) -> i32 = {\nlet y = x;\n" + repeat(20000, "let y = y + 1;\n") + "y }", ""},
		{"returns", "fn f(x: i32) -> i32 = {\n" + lines(5000, "if x == %d { return 1; }\n") + "x }", ""},
		{"array", "fn f() -> f32[200000] = [" + repeat(199999, "1.5, ") + "2]", ""},
		{"chain", "fn f(x: f64) -> f64 = 1" + repeat(4000, " + 1 * x"), ""},
		{"literals", "fn f() -> f64 = 1" + repeat(4000, " + 1"), ""},
		{"calls", "fn f(x: i32) -> i32 = x\nfn g(x: i32) -> i32 = " + repeat(300, "f(") + "x" + repeat(300, ")"), ""},
		{"ifs", "fn f(x: i32) -> i32 = " + lines(300, "if x == %d { 1 } else ") + "{ 0 }", ""},
		{"functions", "fn f(x: i32) -> i32 = x\n" + lines(5000, "fn f%d(x: i32) -> i32 = f(x)\n"), ""},
		{"nested lambdas", "fn f() -> i32 = +/(" + repeat(60, "tabulate(1, |i| +/(") + "[1]" + repeat(60, "))") + ")",
			""},
		{"unknown names", "fn f(x: i32) -> i32 = {\n" + lines(5000, "let a = naem%d;\n") + "x }", "E0301"},
		{"tuples", "fn f(x: i32) -> i32 = {\nlet a = (x, x);\n" + repeat(60, "let a = (a, a);\n") + "x }", "E0502"},
		{"polynomial", "fn f[A, B, C, D](x: f32[" + repeat(40, "(A + B + C + D) * ") + "1]) -> i32 = 0", "E0502"},
		{"rank", "fn f(x: f32[" + repeat(5000, "1, ") + "1]) -> i32 = 0", "E0502"},
		{"reshape", "fn f() -> i32 = { let y = reshape([1.0], [" + repeat(100000, "1, ") + "1]); 0 }", "E0502"},
		{"digits", "fn f() -> i32 = 1" + repeat(1000000, "0"), "E0207"},
		{"ragged", "fn f() -> i32 = { " + repeat(60, "[") + repeat(20000, "1, ") + "[2]" + repeat(60, "]") + "; 0 }",
			"E0208"},
		{"constants", "const C0: f64 = 1\n" + lines(2000, "const C%[1]d1: f64 = C%[1]d1x + C0\n"), "E0301"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			start := time.Now()
			_, errs := compile(t, test.source)
			if d := time.Since(start); d > limit {
				t.Errorf("took %v", d)
			}
			switch {
			case test.want == "" && len(errs.Items) > 0:
				t.Errorf("does not compile: %s", errs.Items[0].Message)
			case test.want != "" && (len(errs.Items) == 0 || string(errs.Items[0].Code) != test.want):
				t.Errorf("want %s, got %d errors", test.want, len(errs.Items))
			}
			for _, d := range errs.Items {
				if len(d.Message) > 1000 {
					t.Errorf("a message of %d bytes", len(d.Message))
				}
			}
			if len(errs.Items) > 200 {
				t.Errorf("%d errors are shown", len(errs.Items))
			}
		})
	}
}

// library is a library that counts how often a module of it is read.
type library struct{ read int }

func (l *library) Modules() []string { return []string{"a", "b", "c"} }

func (l *library) Import(_ *diag.File, d *ast.ImportDecl) (*check.Imported, error) {
	l.read++
	tree, _ := parser.Parse(diag.NewFile(d.Path, "pub fn only_"+d.Path+"() -> i32 = 1\n"))
	return &check.Imported{Key: d.Path, Name: d.Path, Tree: tree, Library: true}, nil
}

// TestAdviceReadsOnce: whatever names a program has that are not declared, a module of the library is read once to look
// for them.
func TestAdviceReadsOnce(t *testing.T) {
	source := "fn f() -> i32 = {\n" + strings.Repeat("let _ = other();\n", 50) + "only_b()\n}\n"
	file, _ := parser.Parse(diag.NewFile("test.heal", source))
	l := &library{}
	_, errs := check.CheckWith(file, l)
	want := "write `import b` at the top of the file and `b.only_b`"
	if n := len(errs.Items); n != 51 || errs.Items[50].Help != want {
		t.Errorf("%d errors: %v", n, errs)
	}
	if l.read != 3 {
		t.Errorf("modules of the library are read %d times", l.read)
	}
}
