package check

import (
	"testing"

	"healc/lang/check/scope"
	"healc/lang/diag"
	"healc/lang/parser"
)

// TestForeignNames checks that every form that stands for a name of another language compiles, and that no name is one
// of ours.
func TestForeignNames(t *testing.T) {
	for name, form := range scope.ForeignNames {
		source :=
			"@io fn f(x: f32[4, 4], y: f32[4, 4], v: f32[4], idx: i32[4, 4], c: bool[4, 4], a: i64[4], b: i64[4], p: " +
				"i64) -> i32 = { let r = " + form + "; 0 }"
		file, errs := parser.Parse(diag.NewFile("test.heal", source))
		if !errs.HasErrors() {
			_, errs = Check(file)
		}
		if errs.HasErrors() {
			t.Errorf("%s: %s: %v", name, form, errs)
		}
		if _, ours := LookupFunction(name); ours {
			t.Errorf("%s is a function of the language", name)
		}
	}
}
