package infer

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Pointwise is an element-wise function of typed arguments, which broadcast.
func (c *Checker) Pointwise(at diag.Span, op *ir.OpDef, args []tree.Expr) tree.Expr {
	shape := types.Shape{}
	for i, a := range args {
		if tree.IsBad(a) {
			return tree.Bad(at)
		}
		t, ok := a.Type().(types.Tensor)
		if !ok {
			c.Errorf(diag.CodeOperands, a.Span(), "%s takes tensors or scalars, not %s", scope.Spelled(op),
				a.Type()).Label("%s", a.Type())
			return tree.Bad(at)
		}
		if first := types.ElemOf(args[0].Type()); t.Elem != first && op != ops.Select {
			c.Differ(a.Span(), scope.Spelled(op), args[0], a, func(d types.DType) bool {
				_, err := op.Infer(slices.Repeat([]types.Tensor{types.Scalar(d)}, len(args)), nil, nil)
				return err == nil
			}).Label("%s", a.Type()).Related(args[0].Span(), "%s", args[0].Type())
			return tree.Bad(at)
		}
		next, err := types.Broadcast(shape, t.Shape)
		if err != nil {
			c.Rule(diag.CodeNotBroadcastable, at, err).Label("%s", scope.TypeList(args[:i+1]))
			return tree.Bad(at)
		}
		shape = next
	}
	out := make([]tree.Expr, len(args))
	for i, a := range args {
		out[i] = c.Broadcast(a, shape)
	}
	return c.Apply(at, op, nil, out...)
}
