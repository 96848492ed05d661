package builtins

import (
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// assertFunctions are the functions that stop the program when something does not hold. Assertions have an
// effect, so they stand in tests and in functions that are marked `@io`; `require` has none.
func assertFunctions() map[string]*infer.Builtin {
	return map[string]*infer.Builtin{
		"assert_eq":    {Params: []string{"a", "b"}, Required: 2, Build: assertEqCall},
		"assert_close": {Params: []string{"a", "b", "rtol", "atol"}, Required: 2, Build: assertCloseCall},
	}
}

func assertCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x := c.Condition(args[0])
	return c.Apply(e.Loc, ops.Assert, ir.A{"what": assertText(e)}, x)
}

// assertText is an assertion as it is written, for its message.
func assertText(e *ast.Call) string {
	text := strings.Join(strings.Fields(e.Loc.Text()), " ")
	if r := []rune(text); len(r) > 80 {
		text = string(r[:77]) + "..."
	}
	return report.Quote(text)
}

// assertEqCall is `assert_eq(a, b)`: the same type, and the same values. NaN is equal to NaN, -0 to 0.
func assertEqCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x, y, ok := compared(c, e, args)
	if !ok {
		return tree.Bad(e.Loc)
	}
	return c.Let(x, func(x tree.Expr) tree.Expr {
		return c.Let(y, func(y tree.Expr) tree.Expr {
			return eachLeaf(c, e, x, y, func(e *ast.Call, x, y tree.Expr) tree.Expr { return assertEq(c, e, x, y) })
		})
	})
}

// compared types the two values of an assertion, which are of one type; literals take that of the other.
func compared(c *infer.Checker, e *ast.Call, args []ast.Expr) (x, y tree.Expr, ok bool) {
	if c.LiteralKindOf(args[0]) != literal.Typed && c.LiteralKindOf(args[1]) == literal.Typed {
		y = c.Expr(args[1], nil)
		x = c.Expr(args[0], y.Type())
	} else {
		x = c.Expr(args[0], nil)
		y = c.Expr(args[1], x.Type())
	}
	if tree.IsBad(x) || tree.IsBad(y) {
		return nil, nil, false
	}
	if !types.Equal(x.Type(), y.Type()) {
		r := c.Errorf(diag.CodeOperands, e.Loc, "an assertion compares two values of one type, not %s and %s", x.Type(),
			y.Type()).
			Label("%s and %s", x.Type(), y.Type())
		r.Explain(args[1].Span(), x.Type(), y.Type())
		return nil, nil, false
	}
	return x, y, true
}

// eachLeaf asserts something of every tensor in two values of one type.
func eachLeaf(c *infer.Checker, e *ast.Call, x, y tree.Expr,
	assert func(e *ast.Call, x, y tree.Expr) tree.Expr) tree.Expr {
	t, ok := x.Type().(types.Tuple)
	if !ok {
		return assert(e, x, y)
	}
	var bs []tree.Binding
	for i, elem := range t.Elems {
		xi, yi := tree.NewGet(x, i, elem, e.Loc), tree.NewGet(y, i, elem, e.Loc)
		bs = append(bs, tree.Binding{Value: eachLeaf(c, e, xi, yi, assert)})
	}
	return tree.Wrap(bs, tree.Unit(e.Loc))
}

// assertEq compares two tensors or strings of one type.
func assertEq(c *infer.Checker, e *ast.Call, x, y tree.Expr) tree.Expr {
	return asserted(c, e, same(c, e, x, y), x, y)
}

func asserted(c *infer.Checker, e *ast.Call, cond, x, y tree.Expr) tree.Expr {
	if !types.Equal(cond.Type(), types.Scalar(types.Bool)) {
		cond = c.Apply(e.Loc, ops.ReduceAnd, ir.A{"axes": allAxes(cond.Type()), "keep": false}, cond)
	}
	return c.Apply(e.Loc, ops.Assert, ir.A{"what": assertText(e)}, cond, x, y)
}

func allAxes(t types.Type) []int64 {
	axes := []int64{}
	for i := range t.(types.Tensor).Shape {
		axes = append(axes, int64(i))
	}
	return axes
}

// same is whether the elements are equal, one by one; NaN is equal to NaN.
func same(c *infer.Checker, e *ast.Call, x, y tree.Expr) tree.Expr {
	elem := types.ElemOf(x.Type())
	if elem == types.String {
		return c.Apply(e.Loc, ops.StrEq, nil, x, y)
	}
	if elem.IsStored() {
		elem = elem.ComputesAs()
		x, y = c.Apply(e.Loc, ops.Cast, ir.A{"to": elem}, x), c.Apply(e.Loc, ops.Cast, ir.A{"to": elem}, y)
	}
	eq := c.Apply(e.Loc, ops.Eq, nil, x, y)
	if !elem.IsFloat() {
		return eq
	}
	nan := c.Apply(e.Loc, ops.And, nil, c.Apply(e.Loc, ops.IsNan, nil, x), c.Apply(e.Loc, ops.IsNan, nil, y))
	return c.Apply(e.Loc, ops.Or, nil, eq, nan)
}

