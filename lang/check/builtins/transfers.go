package builtins

import (
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// placeFunctions are the functions that copy between places.
func placeFunctions() map[string]*infer.Builtin {
	to := func(place types.Place) *infer.Builtin {
		return &infer.Builtin{Params: []string{"x"}, Required: 1,
			Build: func(c *infer.Checker, e *ast.Call, args []ast.Expr,
				want types.Type) tree.Expr {
				x := c.Expr(args[0], want)
				if tree.IsBad(x) {
					return tree.Bad(e.Loc)
				}
				if t, ok := x.Type().(types.Tensor); !ok || t.IsScalar() {
					c.Errorf(diag.CodePlace, x.Span(), "`to_%s` takes a tensor, not %s", place, x.Type()).Label("%s",
						x.Type()).
						Help("a scalar has no place: it goes with tensors of every place")
					return tree.Bad(e.Loc)
				}
				c.Placed = c.Placed || place != types.OnHost
				return &tree.Move{Info: tree.Of(x.Type(), e.Loc), X: x, To: place}
			}}
	}
	return map[string]*infer.Builtin{"to_host": to(types.OnHost), "to_device": to(types.OnDevice),
		"to_unified": to(types.OnUnified)}
}
