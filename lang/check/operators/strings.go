package operators

import (
	"healc/ir/ops"
	"healc/lang/check/infer"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// stringBinary is an operator between strings: `++` and the comparisons.
func stringBinary(c *infer.Checker, at diag.Span, op string, x, y tree.Expr) tree.Expr {
	for _, s := range []tree.Expr{x, y} {
		if types.ElemOf(s.Type()) != types.String {
			r := c.Errorf(diag.CodeOperands, at, "`%s` on a string takes two strings, not %s and %s", op, x.Type(),
				y.Type()).
				Label("%s %s %s", x.Type(), op, y.Type())
			if op == "++" && types.ElemOf(x.Type()) != types.String && types.ElemOf(y.Type()) != types.String {
				r.Help("`concat((a, b), axis)` joins tensors")
			}
			return tree.Bad(at)
		}
	}
	not := func(e tree.Expr) tree.Expr { return c.Apply(at, ops.Not, nil, e) }
	switch op {
	case "++":
		a, ok1 := x.(*tree.Const)
		b, ok2 := y.(*tree.Const)
		if ok1 && ok2 {
			joined, err := types.JoinStrings(a.Value.Str, b.Value.Str)
			if err != nil {
				c.Errorf(diag.CodeTooBig, at, "%v", err)
				return tree.Bad(at)
			}
			return tree.StringConst(joined, at)
		}
		return c.Apply(at, ops.StrConcat, nil, x, y)
	case "==":
		return c.Apply(at, ops.StrEq, nil, x, y)
	case "!=":
		return not(c.Apply(at, ops.StrEq, nil, x, y))
	case "<":
		return c.Apply(at, ops.StrLt, nil, x, y)
	case ">":
		return c.Apply(at, ops.StrLt, nil, y, x)
	case "<=":
		return not(c.Apply(at, ops.StrLt, nil, y, x))
	case ">=":
		return not(c.Apply(at, ops.StrLt, nil, x, y))
	}
	r := c.Errorf(diag.CodeOperands, at, "`%s` does not take strings", op).Label("%s %s %s", x.Type(), op, y.Type())
	if r.Help("strings have `++`, `len` and the comparisons"); op == "+" {
		r.Help("`++` joins strings")
	}
	return tree.Bad(at)
}
