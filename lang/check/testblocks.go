package check

import (
	"fmt"
	"strconv"

	"healc/lang/ast"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// declareTest makes the function of a test block.
func (c *run) declareTest(m *scope.Module, d *ast.TestDecl, places map[string]diag.Span) {
	if first, dup := places[d.Name]; dup {
		c.Errorf(diag.CodeDuplicate, d.Loc, "test %s is declared twice", strconv.Quote(d.Name)).Related(first,
			"first declared here")
	}
	places[d.Name] = d.Loc
	at := diag.Span{File: d.Loc.File, Start: d.Loc.Start, End: d.Loc.Start + len("test")}
	id := ast.Ident{At: ast.At{Loc: at}, Name: "test " + strconv.Quote(d.Name)}
	decl := &ast.FuncDecl{At: d.At, Name: id, Body: d.Body}
	if d.Body == nil {
		decl.Body = &ast.BadExpr{At: d.At}
	}
	f := &scope.Func{Decl: decl, Pos: len(m.Order) + len(m.Tests), Module: m, Tree: &tree.Func{
		Name: fmt.Sprintf("%stest.%d", m.Link, len(m.Tests)+1), Shown: id.Name, IO: true, Result: types.Unit,
		Declared: types.Unit, Loc: at, Decl: decl,
	}}
	m.Tests = append(m.Tests, &scope.Test{Name: d.Name, Func: f})
}
