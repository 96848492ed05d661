package check

import (
	"testing"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/parser"
)

// body parses an expression.
func body(t *testing.T, text string) ast.Expr {
	file, list := parser.Parse(diag.NewFile("test.heal", "fn f(x: f32[4, 4]) -> f32 = "+text+"\n"))
	if list.HasErrors() {
		t.Fatal(list)
	}
	return file.Decls[0].(*ast.FuncDecl).Body
}

// TestForms checks that the examples of a form are typed by it, and by no other.
func TestForms(t *testing.T) {
	for _, of := range forms {
		for _, text := range of.Examples {
			for _, f := range forms {
				if got := f.Typed(newRun(nil, nil).Checker, body(t, text), nil) != nil; got != (f.Name == of.Name) {
					t.Errorf("%s: typed as %s: %t", text, f.Name, got)
				}
			}
		}
	}
	for _, f := range transforms {
		for _, text := range f.Examples {
			if got, ok := f.Read(newRun(nil, nil).Checker, body(t, text)); got == nil || !ok {
				t.Errorf("%s is not read as %s", text, f.Name)
			}
		}
	}
}
