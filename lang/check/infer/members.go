package infer

import (
	"fmt"

	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// memberValue is `m.name` used as a value.
func (c *Checker) memberValue(e *ast.Member) tree.Expr {
	f, k := c.Member(e)
	switch {
	case f != nil:
		name := e.Module.Name + "." + e.Name.Name
		r := c.Errorf(diag.CodeFunctionValue, e.Loc, "%s is a function, not a value", report.Quote(name))
		if r.Help("call it: `%s(...)`", name); len(f.Decl.Params) == 2 {
			r.Help("call it: `%s(...)`; a fold with it is written `(|a, b| %s(a, b))/v`", name, name)
		}
		return tree.Bad(e.Loc)
	case k == nil:
		return tree.Bad(e.Loc)
	}
	return c.constantUse(k, e.Loc)
}

// constantUse is the value of a constant where it is used.
func (c *Checker) constantUse(k *scope.Const, at diag.Span) tree.Expr {
	c.Constant(k)
	if k.Value == nil {
		c.Cur.Failed = true
		return tree.Bad(at)
	}
	return tree.NewConst(k.Value, at)
}

// tryDimConst is a constant in a shape expression; name is how it is written.
func (c *Checker) tryDimConst(k *scope.Const, name string, at diag.Span) (types.Dim, *unify.Problem) {
	c.Constant(k)
	if k.Value == nil {
		return types.Dim{}, &unify.Problem{Bad: true}
	}
	n, ok := intValue(k.Value)
	if !ok {
		return types.Dim{}, &unify.Problem{Code: diag.CodeShapeExpr, At: at,
			Msg: fmt.Sprintf("constant %s is %s, not an integer", report.Quote(name), k.Value.Type())}
	}
	return types.Lit(n), nil
}

// tryDimMember is `m.N` in a shape expression.
func (c *Checker) tryDimMember(e *ast.Member) (types.Dim, *unify.Problem) {
	f, k := c.Member(e)
	name := e.Module.Name + "." + e.Name.Name
	switch {
	case f != nil:
		return types.Dim{}, &unify.Problem{Code: diag.CodeShapeExpr, At: e.Loc, Msg: report.Quote(name) +
			" is a function, not a shape expression"}
	case k == nil:
		return types.Dim{}, &unify.Problem{Bad: true}
	}
	return c.tryDimConst(k, name, e.Loc)
}
