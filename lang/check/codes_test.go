package check_test

import (
	"strings"
	"testing"

	"healc/lang/check"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/parser"
)

// compile parses and checks a source. Errors of the parser come first, and the checker runs all the same.
func compile(t testing.TB, source string) (*tree.Program, *diag.List) {
	t.Helper()
	file, errs := parser.Parse(diag.NewFile("test.heal", source))
	if file == nil {
		return &tree.Program{}, errs
	}
	p, more := check.Check(file)
	all := &diag.List{Items: append(append([]*diag.Diagnostic{}, errs.Items...), more.Items...)}
	return p, all
}

// TestCodes compiles the example of every code that the checker gives: it gives that code and no other,
// and the fixed program gives none.
func TestCodes(t *testing.T) {
	for _, e := range diag.Entries() {
		if !strings.HasPrefix(string(e.Code), "E02") && !strings.HasPrefix(string(e.Code), "E03") &&
			!strings.HasPrefix(string(e.Code), "E05") {
			continue
		}
		if e.Runtime || e.Extern != "" {
			continue // shown by a run, not by the checker
		}
		t.Run(string(e.Code), func(t *testing.T) {
			_, errs := compile(t, e.Example)
			if !errs.HasErrors() {
				t.Fatalf("the example compiles:\n%s", e.Example)
			}
			for _, d := range errs.Items {
				if d.Code != e.Code {
					t.Errorf("the example gives %s:\n%s", d.Code, diag.Render(d, false))
				}
			}
			if e.Fixed == "" {
				t.Fatal("there is no fixed program")
			}
			if _, errs := compile(t, e.Fixed); len(errs.Items) > 0 {
				t.Errorf("the fixed program does not compile:\n%v", errs)
			}
		})
	}
}
