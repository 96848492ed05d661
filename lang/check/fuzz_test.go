package check_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/parser"
	"healc/tests/claims"
)

// FuzzCheck checks that no source makes the checker panic, also one that the parser repaired; that every
// diagnostic has a code and a place inside the source; and that what compiles can be printed.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"testdata/errors/*.heal", "testdata/types/*.heal"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds", err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	for _, e := range diag.Entries() {
		if e.Example != "" {
			f.Add(e.Example)
		}
	}
	for _, s := range []string{
		"fn f[N](x: f32[N]) -> f32 = x[..][0 .. N by -3][-1]", "const A: f32[2] = [1, 2] * 2\nfn f() -> f32 = A[0]",
		"fn f(x: i32) = { let (a, b) = (x, x) }", "fn = 1", "fn f(", "@", "fn f(x: f32[", "fn f() -> i32 = if",
		"fn f() = {let x = ; x[}",
		"fn f(t: ((), (i32, ()))) -> () = { let ((), (a, _)) = t; }", "fn f(x: f32[0]) -> f32[0, 0] = x[x as i32]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1<<14 {
			return // size is the subject of TestScale
		}
		src := diag.NewFile("fuzz.heal", source)
		file, errs := parser.Parse(src)
		if file == nil {
			return
		}
		enough := claims.Within(t, len(source), 16<<20, 10_000)
		p, list := check.Check(file)
		enough()
		for _, d := range list.Items {
			s := d.Primary.Span
			if d.Code == "" || d.Message == "" || s.Start < 0 || s.End > len(source) {
				t.Errorf("bad diagnostic %+v", d)
			}
			_ = diag.Render(d, false)
		}
		if list.HasErrors() || errs.HasErrors() {
			return
		}
		if err := tree.Dump(io.Discard, p); err != nil {
			t.Error(err)
		}
		for _, f := range file.Decls {
			if f, ok := f.(*ast.FuncDecl); ok && !generic(f) && p.Func(f.Name.Name) == nil {
				t.Errorf("function %s is missing, and there is no error", f.Name.Name)
			}
		}
	})
}

// generic reports a function with a type parameter, which is only ever compiled as an instance.
func generic(f *ast.FuncDecl) bool {
	for _, g := range f.Dims {
		if g.Bound != nil && g.Bound.Name != "nat" {
			return true
		}
	}
	return false
}
