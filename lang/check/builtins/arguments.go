package builtins

import (
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// constFlag is a bool that is known now; nil is false.
func constFlag(c *infer.Checker, e ast.Expr, what string) (bool, bool) {
	if e == nil {
		return false, true
	}
	x := c.Expr(e, types.Scalar(types.Bool))
	if k, ok := x.(*tree.Const); ok && types.Equal(k.T, types.Scalar(types.Bool)) {
		return k.Value.Bits[0] != 0, true
	}
	if !tree.IsBad(x) {
		c.Errorf(diag.CodeNotConstant, e.Span(), "%s has to be true or false", what)
	}
	return false, false
}

// axesOf is an axis or a tuple of axes, sorted; nil means all.
func axesOf(c *infer.Checker, e ast.Expr, rank int) ([]int64, bool) {
	out := []int64{}
	if e == nil {
		for k := range rank {
			out = append(out, int64(k))
		}
		return out, true
	}
	list := []ast.Expr{ast.Unparen(e)}
	switch l := list[0].(type) {
	case *ast.Tuple:
		list = l.Elems
	case *ast.Array:
		list = l.Elems
	}
	seen := make([]bool, rank)
	for _, x := range list {
		n, ok := c.Axis(x, rank)
		if !ok {
			return nil, false
		}
		if seen[n] {
			c.Errorf(diag.CodeAxis, x.Span(), "axis %d is named twice", n)
			return nil, false
		}
		seen[n] = true
	}
	for k, s := range seen {
		if s {
			out = append(out, int64(k))
		}
	}
	return out, true
}

// dimList is `[d1, d2]`, a list of shape expressions.
func dimList(c *infer.Checker, e ast.Expr) (types.Shape, []ast.Expr, bool) {
	var elems []ast.Expr
	switch l := ast.Unparen(e).(type) {
	case *ast.Array:
		elems = l.Elems
	case *ast.Tuple:
		elems = l.Elems
	default:
		c.Errorf(diag.CodeShapeExpr, e.Span(), "a shape is a list of extents").Help("write it as `[2, N]`")
		return nil, nil, false
	}
	if !c.Axes(e.Span(), len(elems)) {
		return nil, nil, false
	}
	shape := types.Shape{}
	for _, x := range elems {
		d, ok := c.Dim(x)
		if !ok {
			return nil, nil, false
		}
		shape = append(shape, d)
	}
	return shape, elems, true
}

// axisOr is an axis, and missing when e is left out.
func axisOr(c *infer.Checker, e ast.Expr, rank int, missing int64) (int64, bool) {
	if e == nil {
		return missing, true
	}
	return c.Axis(e, rank)
}

// operand types the first argument of a function on tensors.
func operand(c *infer.Checker, e ast.Expr, want types.Type, name string) (tree.Expr, types.Tensor, bool) {
	return c.Value(e, literal.Want(types.ElemOf(want)), "the first argument of "+report.Quote(name))
}

// typeAndShape reads the brackets of `zeros[f32, M, N]()` and its like.
func typeAndShape(c *infer.Checker, e *ast.Call, name string) (types.Tensor, bool) {
	if len(e.Generics) == 0 {
		c.Errorf(diag.CodeArity, e.Loc, "%s takes a type and a shape in brackets",
			report.Quote(name)).Help("write `%s`",
			c.Language.Functions[name].Signature(name))
		return types.Tensor{}, false
	}
	id, ok := e.Generics[0].(*ast.Name)
	if !ok {
		c.Errorf(diag.CodeUnknownType, e.Generics[0].Span(), "an element type has to stand here").Help("write `%s`",
			c.Language.Functions[name].Signature(name))
		return types.Tensor{}, false
	}
	elem, ok := c.ElemType(ast.Ident{At: id.At, Name: id.Name})
	if !ok || !elem.Converts() {
		if !ok && id.Name != "unit" {
			return types.Tensor{}, false
		}
		c.Errorf(diag.CodeOperands, id.Loc, "a tensor holds numbers or bools, not %s", id.Name)
		return types.Tensor{}, false
	}
	t := types.Tensor{Elem: elem}
	for _, g := range e.Generics[1:] {
		d, ok := c.Dim(g)
		if !ok {
			return types.Tensor{}, false
		}
		t.Shape = append(t.Shape, d)
	}
	return t, c.Extents(e.Loc, t)
}
