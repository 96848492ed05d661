package check

import (
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// expr types an expression. want is the type that its place asks for, nil when it asks for none: it
// decides the types of literals, and the caller checks that the result has it. A failed expression is
// reported once and has types.ErrorType.
func (c *checker) expr(e ast.Expr, want types.Type) tree.Expr {
	switch e := e.(type) {
	case *ast.Lit:
		return c.literal(e, false, want, e.Loc)
	case *ast.Name:
		return c.name(e)
	case *ast.Paren:
		return c.expr(e.X, want)
	case *ast.Unary:
		return c.unary(e, want)
	case *ast.Binary:
		return c.binary(e, want)
	case *ast.Pipe:
		return c.pipe(e, want)
	case *ast.Range:
		return c.rangeValue(e)
	case *ast.Cast:
		return c.cast(e)
	case *ast.Call:
		return c.call(e, want)
	case *ast.Index:
		return c.index(e, want)
	case *ast.Reduce:
		return c.reduce(e, want)
	case *ast.Array:
		return c.array(e, want)
	case *ast.Tuple:
		return c.tuple(e, want)
	case *ast.Let:
		return c.letIn(e, want)
	case *ast.If:
		return c.ifExpr(e, want)
	case *ast.Block:
		return c.block(e, want)
	case *ast.Lambda:
		c.errorf(diag.CodeFunctionValue, e.Loc, "a lambda is not a value").
			Help("a lambda is an argument of `tabulate` or the function of a fold: `(|a, x| a + x)/v`")
		return tree.Bad(e.Loc)
	case *ast.Match:
		return c.match(e, want)
	case *ast.Member:
		return c.memberValue(e)
	case nil:
		c.cur.failed = true // the parser has reported it
		return tree.Bad(diag.Span{})
	}
	c.cur.failed = true // a BadExpr: the parser has reported it
	return tree.Bad(e.Span())
}

func (c *checker) tuple(e *ast.Tuple, want types.Type) tree.Expr {
	wants, _ := want.(types.Tuple)
	out := &tree.Tuple{Info: tree.Info{Loc: e.Loc}}
	elems := make([]types.Type, len(e.Elems))
	for i, x := range e.Elems {
		var w types.Type
		if len(wants.Elems) == len(e.Elems) {
			w = wants.Elems[i]
		}
		x := c.expr(x, w)
		if x.Type() == types.Never {
			c.errorf(diag.CodeUnreachable, e.Loc, "this tuple is never made").Related(x.Span(), "leaves the function")
			x = tree.Bad(x.Span())
		}
		out.Elems = append(out.Elems, x)
		elems[i] = x.Type()
	}
	for _, x := range out.Elems {
		if tree.IsBad(x) {
			return tree.Bad(e.Loc)
		}
	}
	if out.T = c.tupleType(e.Loc, elems); types.IsError(out.T) {
		return tree.Bad(e.Loc)
	}
	return out
}

// value types an expression that has to be a tensor of numbers or bools; what names its place.
func (c *checker) value(e ast.Expr, want types.Type, what string) (tree.Expr, types.Tensor, bool) {
	x := c.expr(e, want)
	t, ok := c.tensorValue(x, what)
	return x, t, ok
}

// tensorValue is the type of what has to be a tensor of numbers or bools.
func (c *checker) tensorValue(x tree.Expr, what string) (types.Tensor, bool) {
	t, ok := x.Type().(types.Tensor)
	if tree.IsBad(x) {
		return t, false
	}
	if !ok || !t.Elem.Converts() {
		c.errorf(diag.CodeMismatch, x.Span(), "%s has to be a tensor or a scalar, not %s", what, x.Type()).Label("%s",
			x.Type())
		return t, false
	}
	return t, true
}

// scalarOf types an expression that has to be a scalar of type d.
func (c *checker) scalarOf(e ast.Expr, d types.DType, what string) tree.Expr {
	x := c.expr(e, types.Scalar(d))
	if !types.Equal(x.Type(), types.Scalar(d)) {
		c.mismatch(x.Span(), what, types.Scalar(d), x.Type())
		return tree.Bad(x.Span())
	}
	return x
}