// assertCloseCall is `assert_close(a, b, rtol = 1e-5, atol = 1e-6)`: |a - b| <= atol + rtol*|b| for every
// element, computed in f64. Equal infinities are close, and so is NaN to NaN.
func assertCloseCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x, y, ok := compared(c, e, args)
	tolerance := func(arg ast.Expr, value float64, what string) tree.Expr {
		if arg == nil {
			return tree.FloatConst(value, e.Loc)
		}
		t := c.ScalarOf(arg, types.F64, what)
		ok = ok && !tree.IsBad(t)
		return t
	}
	rtol := tolerance(args[2], 1e-5, "`rtol`")
	atol := tolerance(args[3], 1e-6, "`atol`")
	if !ok {
		return tree.Bad(e.Loc)
	}
	for _, t := range types.Flatten(x.Type()) {
		if !t.Elem.IsNumber() {
			c.Errorf(diag.CodeOperands, e.Loc, "`assert_close` compares numbers, not %s",
				t).Help("`assert_eq` compares every type")
			return tree.Bad(e.Loc)
		}
	}
	near := func(e *ast.Call, x, y tree.Expr) tree.Expr {
		shape := x.Type().(types.Tensor).Shape
		ap := func(op *ir.OpDef, args ...tree.Expr) tree.Expr { return c.Apply(e.Loc, op, nil, args...) }
		wide := func(x tree.Expr) tree.Expr {
			if types.ElemOf(x.Type()) == types.F64 {
				return x
			}
			return c.Apply(e.Loc, ops.Cast, ir.A{"to": types.F64}, x)
		}
		a, b := wide(x), wide(y)
		limit := ap(ops.Add, c.Broadcast(atol, shape), ap(ops.Mul, c.Broadcast(rtol, shape), ap(ops.Abs, b)))
		close := ap(ops.Le, ap(ops.Abs, ap(ops.Sub, a, b)), limit)
		finite := ap(ops.IsFinite, b) // else the limit is infinite and everything is close to it
		return asserted(c, e, ap(ops.Or, same(c, e, x, y), ap(ops.And, close, finite)), x, y)
	}
	return c.Let(x, func(x tree.Expr) tree.Expr {
		return c.Let(y, func(y tree.Expr) tree.Expr { return eachLeaf(c, e, x, y, near) })
	})
}

// requireCall is `require(x, ok, "message", a, b)`: x where ok is true, and else the message, with a and b in the
// places of `{}`.
func requireCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x := c.Expr(args[0], want)
	cond := c.Expr(args[1], types.Scalar(types.Bool))
	message := c.ScalarOf(args[2], types.String, "the message")
	shown := []tree.Expr{}
	for _, a := range args[3:] {
		if a != nil {
			shown = append(shown, shownNumber(c, a))
		}
	}
	for _, given := range append([]tree.Expr{x, cond, message}, shown...) {
		if tree.IsBad(given) {
			return tree.Bad(e.Loc)
		}
	}
	if types.ElemOf(cond.Type()) != types.Bool {
		c.Errorf(diag.CodeOperands, cond.Span(), "the condition of `require` is bool, not %s", cond.Type()).Label("%s",
			cond.Type())
		return tree.Bad(e.Loc)
	}
	text, ok := message.(*tree.Const)
	if !ok {
		c.Errorf(diag.CodeNotConstant, message.Span(),
			"the message of `require` has to be known when the program is compiled").
			Help("`{}` in it stands for a number that comes after it")
		return tree.Bad(e.Loc)
	}
	if places := strings.Count(text.Value.Str, "{}"); places != len(shown) {
		c.Errorf(diag.CodeArity, e.Loc, "the message has %s `{}`, and %s", report.Plural(places, "place"),
			report.Plural(len(shown), "number")+" to show").
			Label("%d and %d", places, len(shown)).Help("the message shows two numbers at most")
		return tree.Bad(e.Loc)
	}
	for len(shown) < 2 {
		shown = append(shown, tree.ScalarConst(types.I64, 0, e.Loc))
	}
	operands := append([]tree.Expr{x, cond}, shown...)
	shape := types.Shape{}
	for _, o := range operands {
		t, ok := o.Type().(types.Tensor)
		if !ok {
			c.Errorf(diag.CodeOperands, o.Span(), "`require` takes tensors or scalars, not %s", o.Type()).Label("%s",
				o.Type())
			return tree.Bad(e.Loc)
		}
		next, err := types.Broadcast(shape, t.Shape)
		if err != nil {
			c.Rule(diag.CodeNotBroadcastable, e.Loc, err)
			return tree.Bad(e.Loc)
		}
		shape = next
	}
	for i, o := range operands {
		operands[i] = c.Broadcast(o, shape)
	}
	return c.Apply(e.Loc, ops.Require, ir.A{"says": text.Value.Str}, operands...)
}

// shownNumber is a number in the message of `require`, as an i64.
func shownNumber(c *infer.Checker, e ast.Expr) tree.Expr {
	x := c.Expr(e, nil)
	if tree.IsBad(x) {
		return x
	}
	d := types.ElemOf(x.Type())
	if !d.IsInt() || d == types.U64 {
		r := c.Errorf(diag.CodeOperands, x.Span(), "the message of `require` shows integers that an i64 holds, not %s",
			x.Type()).Label("%s", x.Type())
		if d.Converts() {
			r.Help("convert it: `as i64`")
		}
		return tree.Bad(x.Span())
	}
	if d == types.I64 {
		return x
	}
	return c.Apply(x.Span(), ops.Cast, ir.A{"to": types.I64}, x)
}
