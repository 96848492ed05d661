package format

import (
	"strings"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/lang/parser"
)

// Source returns f in the one formatting. A file that does not parse gives the errors and no text.
func Source(f *diag.File) (string, *diag.List) {
	tree, list := parser.Parse(f)
	if list.HasErrors() {
		return "", list
	}
	tokens, _, _ := lexer.Tokens(f)
	w := &weaver{file: f, tokens: tokens, comments: tree.Comments}
	for i, d := range tree.Decls {
		w.itemLine(i == 0 && len(tree.Comments) == 0)
		w.decl(d)
	}
	w.itemLine(len(tree.Decls) == 0 && len(tree.Comments) == 0)
	w.ops = w.ops[:len(w.ops)-1] // the new line that render adds
	text := render(w.ops)
	// Users let this write their files: what it would change is a bug that must not reach the disk.
	again, errs := parser.Parse(diag.NewFile(f.Name, text))
	if errs.HasErrors() || !ast.Equal(tree, again) || !sameComments(tree.Comments, again.Comments) {
		panic("BUG: formatting would change the program " + f.Name + ":\n" + text)
	}
	return text, list
}

// sameComments reports whether the comments are the same, blanks at the ends of their lines aside.
func sameComments(a, b []*ast.Comment) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := strings.Split(a[i].Text, "\n"), strings.Split(b[i].Text, "\n")
		if len(x) != len(y) {
			return false
		}
		for j := range x {
			if strings.TrimRight(x[j], " \t\r") != strings.TrimRight(y[j], " \t\r") {
				return false
			}
		}
	}
	return true
}
