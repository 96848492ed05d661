package builtins

import (
	"math"

	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// lenCall is `len(s)`, the bytes of a string.
func lenCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x := c.Expr(args[0], nil)
	if tree.IsBad(x) {
		return tree.Bad(e.Loc)
	}
	if t, ok := x.Type().(types.Tensor); !ok || t.Elem != types.String {
		r := c.Errorf(diag.CodeOperands, x.Span(), "`len` takes a string, not %s", x.Type()).Label("%s", x.Type())
		if ok && t.Rank() > 0 {
			r.Help("the extents of a tensor are part of its type: here the first is `%s`", t.Shape[0])
		}
		return tree.Bad(e.Loc)
	}
	if k, ok := x.(*tree.Const); ok {
		return tree.ScalarConst(types.I32, uint64(min(len(k.Value.Str), math.MaxInt32)), e.Loc)
	}
	return c.Apply(e.Loc, ops.StrLen, nil, x)
}
