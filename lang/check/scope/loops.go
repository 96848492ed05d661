package scope

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// OrderedCalls says that the calls of the function that is typed next have an order, until what it returns
// is called.
func (c *Scope) OrderedCalls() func() {
	if c.Lambda != c.ordered {
		return func() {}
	}
	c.ordered++
	return func() { c.ordered-- }
}

// Loop is an operation that carries a state, of type t, whose parts are the operands after the first.
func (c *Scope) Loop(at diag.Span, op *ir.OpDef, attrs ir.A, args []tree.Expr, f *tree.Lambda,
	t types.Type) tree.Expr {
	var ts []types.Tensor
	for _, a := range args {
		if tree.IsBad(a) {
			return tree.Bad(at)
		}
		ts = append(ts, types.Flatten(a.Type())...)
	}
	if tree.IsBad(f.Body) {
		return tree.Bad(at)
	}
	if _, err := op.Infer(ts, op.MakeAttrs(attrs), []*ir.Block{tree.SignatureOf(f)}); err != nil {
		c.Rule(diag.CodeRule, at, err)
		return tree.Bad(at)
	}
	return &tree.Apply{Info: tree.Of(t, at), Op: op, Attrs: attrs, Args: args, Lambdas: []*tree.Lambda{f}}
}

// Counter is the parameter for the number of a step; programs do not see it.
func Counter(at diag.Span) *tree.Local {
	return &tree.Local{Name: "step", T: types.Scalar(types.I32), Loc: at}
}

// Element reads the element of a vector at a number of a step, which is in range.
func Element(flat tree.Expr, i *tree.Local, at diag.Span) tree.Expr {
	t := types.Scalar(types.ElemOf(flat.Type()))
	return &tree.Apply{Info: tree.Of(t, at), Op: ops.Index, Attrs: ir.A{"axes": []int64{0}},
		Args: []tree.Expr{flat, tree.NewUse(i, at)}}
}
