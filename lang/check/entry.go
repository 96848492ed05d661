package check

import (
	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// CheckExpr types an expression that stands alone, such as the value of `--in x=[1.0, 2.0]`, and gives its
// value, which has to be a constant. want is the type of the parameter it is for: the value has its
// element type and rank, and its extents where they are literal; which extents stand for shape parameters
// is left to the caller. With a nil want any constant will do.
func CheckExpr(src *diag.File, e ast.Expr, want types.Type) (*ir.Array, *diag.List) {
	c := newRun(src, nil)
	c.Cur.Name = "the value"
	x := c.Expr(e, want)
	value, ok := x.(*tree.Const)
	switch {
	case tree.IsBad(x):
	case !ok:
		c.Errorf(diag.CodeNotConstant, x.Span(), "the value is not a constant").
			Help("write a literal, such as 3 or [1.0, 2.0]")
	case want != nil && !valueFits(want, x.Type()):
		c.wrongValue(x.Span(), want, x.Type())
	}
	c.List.Sort()
	if c.List.HasErrors() || !ok {
		return nil, c.List
	}
	return value.Value, c.List
}

// wrongValue reports a value that cannot be a parameter of type want.
func (c *run) wrongValue(at diag.Span, want, got types.Type) {
	w, ok1 := want.(types.Tensor)
	g, ok2 := got.(types.Tensor)
	if !ok1 || !ok2 || w.Elem != g.Elem || g.IsScalar() || w.IsScalar() {
		c.Mismatch(at, "the value", want, got)
		return
	}
	r := c.Errorf(diag.CodeMismatch, at, "the value has to be %s, not %s", want, got).Label("%s", got)
	r.Difference(w.Shape, g.Shape, extentFits)
}

// extentFits reports whether an extent of a value can be that of a parameter: any can stand for a shape parameter.
func extentFits(want, got types.Dim) bool {
	_, literal := want.Const()
	return !literal || want.Equal(got)
}

// valueFits reports whether a value of type got can be a parameter of type want.
func valueFits(want, got types.Type) bool {
	w, ok1 := want.(types.Tensor)
	g, ok2 := got.(types.Tensor)
	if !ok1 || !ok2 || w.Elem != g.Elem || w.Rank() != g.Rank() {
		return false
	}
	for i, d := range w.Shape {
		if !extentFits(d, g.Shape[i]) {
			return false
		}
	}
	return true
}
