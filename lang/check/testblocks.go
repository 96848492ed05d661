package check

import (
	"fmt"
	"strconv"

	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// testInfo is a `test` block, which is checked as a function with effects that returns unit.
type testInfo struct {
	name string
	f    *funcInfo
}

// declareTest makes the function of a test block.
func (c *checker) declareTest(m *module, d *ast.TestDecl, places map[string]diag.Span) {
	if first, dup := places[d.Name]; dup {
		c.errorf(diag.CodeDuplicate, d.Loc, "test %s is declared twice", strconv.Quote(d.Name)).Related(first,
			"first declared here")
	}
	places[d.Name] = d.Loc
	at := diag.Span{File: d.Loc.File, Start: d.Loc.Start, End: d.Loc.Start + len("test")}
	id := ast.Ident{At: ast.At{Loc: at}, Name: "test " + strconv.Quote(d.Name)}
	decl := &ast.FuncDecl{At: d.At, Name: id, Body: d.Body}
	if d.Body == nil {
		decl.Body = &ast.BadExpr{At: d.At}
	}
	f := &funcInfo{decl: decl, pos: len(m.order) + len(m.tests), mod: m, fn: &tree.Func{
		Name: fmt.Sprintf("%stest.%d", m.link, len(m.tests)+1), Shown: id.Name, IO: true, Result: types.Unit,
		Declared: types.Unit, Loc: at, Decl: decl,
	}}
	m.tests = append(m.tests, &testInfo{d.Name, f})
}
