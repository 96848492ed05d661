package check

import (
	"math"

	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// lenCall is `len(s)`, the bytes of a string.
func (c *checker) lenCall(e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x := c.expr(args[0], nil)
	if tree.IsBad(x) {
		return tree.Bad(e.Loc)
	}
	if t, ok := x.Type().(types.Tensor); !ok || t.Elem != types.String {
		r := c.errorf(diag.CodeOperands, x.Span(), "`len` takes a string, not %s", x.Type()).Label("%s", x.Type())
		if ok && t.Rank() > 0 {
			r.Help("the extents of a tensor are part of its type: here the first is `%s`", t.Shape[0])
		}
		return tree.Bad(e.Loc)
	}
	if k, ok := x.(*tree.Const); ok {
		return tree.ScalarConst(types.I32, uint64(min(len(k.Value.Str), math.MaxInt32)), e.Loc)
	}
	return c.apply(e.Loc, ops.StrLen, nil, x)
}

// stringBinary is an operator between strings: `++` and the comparisons.
func (c *checker) stringBinary(at diag.Span, op string, x, y tree.Expr) tree.Expr {
	for _, s := range []tree.Expr{x, y} {
		if types.ElemOf(s.Type()) != types.String {
			r := c.errorf(diag.CodeOperands, at, "`%s` on a string takes two strings, not %s and %s", op, x.Type(),
				y.Type()).
				Label("%s %s %s", x.Type(), op, y.Type())
			if op == "++" && types.ElemOf(x.Type()) != types.String && types.ElemOf(y.Type()) != types.String {
				r.Help("`concat((a, b), axis)` joins tensors")
			}
			return tree.Bad(at)
		}
	}
	not := func(e tree.Expr) tree.Expr { return c.apply(at, ops.Not, nil, e) }
	switch op {
	case "++":
		a, ok1 := x.(*tree.Const)
		b, ok2 := y.(*tree.Const)
		if ok1 && ok2 {
			return tree.StringConst(a.Value.Str+b.Value.Str, at)
		}
		return c.apply(at, ops.StrConcat, nil, x, y)
	case "==":
		return c.apply(at, ops.StrEq, nil, x, y)
	case "!=":
		return not(c.apply(at, ops.StrEq, nil, x, y))
	case "<":
		return c.apply(at, ops.StrLt, nil, x, y)
	case ">":
		return c.apply(at, ops.StrLt, nil, y, x)
	case "<=":
		return not(c.apply(at, ops.StrLt, nil, y, x))
	case ">=":
		return not(c.apply(at, ops.StrLt, nil, x, y))
	}
	r := c.errorf(diag.CodeOperands, at, "`%s` does not take strings", op).Label("%s %s %s", x.Type(), op, y.Type())
	if r.Help("strings have `++`, `len` and the comparisons"); op == "+" {
		r.Help("`++` joins strings")
	}
	return tree.Bad(at)
}
