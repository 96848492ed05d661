package operators

import (
	"fmt"
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

// operatorClass says what an operator does to element types.
type operatorClass uint8

const (
	arithmetic operatorClass = iota // of one number type, gives it
	comparison                      // of one type, gives bool
	logical                         // of bool
)

// Operator is an element-wise operator of two operands.
type Operator struct {
	op     *ir.OpDef
	class  operatorClass
	dotted bool // broadcasts
}

// Table has the element-wise operators of two operands.
var Table = map[string]Operator{
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

func binary(c *infer.Checker, e *ast.Binary, want types.Type) tree.Expr {
	switch e.Op {
	case "&&", "||":
		return shortCircuit(c, e)
	case "@":
		return matmul(c, e, want)
	}
	o, ok := Table[e.Op]
	if !ok && e.Op != "++" {
		return c.Unsupported(e.Loc, "operator `"+e.Op+"`")
	}
	hint := types.Invalid
	switch o.class {
	case arithmetic:
		hint = types.ElemOf(want)
	case logical:
		hint = types.Bool
	}
	xs := c.Together([]ast.Expr{e.X, e.Y}, hint)
	return Elementwise(c, e.Loc, e.Op, o, xs[0], xs[1])
}

// Elementwise is `x op y` with the broadcasts that the operator allows written out.
func Elementwise(c *infer.Checker, at diag.Span, name string, o Operator, x, y tree.Expr) tree.Expr {
	if tree.IsBad(x) || tree.IsBad(y) {
		return tree.Bad(at)
	}
	a, ok1 := x.Type().(types.Tensor)
	b, ok2 := y.Type().(types.Tensor)
	if ok1 && ok2 && (a.Elem == types.String || b.Elem == types.String || name == "++") {
		return stringBinary(c, at, name, x, y)
	}
	operands := fmt.Sprintf("%s %s %s", x.Type(), name, y.Type())
	if !ok1 || !ok2 {
		r := c.Errorf(diag.CodeOperands, at, "`%s` takes tensors or scalars, not %s and %s", name, x.Type(),
			y.Type()).Label("%s", operands)
		if name == "-" && types.Equal(x.Type(), types.Unit) {
			r.Help("if the `-` starts a new expression, end the statement before it with `;`")
		} else if len(types.Flatten(x.Type())) > 1 && len(types.Flatten(y.Type())) > 1 {
			r.Help("`map(|x, y| x %s y, a, b)` goes over the tensors of two tuples", name)
		}
		return tree.Bad(at)
	}
	if c.Stored("`"+name+"`", x, y) != nil {
		return tree.Bad(at)
	}
	if a.Elem != b.Elem {
		c.Differ(at, "`"+name+"`", x, y, nil).Label("%s", operands)
		return tree.Bad(at)
	}
	if _, err := o.op.Infer([]types.Tensor{types.Scalar(a.Elem), types.Scalar(a.Elem)}, nil, nil); err != nil {
		c.Errorf(diag.CodeOperands, at, "`%s` takes %s, not %s", name, takes(o.class), a.Elem).Label("%s", operands)
		return tree.Bad(at)
	}
	shape, err := types.Broadcast(a.Shape, b.Shape)
	switch {
	case o.dotted:
		if err != nil {
			r := c.Rule(diag.CodeNotBroadcastable, at, err).Label("%s", operands)
			if name == ".*" && chains(a.Shape, b.Shape) {
				r.Help("the product of matrices is `@`")
			} else if !lineUp(r, x, a.Shape, b.Shape) {
				lineUp(r, y, b.Shape, a.Shape)
			}
			return tree.Bad(at)
		}
	case a.IsScalar() || b.IsScalar() || a.Shape.Equal(b.Shape):
	default:
		plainShapes(c, at, name, operands, a.Shape, b.Shape, err)
		return tree.Bad(at)
	}
	return c.Apply(at, o.op, nil, c.Broadcast(x, shape), c.Broadcast(y, shape))
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
func plainShapes(c *infer.Checker, at diag.Span, name, operands string, a, b types.Shape, broadcast error) {
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
	r := c.Errorf(diag.CodePlainShapes, at, "`%s` takes operands of one shape", name).Label("%s", operands)
	r.Align(e)
	if name == "*" && chains(a, b) {
		if r.Help("the product of matrices is `@`"); broadcast == nil {
			r.Help("write `.*` to broadcast; the product of matrices is `@`")
		}
		return
	}
	if broadcast == nil {
		if _, ok := Table["."+name]; ok {
			r.Help("write `.%s` to broadcast", name)
		}
	}
}

// chains reports shapes of which `@` makes a product.
func chains(a, b types.Shape) bool {
	if len(a) < 2 && len(b) < 2 || len(a) == 0 || len(b) == 0 {
		return false
	}
	return a[len(a)-1].Equal(b[max(len(b)-2, 0)])
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

func unary(c *infer.Checker, e *ast.Unary, want types.Type) tree.Expr {
	if l, ok := e.X.(*ast.Lit); ok && e.Op == "-" && (l.Kind == ast.IntLit || l.Kind == ast.FloatLit) {
		return c.Literal(l, true, want, e.Loc)
	}
	op, need := ops.Neg, "a number"
	if e.Op == "!" {
		op, need, want = ops.Not, "a bool", types.Scalar(types.Bool)
	}
	x := c.Expr(e.X, want)
	if tree.IsBad(x) {
		return tree.Bad(e.Loc)
	}
	t, ok := x.Type().(types.Tensor)
	if r := c.Stored("`"+e.Op+"`", x); r != nil {
		if cast, ok := e.X.(*ast.Cast); ok && e.Op == "-" {
			r.Help("`as` comes before a minus; in parentheses it comes after: `(-%s) as %s`", cast.X.Span().Text(),
				t.Elem)
		}
		return tree.Bad(e.Loc)
	}
	if _, err := op.Infer([]types.Tensor{types.Scalar(t.Elem)}, nil, nil); !ok || err != nil {
		c.Errorf(diag.CodeOperands, e.Loc, "`%s` takes %s, not %s", e.Op, need, x.Type()).Label("%s", x.Type())
		return tree.Bad(e.Loc)
	}
	return c.Apply(e.Loc, op, nil, x)
}

// shortCircuit is `x && y` or `x || y`: y is evaluated only when x does not decide.
func shortCircuit(c *infer.Checker, e *ast.Binary) tree.Expr {
	side := func(x ast.Expr) tree.Expr {
		v := c.Expr(x, types.Scalar(types.Bool))
		t, ok := v.Type().(types.Tensor)
		switch {
		case tree.IsBad(v) || types.Equal(v.Type(), types.Scalar(types.Bool)):
			return v
		case ok && t.Elem == types.Bool:
			c.Errorf(diag.CodeOperands, v.Span(), "`%s` takes scalars, not %s", e.Op, t).Label("%s", t).
				Help("write `.%s` for element by element", e.Op)
		default:
			c.Errorf(diag.CodeOperands, v.Span(), "`%s` takes bools, not %s", e.Op, v.Type()).Label("%s", v.Type())
		}
		return tree.Bad(v.Span())
	}
	x := side(e.X)
	mark := c.Mark()
	y := side(e.Y)
	if e.Op == "||" {
		return c.IfOf(e.Loc, x, tree.ScalarConst(types.Bool, 1, e.OpLoc), y, mark)
	}
	return c.IfOf(e.Loc, x, y, tree.ScalarConst(types.Bool, 0, e.OpLoc), mark)
}

// cast is `x as T`. A literal becomes a T without a detour over the default type, where it is one.
func cast(c *infer.Checker, e *ast.Cast) tree.Expr {
	to := types.Invalid
	t, ok := e.Type.(*ast.TensorType)
	if ok && t.Square && len(t.Dims) > 0 {
		c.Errorf(diag.CodeCast, t.Loc, "`as` takes an element type, without a shape").Help(
			"write `as %s`; `reshape` changes the shape", t.Elem.Name)
		c.Expr(e.X, nil)
		return tree.Bad(e.Loc)
	}
	if ok {
		if _, tuple := c.TupleParameter(t.Elem.Name); tuple {
			c.ElemType(t.Elem) // reports it
			return tree.Bad(e.Loc)
		}
		to = types.ElemOf(c.TypeOf(t))
	} else if e.Type != nil {
		c.Errorf(diag.CodeCast, e.Type.Span(), "`as` takes an element type")
	}
	var want types.Type
	switch k := c.LiteralKindOf(e.X); {
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
	x := c.Expr(e.X, want)
	if tree.IsBad(x) || !to.Converts() {
		if to == types.String {
			c.Errorf(diag.CodeCast, e.Loc, "%s cannot be converted to string", x.Type()).
				Help("%s", c.ToText())
		}
		c.Cur.Failed = true
		return tree.Bad(e.Loc)
	}
	from, ok := x.Type().(types.Tensor)
	if !ok || !from.Elem.Converts() {
		c.Errorf(diag.CodeCast, e.Loc, "%s cannot be converted to %s", x.Type(), to).Label("%s", x.Type())
		return tree.Bad(e.Loc)
	}
	if from.Elem == to {
		return x
	}
	return c.Apply(e.Loc, ops.Cast, ir.A{"to": to}, x)
}

// Form is the form of expressions with operators.
func Form(c *infer.Checker, e ast.Expr, want types.Type) tree.Expr {
	switch e := e.(type) {
	case *ast.Binary:
		return binary(c, e, want)
	case *ast.Unary:
		return unary(c, e, want)
	case *ast.Cast:
		return cast(c, e)
	}
	return nil
}

// IsArithmetic reports an operator of numbers of one type that gives that type.
func IsArithmetic(op string) bool {
	o, ok := Table[op]
	return ok && o.class == arithmetic || op == "@"
}
