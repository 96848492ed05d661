package scope

import (
	"healc/ir"
	"healc/lang/diag"
	"healc/lang/types"
)

// maxLeaves bounds the values in a tuple, nested ones included. Without a bound, a chain of lets that
// each pair the last tuple with itself would make types of exponential size.
const maxLeaves = 256

// MaxRank bounds the axes of a tensor. It is NumPy's bound.
const MaxRank = 64

// TupleType is the tuple of elems, unless it has too many values.
func (c *Scope) TupleType(at diag.Span, elems []types.Type) types.Type {
	n := 0
	for _, e := range elems {
		n += max(len(types.Flatten(e)), 1)
	}
	if n > maxLeaves {
		c.Errorf(diag.CodeTooBig, at, "a tuple of %d values is too large: %d is the most", n, maxLeaves)
		return types.ErrorType
	}
	return types.Tuple{Elems: elems}
}

// Axes reports a shape of more than MaxRank axes. What computes with the extents of a shape asks before.
func (c *Scope) Axes(at diag.Span, n int) bool {
	if n > MaxRank {
		c.Errorf(diag.CodeTooBig, at, "a tensor of %d axes: %d is the most", n, MaxRank)
	}
	return n <= MaxRank
}

// Extents reports a tensor that has too many axes, or whose literal extents or size are out of range.
func (c *Scope) Extents(at diag.Span, t types.Tensor) bool {
	if !c.Axes(at, t.Rank()) {
		return false
	}
	if err := ir.CheckExtents(t); err != nil {
		c.Rule(diag.CodeExtent, at, err)
		return false
	}
	return true
}
