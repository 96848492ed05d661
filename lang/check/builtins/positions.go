package builtins

import (
	"healc/lang/check/infer"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// This file types the functions whose positions are data.

// fitTakeAlong broadcasts the operands of `take_along_axis` off the axis.
func fitTakeAlong(c *infer.Checker, in *operationCall) bool {
	t, it, axis := in.types[0], in.types[1], in.attrs["axis"].(int64)
	if axis < 0 || t.Rank() != it.Rank() {
		return true // the type rule says what is wrong
	}
	a, b := append(types.Shape{}, t.Shape...), append(types.Shape{}, it.Shape...)
	a[axis], b[axis] = types.Lit(1), types.Lit(1)
	off, err := types.Broadcast(a, b)
	if err != nil {
		c.Rule(diag.CodeNotBroadcastable, in.at, err).Label("%s", scope.TypeList(in.operands)).Note(
			"the shapes broadcast off axis %d", axis)
		return false
	}
	for i, t := range in.types {
		shape := append(types.Shape{}, off...)
		shape[axis] = t.Shape[axis]
		in.operands[i] = c.Broadcast(in.operands[i], shape)
	}
	return true
}

// fitScatterAdd broadcasts the positions of `scatter_add` and what is added against each other and, off the axis,
// against the first operand. Positions are of its rank, or one vector of them serves the whole axis.
func fitScatterAdd(c *infer.Checker, in *operationCall) bool {
	t, it, vt, axis := in.types[0], in.types[1], in.types[2], in.attrs["axis"].(int64)
	if axis < 0 {
		return true // the type rule says what is wrong
	}
	idx := in.operands[1]
	if it.Rank() == 1 && t.Rank() > 1 {
		column := make(types.Shape, t.Rank())
		for k := range column {
			column[k] = types.Lit(1)
		}
		column[axis] = it.Shape[0]
		idx = c.Reshape(in.args[1].Span(), idx, column)
		it.Shape = column
	}
	off := append(types.Shape{}, t.Shape...)
	off[axis] = types.Lit(1)
	shape, err := types.Broadcast(it.Shape, vt.Shape)
	if err == nil {
		shape, err = types.Broadcast(shape, off)
	}
	if err != nil {
		c.Rule(diag.CodeNotBroadcastable, in.at, err).
			Label("%s", scope.TypeList([]tree.Expr{in.operands[0], idx, in.operands[2]})).
			Note("positions and values broadcast to the shape of %s, with any extent on axis %d", t, axis)
		return false
	}
	in.operands[1], in.operands[2] = c.Broadcast(idx, shape), c.Broadcast(in.operands[2], shape)
	return true
}
