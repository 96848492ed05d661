package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// operationFunctions are the operations that are called as functions.
func operationFunctions() map[string]*infer.Builtin {
	out := map[string]*infer.Builtin{}
	special, fit := specialCalls(), operandFits()
	for _, d := range ir.Ops() {
		name := d.FunctionName()
		switch {
		case name == "":
		case d.Class == ir.Pointwise && special[d] == nil:
			out[name] = elementwiseBuiltin(d)
		default:
			out[name] = operationBuiltin(d, special[d], fit[d])
		}
		if b := out[name]; b != nil {
			b.Folds = foldNames[name] != nil
		}
	}
	return out
}

// elementwiseBuiltin is the function of a pointwise operation.
func elementwiseBuiltin(d *ir.OpDef) *infer.Builtin {
	b := &infer.Builtin{Op: d}
	for _, p := range d.Params {
		b.Params = append(b.Params, p.Name)
	}
	switch {
	case d.Params != nil:
	case d.Arity == 1:
		b.Params = []string{"x"}
	default:
		b.Params = []string{"a", "b", "c"}[:d.Arity]
	}
	b.Required = len(b.Params)
	result := func(elem types.DType) (types.DType, bool) {
		args := make([]types.Tensor, d.Arity)
		for i := range args {
			args[i] = types.Scalar(elem)
		}
		out, err := d.Infer(args, d.MakeAttrs(nil), nil)
		if err != nil {
			return types.Invalid, false
		}
		return out[0].Elem, true
	}
	_, ints := result(types.I32)
	float, floats := result(types.F32)
	b.Floats = floats && !ints
	b.Literal = floats && float == types.F32
	b.Build = func(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
		if d == ops.Select {
			cond := c.Expr(args[0], types.Scalar(types.Bool))
			arms := c.Together(args[1:], types.ElemOf(want))
			return where(c, e.Loc, cond, arms[0], arms[1])
		}
		hint := types.Invalid
		if b.Literal {
			hint = types.ElemOf(want)
		}
		if b.Floats && !hint.IsFloat() {
			hint = types.F32 // what literals become: sqrt(2) is sqrt(2.0)
		}
		return c.Pointwise(e.Loc, d, c.Together(args, hint))
	}
	return b
}

// where is `where(cond, a, b)`.
func where(c *infer.Checker, at diag.Span, cond, a, b tree.Expr) tree.Expr {
	if tree.IsBad(cond) || tree.IsBad(a) || tree.IsBad(b) {
		return tree.Bad(at)
	}
	if types.ElemOf(cond.Type()) != types.Bool {
		r := c.Errorf(diag.CodeOperands, cond.Span(), "the condition of `where` is bool, not %s",
			cond.Type()).Label("%s", cond.Type())
		if types.ElemOf(cond.Type()).IsNumber() {
			r.Help("compare it: `.!= 0`")
		}
		return tree.Bad(at)
	}
	if x, y := types.ElemOf(a.Type()), types.ElemOf(b.Type()); x != y && x.Converts() && y.Converts() {
		c.Differ(b.Span(), "`where`", a, b, nil).Label("%s", b.Type()).Related(a.Span(), "%s", a.Type())
		return tree.Bad(at)
	}
	return c.Pointwise(at, ops.Select, []tree.Expr{cond, a, b})
}
