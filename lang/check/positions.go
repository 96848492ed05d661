package check

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/types"
)

// This file types the functions whose positions are data.

// takeAlongCall is `take_along_axis(x, idx, axis = -1)`; off the axis, x and idx broadcast.
func (c *checker) takeAlongCall(e *ast.Call, args []ast.Expr, want types.Type) Expr {
	x, t, ok := c.operand(args[0], want, "take_along_axis")
	idx, it, ok1 := c.value(args[1], types.Scalar(types.I32), "the positions of `take_along_axis`")
	if !ok || !ok1 {
		return bad(e.Loc)
	}
	axis, ok := c.axisOr(args[2], t.Rank(), int64(t.Rank()-1))
	if !ok {
		return bad(e.Loc)
	}
	if axis >= 0 && t.Rank() == it.Rank() {
		a, b := append(types.Shape{}, t.Shape...), append(types.Shape{}, it.Shape...)
		a[axis], b[axis] = types.Lit(1), types.Lit(1)
		off, err := types.Broadcast(a, b)
		if err != nil {
			c.rule(diag.CodeNotBroadcastable, e.Loc, err).label("%s",
				typeList([]Expr{x, idx})).note("the shapes broadcast off axis %d", axis)
			return bad(e.Loc)
		}
		xs, is := append(types.Shape{}, off...), append(types.Shape{}, off...)
		xs[axis], is[axis] = t.Shape[axis], it.Shape[axis]
		x, idx = c.broadcast(x, xs), c.broadcast(idx, is)
	}
	return c.applyCode(diag.CodeRule, e.Loc, ops.TakeAlongAxis, ir.A{"axis": axis}, nil, []Expr{x, idx})
}

// scatterAddCall is `scatter_add(x, idx, v, axis = -1)`. Positions are of the rank of x, or one vector of them
// that serves the whole axis; positions and what is added broadcast against each other and, off the axis,
// against x.
func (c *checker) scatterAddCall(e *ast.Call, args []ast.Expr, want types.Type) Expr {
	x, t, ok := c.operand(args[0], want, "scatter_add")
	idx, it, ok1 := c.value(args[1], types.Scalar(types.I32), "the positions of `scatter_add`")
	if !ok || !ok1 {
		return bad(e.Loc)
	}
	v, vt, ok := c.value(args[2], wantElem(t.Elem), "what is added")
	if !ok {
		return bad(e.Loc)
	}
	axis, ok := c.axisOr(args[3], t.Rank(), int64(t.Rank()-1))
	if !ok {
		return bad(e.Loc)
	}
	if axis >= 0 {
		if it.Rank() == 1 && t.Rank() > 1 {
			column := make(types.Shape, t.Rank())
			for k := range column {
				column[k] = types.Lit(1)
			}
			column[axis] = it.Shape[0]
			idx = c.reshape(args[1].Span(), idx, column)
			it.Shape = column
		}
		off := append(types.Shape{}, t.Shape...)
		off[axis] = types.Lit(1)
		shape, err := types.Broadcast(it.Shape, vt.Shape)
		if err == nil {
			shape, err = types.Broadcast(shape, off)
		}
		if err != nil {
			c.rule(diag.CodeNotBroadcastable, e.Loc, err).label("%s", typeList([]Expr{x, idx, v})).
				note("positions and values broadcast to the shape of %s, with any extent on axis %d", t, axis)
			return bad(e.Loc)
		}
		idx, v = c.broadcast(idx, shape), c.broadcast(v, shape)
	}
	return c.applyCode(diag.CodeRule, e.Loc, ops.ScatterAdd, ir.A{"axis": axis}, nil, []Expr{x, idx, v})
}

// sortCall is `sort(x, axis = -1)` or `argsort(x, axis = -1)`.
func sortCall(op *ir.OpDef) buildFunc {
	return func(c *checker, e *ast.Call, args []ast.Expr, want types.Type) Expr {
		hint := want
		if op == ops.Argsort {
			hint = nil
		}
		x, t, ok := c.operand(args[0], hint, op.Surface)
		if !ok {
			return bad(e.Loc)
		}
		axis, ok := c.axisOr(args[1], t.Rank(), int64(t.Rank()-1))
		if !ok {
			return bad(e.Loc)
		}
		return c.applyCode(diag.CodeRule, e.Loc, op, ir.A{"axis": axis}, nil, []Expr{x})
	}
}
