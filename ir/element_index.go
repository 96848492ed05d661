package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// The Element rules of operations whose positions are data.

// checkedPosition is element at of operand i, a position on an axis of the given extent, checked. It reports false
// when the axis is empty: the check fails then, and there is nothing to pull.
func checkedPosition(p Pull, op *Op, i int, at []scalar.Ref, extent types.Dim) (scalar.Ref, bool) {
	e := p.E()
	pos := e.Cast(types.I64, p.Arg(op, i, at))
	bound := p.Extent(extent)
	inside := e.And(e.Le(e.Int(types.I64, 0), pos), e.Lt(pos, bound))
	e.Check(scalar.CheckIndex, inside, pos, bound)
	return pos, !extent.IsConst(0)
}

func elementGather(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	x, axes, n := op.Args[0].Type, op.Ints("axes"), op.Args[1].Type.Rank()
	from := make([]scalar.Ref, x.Rank())
	listed, rest := 0, n
	for k, d := range x.Shape {
		if !hasAxis(axes, k) {
			from[k] = at[rest]
			rest++
			continue
		}
		listed++
		var ok bool
		if from[k], ok = checkedPosition(p, op, listed, at[:n:n], d); !ok {
			return p.E().Int(x.Elem, 0)
		}
	}
	return p.Arg(op, 0, from)
}

func elementTakeAlongAxis(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	x, axis := op.Args[0].Type, op.Int("axis")
	pos, ok := checkedPosition(p, op, 1, at, x.Shape[axis])
	if !ok {
		return p.E().Int(x.Elem, 0)
	}
	return p.Arg(op, 0, moved(at, axis, pos))
}

// moved is the index at with position i on an axis.
func moved(at []scalar.Ref, axis int64, i scalar.Ref) []scalar.Ref {
	out := append([]scalar.Ref{}, at...)
	out[axis] = i
	return out
}
