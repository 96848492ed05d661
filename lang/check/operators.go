package check

import (
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// operatorClass says what an operator does to element types.
type operatorClass uint8

const (
	arithmetic operatorClass = iota // of one number type, gives it
	comparison                      // of one type, gives bool
	logical                         // of bool
)

// operator is an element-wise operator of two operands.
type operator struct {
	op     *ir.OpDef
	class  operatorClass
	dotted bool // broadcasts
}

var operators = map[string]operator{
	"+": {ops.Add, arithmetic, false}, ".+": {ops.Add, arithmetic, true},
	"-": {ops.Sub, arithmetic, false}, ".-": {ops.Sub, arithmetic, true},
	"*": {ops.Mul, arithmetic, false}, ".*": {ops.Mul, arithmetic, true},
	"/": {ops.Div, arithmetic, false}, "./": {ops.Div, arithmetic, true},
	"%": {ops.Rem, arithmetic, false}, ".%": {ops.Rem, arithmetic, true},
	".^": {ops.Pow, arithmetic, true},
	"==": {ops.Eq, comparison, false}, ".==": {ops.Eq, comparison, true},
	"!=": {ops.Ne, comparison, false}, ".!=": {ops.Ne, comparison, true},
	"<": {ops.Lt, comparison, false}, ".<": {ops.Lt, comparison, true},
	"<=": {ops.Le, comparison, false}, ".<=": {ops.Le, comparison, true},
	">": {ops.Gt, comparison, false}, ".>": {ops.Gt, comparison, true},
	">=": {ops.Ge, comparison, false}, ".>=": {ops.Ge, comparison, true},
	".&&": {ops.And, logical, true}, ".||": {ops.Or, logical, true},
}

func (c *checker) binary(e *ast.Binary, want types.Type) tree.Expr {
	switch e.Op {
	case "&&", "||":
		return c.shortCircuit(e)
	case "@":
		return c.matmul(e, want)
	}
	o, ok := operators[e.Op]
	if !ok && e.Op != "++" {
		return c.unsupported(e.Loc, "operator `"+e.Op+"`")
	}
	hint := types.Invalid
	switch o.class {
	case arithmetic:
		hint = types.ElemOf(want)
	case logical:
		hint = types.Bool
	}
	xs := c.together([]ast.Expr{e.X, e.Y}, hint)
	return c.elementwise(e.Loc, e.Op, o, xs[0], xs[1])
}

// elementwise is `x op y` with the broadcasts that the operator allows written out.
func (c *checker) elementwise(at diag.Span, name string, o operator, x, y tree.Expr) tree.Expr {
	if tree.IsBad(x) || tree.IsBad(y) {
		return tree.Bad(at)
	}
	a, ok1 := x.Type().(types.Tensor)
	b, ok2 := y.Type().(types.Tensor)
	if ok1 && ok2 && (a.Elem == types.String || b.Elem == types.String || name == "++") {
		return c.stringBinary(at, name, x, y)
	}
	operands := fmt.Sprintf("%s %s %s", x.Type(), name, y.Type())
	if !ok1 || !ok2 {
		r := c.errorf(diag.CodeOperands, at, "`%s` takes tensors or scalars, not %s and %s", name, x.Type(),
			y.Type()).Label("%s", operands)
		if name == "-" && types.Equal(x.Type(), types.Unit) {
			r.Help("if the `-` starts a new expression, end the statement before it with `;`")
		} else if len(types.Flatten(x.Type())) > 1 && len(types.Flatten(y.Type())) > 1 {
			r.Help("`map(|x, y| x %s y, a, b)` goes over the tensors of two tuples", name)
		}
		return tree.Bad(at)
	}
	if a.Elem != b.Elem {
		c.differ(at, "`"+name+"`", x, y, nil).Label("%s", operands)
		return tree.Bad(at)
	}
	if _, err := o.op.Infer([]types.Tensor{types.Scalar(a.Elem), types.Scalar(a.Elem)}, nil, nil); err != nil {
		c.errorf(diag.CodeOperands, at, "`%s` takes %s, not %s", name, takes(o.class), a.Elem).Label("%s", operands)
		return tree.Bad(at)
	}
	shape, err := types.Broadcast(a.Shape, b.Shape)
	switch {
	case o.dotted:
		if err != nil {
			r := c.rule(diag.CodeNotBroadcastable, at, err).Label("%s", operands)
			if !lineUp(r, x, a.Shape, b.Shape) {
				lineUp(r, y, b.Shape, a.Shape)
			}
			return tree.Bad(at)
		}
	case a.IsScalar() || b.IsScalar() || a.Shape.Equal(b.Shape):
	default:
		c.plainShapes(at, name, operands, a.Shape, b.Shape, err)
		return tree.Bad(at)
	}
	return c.apply(at, o.op, nil, c.broadcast(x, shape), c.broadcast(y, shape))
}

// lineUp suggests an axis of extent 1 in x, as after a reduction that dropped one, where that makes the
// shapes broadcast.
func lineUp(r *report.Report, x tree.Expr, short, long types.Shape) bool {
	if len(short) == 0 || len(short) >= len(long) {
		return false
	}
	for axis := len(short); axis >= 0; axis-- {
		shape := append(append(append(types.Shape{}, short[:axis]...), types.Lit(1)), short[axis:]...)
		if _, err := types.Broadcast(shape, long); err != nil {
			continue
		}
		name := x.Span().Text()
		if len(name) > 30 || strings.ContainsAny(name, "\n") {
			name = "x"
		}
		r.Help("`unsqueeze(%s, %d)` has the shape %s and broadcasts; so does a reduction with `keep`", name, axis,
			shape)
		return true
	}
	return false
}

// plainShapes reports a plain operator between tensors of different shapes; broadcast is why the dotted
// operator would not do either, nil when it would.
func (c *checker) plainShapes(at diag.Span, name, operands string, a, b types.Shape, broadcast error) {
	e := &types.RuleError{Shapes: []types.Shape{a, b}}
	for i := 1; i <= max(len(a), len(b)) && e.Axis == 0; i++ {
		switch {
		case i > len(a) || i > len(b):
			e.Axis, e.Why = i, fmt.Sprintf("the ranks are %d and %d", len(a), len(b))
		case !a[len(a)-i].Equal(b[len(b)-i]):
			e.Axis, e.Why = i, fmt.Sprintf("%s and %s differ", a[len(a)-i], b[len(b)-i])
		}
	}
	if broken, ok := broadcast.(*types.RuleError); ok {
		e = broken
	}
	r := c.errorf(diag.CodePlainShapes, at, "`%s` takes operands of one shape", name).Label("%s", operands)
	r.Align(e)
	if broadcast == nil {
		if _, ok := operators["."+name]; ok {
			r.Help("write `.%s` to broadcast", name)
		}
	}
}

// differ reports operands of two element types. Not nil, takes says which types of operands there can be.
func (c *checker) differ(at diag.Span, what string, x, y tree.Expr, takes func(types.DType) bool) *report.Report {
	a, b := types.ElemOf(x.Type()), types.ElemOf(y.Type())
	r := c.errorf(diag.CodeOperands, at, "%s takes operands of one element type, not %s and %s", what, a, b)
	if !a.Converts() || !b.Converts() {
		return r
	}
	// Toward the type that loses less, if there is a choice.
	first := a.IsFloat() && !b.IsFloat() || b == types.Bool || a.IsFloat() == b.IsFloat() && a.Bits() > b.Bits()
	if takes != nil && (first && !takes(a) || !first && !takes(b)) {
		first = !first
	}
	switch {
	case first && (takes == nil || takes(a)):
		r.Help("write `%s`", report.CastText(y.Span(), a))
	case !first && (takes == nil || takes(b)):
		r.Help("write `%s`", report.CastText(x.Span(), b))
	}
	return r
}

func takes(k operatorClass) string {
	switch k {
	case logical:
		return "bools"
	case comparison:
		return "numbers"
	}
	return "numbers"
}

func (c *checker) unary(e *ast.Unary, want types.Type) tree.Expr {
	if l, ok := e.X.(*ast.Lit); ok && e.Op == "-" && (l.Kind == ast.IntLit || l.Kind == ast.FloatLit) {
		return c.literal(l, true, want, e.Loc)
	}
	op, need := ops.Neg, "a number"
	if e.Op == "!" {
		op, need, want = ops.Not, "a bool", types.Scalar(types.Bool)
	}
	x := c.expr(e.X, want)
	if tree.IsBad(x) {
		return tree.Bad(e.Loc)
	}
	t, ok := x.Type().(types.Tensor)
	if _, err := op.Infer([]types.Tensor{types.Scalar(t.Elem)}, nil, nil); !ok || err != nil {
		c.errorf(diag.CodeOperands, e.Loc, "`%s` takes %s, not %s", e.Op, need, x.Type()).Label("%s", x.Type())
		return tree.Bad(e.Loc)
	}
	return c.apply(e.Loc, op, nil, x)
}

// shortCircuit is `x && y` or `x || y`: y is evaluated only when x does not decide.
func (c *checker) shortCircuit(e *ast.Binary) tree.Expr {
	side := func(x ast.Expr) tree.Expr {
		v := c.expr(x, types.Scalar(types.Bool))
		t, ok := v.Type().(types.Tensor)
		switch {
		case tree.IsBad(v) || types.Equal(v.Type(), types.Scalar(types.Bool)):
			return v
		case ok && t.Elem == types.Bool:
			c.errorf(diag.CodeOperands, v.Span(), "`%s` takes scalars, not %s", e.Op, t).Label("%s", t).
				Help("write `.%s` for element by element", e.Op)
		default:
			c.errorf(diag.CodeOperands, v.Span(), "`%s` takes bools, not %s", e.Op, v.Type()).Label("%s", v.Type())
		}
		return tree.Bad(v.Span())
	}
	x := side(e.X)
	mark := c.mark()
	y := side(e.Y)
	if e.Op == "||" {
		return c.ifOf(e.Loc, x, tree.ScalarConst(types.Bool, 1, e.OpLoc), y, mark)
	}
	return c.ifOf(e.Loc, x, y, tree.ScalarConst(types.Bool, 0, e.OpLoc), mark)
}

// cast is `x as T`. A literal becomes a T without a detour over the default type, where it is one.
func (c *checker) cast(e *ast.Cast) tree.Expr {
	to := types.Invalid
	t, ok := e.Type.(*ast.TensorType)
	if ok && t.Square && len(t.Dims) > 0 {
		c.errorf(diag.CodeCast, t.Loc, "`as` takes an element type, without a shape").Help(
			"write `as %s`; `reshape` changes the shape", t.Elem.Name)
		c.expr(e.X, nil)
		return tree.Bad(e.Loc)
	}
	if ok {
		if _, tuple := c.tupleParameter(t.Elem.Name); tuple {
			c.elemType(t.Elem) // reports it
			return tree.Bad(e.Loc)
		}
		to = types.ElemOf(c.typeOf(t))
	} else if e.Type != nil {
		c.errorf(diag.CodeCast, e.Type.Span(), "`as` takes an element type")
	}
	var want types.Type
	switch k := c.literalKindOf(e.X); {
	case to.IsFloat() && k != literal.Typed, to == types.I64 && k == literal.Ints:
		want = types.Scalar(to)
	case k == literal.Ints:
		if l, neg := literal.Number(ast.Unparen(e.X)); l != nil && to.IsInt() {
			if n, err := literal.ParseInt(l.Value); err == nil {
				if _, fits := literal.IntBits(to, n, neg); fits {
					want = types.Scalar(to)
				}
			}
		}
	}
	x := c.expr(e.X, want)
	if tree.IsBad(x) || !to.Converts() {
		if to == types.String {
			c.errorf(diag.CodeCast, e.Loc, "%s cannot be converted to string", x.Type())
		}
		c.cur.failed = true
		return tree.Bad(e.Loc)
	}
	from, ok := x.Type().(types.Tensor)
	if !ok || !from.Elem.Converts() {
		c.errorf(diag.CodeCast, e.Loc, "%s cannot be converted to %s", x.Type(), to).Label("%s", x.Type())
		return tree.Bad(e.Loc)
	}
	if from.Elem == to {
		return x
	}
	return c.apply(e.Loc, ops.Cast, ir.A{"to": to}, x)
}
