package infer

import (
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Expr types an expression. want is the type that its place asks for, nil when it asks for none: it
// decides the types of literals, and the caller checks that the result has it. A failed expression is
// reported once and has types.ErrorType.
func (c *Checker) Expr(e ast.Expr, want types.Type) tree.Expr {
	switch e := e.(type) {
	case *ast.Lit:
		return c.Literal(e, false, want, e.Loc)
	case *ast.Name:
		return c.Name(e)
	case *ast.Paren:
		return c.Expr(e.X, want)
	case *ast.Pipe:
		return c.pipe(e, want)
	case *ast.Call:
		return c.call(e, want)
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
		c.Errorf(diag.CodeFunctionValue, e.Loc, "a lambda is not a value").
			Help("a lambda is an argument of `tabulate` or the function of a fold: `(|a, x| a + x)/v`")
		return tree.Bad(e.Loc)
	case *ast.Match:
		return c.match(e, want)
	case *ast.Member:
		return c.memberValue(e)
	case nil:
		c.Cur.Failed = true // the parser has reported it
		return tree.Bad(diag.Span{})
	}
	for _, f := range c.Language.Forms {
		if x := f.Typed(c, e, want); x != nil {
			return x
		}
	}
	c.Cur.Failed = true // a BadExpr: the parser has reported it
	return tree.Bad(e.Span())
}

func (c *Checker) tuple(e *ast.Tuple, want types.Type) tree.Expr {
	wants, _ := want.(types.Tuple)
	out := &tree.Tuple{Info: tree.Info{Loc: e.Loc}}
	elems := make([]types.Type, len(e.Elems))
	for i, x := range e.Elems {
		var w types.Type
		if len(wants.Elems) == len(e.Elems) {
			w = wants.Elems[i]
		}
		x := c.Expr(x, w)
		if x.Type() == types.Never {
			c.Errorf(diag.CodeUnreachable, e.Loc, "this tuple is never made").Related(x.Span(), "leaves the function")
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
	if out.T = c.TupleType(e.Loc, elems); types.IsError(out.T) {
		return tree.Bad(e.Loc)
	}
	return out
}

// Value types an expression that has to be a tensor of numbers or bools; what names its place.
func (c *Checker) Value(e ast.Expr, want types.Type, what string) (tree.Expr, types.Tensor, bool) {
	x := c.Expr(e, want)
	t, ok := c.TensorValue(x, what)
	return x, t, ok
}

// TensorValue is the type of what has to be a tensor of numbers or bools.
func (c *Checker) TensorValue(x tree.Expr, what string) (types.Tensor, bool) {
	t, ok := x.Type().(types.Tensor)
	if tree.IsBad(x) {
		return t, false
	}
	if !ok || !t.Elem.Converts() {
		c.Errorf(diag.CodeMismatch, x.Span(), "%s has to be a tensor or a scalar, not %s", what, x.Type()).Label("%s",
			x.Type())
		return t, false
	}
	return t, true
}

// ScalarOf types an expression that has to be a scalar of type d.
func (c *Checker) ScalarOf(e ast.Expr, d types.DType, what string) tree.Expr {
	x := c.Expr(e, types.Scalar(d))
	if !types.Equal(x.Type(), types.Scalar(d)) {
		c.Mismatch(x.Span(), what, types.Scalar(d), x.Type())
		return tree.Bad(x.Span())
	}
	return x
}
