package infer

import (
	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Name is a name used as a value.
func (c *Checker) Name(e *ast.Name) tree.Expr {
	if l := c.Locals[e.Name]; l != nil {
		return tree.NewUse(l, e.Loc)
	}
	if c.IsDim(e.Name) {
		return c.DimValue(types.Param(e.Name), e.Loc)
	}
	if k := c.Consts[e.Name]; k != nil {
		return c.constantUse(k, e.Loc)
	}
	if c.IsFunction(e.Name) {
		r := c.Errorf(diag.CodeFunctionValue, e.Loc, "%s is a function, not a value", report.Quote(e.Name))
		r.Help("call it: `%s(...)`", e.Name)
		return tree.Bad(e.Loc)
	}
	return c.Unknown(e.Loc, e.Name)
}
