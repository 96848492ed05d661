package builtins

import (
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// prefixReductions are the operations of `+/` and so on.
var prefixReductions = map[string]*ir.OpDef{
	"+": ops.ReduceSum, "-": ops.ReduceSub, "*": ops.ReduceProd, "/": ops.ReduceDiv,
	"&&": ops.ReduceAnd, "||": ops.ReduceOr,
}

// foldNames are the names whose fold without a start is a reduction of the table.
var foldNames = map[string]*ir.OpDef{
	"add": ops.ReduceSum, "mul": ops.ReduceProd, "max": ops.ReduceMax, "min": ops.ReduceMin,
}

// foldSteps are what these names fold with when there is a start.
var foldSteps = map[string]*ir.OpDef{"add": ops.Add, "mul": ops.Mul, "max": ops.Max, "min": ops.Min}

// reduce is a prefix reduction or a fold `f/v`.
func reduce(c *infer.Checker, e *ast.Reduce, want types.Type) tree.Expr {
	op := prefixReductions[e.Op]
	if n, ok := e.Fun.(*ast.Name); ok && e.Init == nil && c.Funcs[n.Name] == nil && !c.IsValue(n.Name) {
		op = foldNames[n.Name]
	}
	if op == nil && e.Fun == nil {
		return c.Unsupported(e.Loc, "reduction `"+e.Op+"/`")
	}
	if e.Fun == nil && e.Init != nil {
		c.Errorf(diag.CodeMismatch, e.Init.Span(), "`%s/` starts from its own neutral element", e.Op).
			Help("`fold(init, f, v)` and `f/[init=...](v)` go strictly from left to right, from any start")
		return tree.Bad(e.Loc)
	}
	if op == nil {
		return fold(c, e, want)
	}
	hint := literal.Want(types.ElemOf(want))
	if op == ops.ReduceAnd || op == ops.ReduceOr {
		hint = types.Scalar(types.Bool)
	}
	x := c.Expr(e.X, hint)
	if startsOldFold(c, e, x) {
		return tree.Bad(e.Loc)
	}
	return reduceAlong(c, e.Loc, op, x, e.Axis, e.Keep)
}

// startsOldFold refuses a fold of a scalar that is divided by something. It would do nothing, and is what a fold from a
// start was written as before `[init=...]`.
func startsOldFold(c *infer.Checker, e *ast.Reduce, x tree.Expr) bool {
	if t, ok := x.Type().(types.Tensor); !e.Divided || tree.IsBad(x) || ok && !t.IsScalar() {
		return false
	}
	f, start := e.Fun.Span().Text(), e.X.Span().Text()
	if _, ok := e.Fun.(*ast.Lambda); ok {
		f = "(" + f + ")"
	}
	if strings.Contains(f+start, "\n") {
		f, start = "f", "..."
	}
	c.Errorf(diag.CodeMismatch, e.X.Span(), "a fold goes over a tensor, not %s, and its value is divided here",
		x.Type()).Label("%s", x.Type()).
		Help("a fold from a start is `%s/[init=%s](v)`; a division of its value is `(%s/v) / n`", f, start, f)
	return true
}

// reduceAlong is a reduction of a value along axes as they are written; nil stands for all of them.
func reduceAlong(c *infer.Checker, at diag.Span, op *ir.OpDef, x tree.Expr, along ast.Expr, keep bool) tree.Expr {
	if _, ok := x.Type().(types.Tuple); ok {
		return reduceTuple(c, at, op, x, along, keep)
	}
	t, ok := c.TensorValue(x, "the operand of "+scope.Spelled(op))
	if !ok {
		return tree.Bad(at)
	}
	axes, ok := axesOf(c, along, t.Rank())
	if !ok {
		return tree.Bad(at)
	}
	return reduction(c, at, op, x, axes, keep)
}

// reduction is a reduction of the table; that of a scalar is the scalar.
func reduction(c *infer.Checker, at diag.Span, op *ir.OpDef, x tree.Expr, axes []int64, keep bool) tree.Expr {
	out := c.Apply(at, op, ir.A{"axes": axes, "keep": keep}, x)
	if t, ok := x.Type().(types.Tensor); ok && t.IsScalar() && !tree.IsBad(out) && op != ops.Mean && op != ops.Var {
		return x
	}
	return out
}

// fold is a strict left fold with a function, with or without a start.
func fold(c *infer.Checker, e *ast.Reduce, want types.Type) tree.Expr {
	var init tree.Expr
	if e.Init != nil && c.LiteralKindOf(e.Init) == literal.Typed {
		init = c.Expr(e.Init, nil)
	}
	x := c.Expr(e.X, literal.Want(types.ElemOf(want)))
	if startsOldFold(c, e, x) {
		return tree.Bad(e.Loc)
	}
	t, ok := c.TensorValue(x, "the operand of a fold")
	if e.Init != nil && init == nil {
		init = c.Expr(e.Init, literal.Want(t.Elem))
	}
	if !ok || init != nil && tree.IsBad(init) {
		return tree.Bad(e.Loc)
	}
	if init != nil && e.Axis == nil && !e.Keep { // the state is any value, and the function may do input and output
		return foldAll(c, e.Loc, e.Fun, init, x, t)
	}
	acc := types.Scalar(t.Elem)
	if init != nil {
		if acc, ok = init.Type().(types.Tensor); !ok || !acc.IsScalar() || acc.Elem == types.String {
			c.Errorf(diag.CodeMismatch, e.Init.Span(), "a fold along axes, or that keeps them, starts from a scalar, "+
				"not %s", init.Type()).Label("%s", init.Type()).
				Help("`fold(init, f, v)` goes over all elements with any state")
			return tree.Bad(e.Loc)
		}
	}
	attrs := ir.A{"keep": e.Keep}
	axes, ok := axesOf(c, e.Axis, t.Rank())
	if !ok {
		return tree.Bad(e.Loc)
	}
	attrs["axes"] = axes
	params := []*tree.Local{{Name: "acc", T: acc, Loc: e.Fun.Span()},
		{Name: "x", T: types.Scalar(t.Elem), Loc: e.Fun.Span()}}
	f := foldStep(c, e.Fun, params, acc)
	if !types.Equal(f.Body.Type(), acc) {
		c.Mismatch(f.Body.Span(), "the value of a fold's function", acc, f.Body.Type())
		return tree.Bad(e.Loc)
	}
	operands := []tree.Expr{x}
	if init != nil {
		attrs["init"], operands = true, []tree.Expr{init, x}
	}
	return c.ApplyCode(diag.CodeRule, e.Loc, ops.Fold, attrs, []*tree.Lambda{f}, operands)
}

// foldStep is the function of a fold: also `add` and `mul`, which are no functions elsewhere.
func foldStep(c *infer.Checker, e ast.Expr, params []*tree.Local, acc types.Type) *tree.Lambda {
	if n, ok := e.(*ast.Name); ok && foldSteps[n.Name] != nil && c.Funcs[n.Name] == nil && !c.IsValue(n.Name) {
		uses := []tree.Expr{tree.NewUse(params[0], n.Loc), tree.NewUse(params[1], n.Loc)}
		return &tree.Lambda{Params: params, Body: c.Pointwise(n.Loc, foldSteps[n.Name], uses)}
	}
	return loopFunction(c, e, params, acc, "the function of a fold")
}

// reductionCall is the call of a reduction by its name.
func reductionCall(op *ir.OpDef) infer.Build {
	hint := op.Params[0].Elem
	return func(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
		w := hint
		if d := types.ElemOf(want); hint == types.Invalid || hint.IsFloat() && d.IsFloat() {
			w = d
		}
		x := c.Expr(args[0], literal.Want(w))
		keep, ok := constFlag(c, args[2], "`keep`")
		if !ok {
			return tree.Bad(e.Loc)
		}
		return reduceAlong(c, e.Loc, op, x, args[1], keep)
	}
}

// Reduction is the form of reductions and folds.
func Reduction(c *infer.Checker, e ast.Expr, want types.Type) tree.Expr {
	if r, ok := e.(*ast.Reduce); ok {
		return reduce(c, r, want)
	}
	return nil
}
