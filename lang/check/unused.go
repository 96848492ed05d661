package check

import (
	"strings"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/names"
)

// Unused warns of what a file declares and never reads: variables, functions that nothing outside can call, imports.
// A name that begins with `_` is meant to be so, and parameters are part of a contract. Where a file has neither
// public functions nor `main`, all of its functions can be called from outside.
func Unused(file *ast.File) []*diag.Diagnostic {
	table := names.Of(file)
	read := map[ast.Pattern]bool{} // the names of its parts say what the value of a pattern is
	outside := false
	for _, s := range table.Symbols {
		read[s.Pattern] = read[s.Pattern] || s.Read()
		f, ok := s.Node.(*ast.FuncDecl)
		outside = outside || s.Kind == names.Function && ok && isOutside(f)
	}
	list := &diag.List{}
	warn := func(s *names.Symbol, what, help string) {
		if s.Name == "" || strings.HasPrefix(s.Name, "_") {
			return
		}
		d := &diag.Diagnostic{Code: diag.CodeUnused, Severity: diag.Warning,
			Message: what + " `" + s.Name + "` is never used", Primary: diag.Label{Span: s.Decl}, Help: help}
		if s.Kind == names.Variable {
			d.Fix = &diag.Fix{Span: s.Decl, Text: "_" + s.Name}
		}
		list.Add(d)
	}
	for _, s := range table.Symbols {
		switch s.Kind {
		case names.Variable:
			if !read[s.Pattern] {
				warn(s, "variable", "leave it out, or call it `_"+s.Name+"`")
			}
		case names.Function:
			if f := s.Node.(*ast.FuncDecl); outside && !isOutside(f) && !elsewhere(s) {
				warn(s, "function", "declare it `pub fn "+s.Name+"` if others call it, or leave it out")
			}
		case names.Module:
			if !s.Read() {
				warn(s, "module", "leave out the import")
			}
		}
	}
	list.Sort()
	return list.Items
}

func isOutside(f *ast.FuncDecl) bool { return f.Pub || f.Name.Name == "main" }

// elsewhere reports that another declaration names a function.
func elsewhere(s *names.Symbol) bool {
	for _, u := range s.Uses {
		if u.In != s.Node {
			return true
		}
	}
	return false
}
