package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// axisMerge joins an index of the result of a reduction with one of the reduced axes: the index of the
// operand.
type axisMerge struct {
	rank int
	axes []int64
	keep bool
	at   []scalar.Ref // of the result
}

func (m axisMerge) index(reduced []scalar.Ref) []scalar.Ref {
	out := make([]scalar.Ref, m.rank)
	next, inner := 0, 0
	for k := range out {
		switch {
		case hasAxis(m.axes, k):
			out[k] = reduced[inner]
			inner++
			if m.keep {
				next++
			}
		default:
			out[k] = m.at[next]
			next++
		}
	}
	return out
}

func (o *Op) axisMerge(x types.Tensor, at []scalar.Ref) axisMerge {
	return axisMerge{rank: x.Rank(), axes: o.ReducedAxes(), keep: o.Flag("keep"), at: at}
}

// reducedExtents are the extents of the reduced axes of x.
func reducedExtents(x types.Tensor, axes []int64) []types.Dim {
	out := make([]types.Dim, len(axes))
	for i, a := range axes {
		out[i] = x.Shape[a]
	}
	return out
}

// checkSome stops the program when the axes hold no element. It reports false when that is certain, and
// there is nothing to pull.
func checkSome(p Pull, extents []types.Dim) bool {
	e := p.E()
	for _, d := range extents {
		if d.IsConst(0) {
			e.Check(scalar.CheckEmpty, e.Bool(false))
			return false
		}
	}
	for _, d := range extents {
		if !provablyPositive(d) {
			e.Check(scalar.CheckEmpty, e.Lt(e.Int(types.I64, 0), p.Extent(d)))
		}
	}
	return true
}

func elementReduce(kind ReduceKind) func(p Pull, op *Op, result int, at []scalar.Ref) scalar.Ref {
	return func(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
		x := op.Args[0].Type
		merge := op.axisMerge(x, at)
		extents := reducedExtents(x, merge.axes)
		if _, ok := kind.Identity(x.Elem); !ok && !checkSome(p, extents) {
			return p.E().Int(x.Elem, 0)
		}
		last := hasAxis(merge.axes, x.Rank()-1)
		return p.Reduce(op, kind, x.Elem, last, extents, func(reduced []scalar.Ref) scalar.Ref {
			return p.Arg(op, 0, merge.index(reduced))
		})
	}
}

func elementPosition(kind ReduceKind) func(p Pull, op *Op, result int, at []scalar.Ref) scalar.Ref {
	return func(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
		x := op.Args[0].Type
		merge := op.axisMerge(x, at)
		extents := reducedExtents(x, merge.axes)
		if !checkSome(p, extents) {
			return p.E().Int(types.I32, 0)
		}
		last := hasAxis(merge.axes, x.Rank()-1)
		position := p.Reduce(op, kind, x.Elem, last, extents, func(reduced []scalar.Ref) scalar.Ref {
			return p.Arg(op, 0, merge.index(reduced))
		})
		return p.E().Cast(types.I32, position)
	}
}

// elementLeftFold folds in order, from the first element on.
func elementLeftFold(f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref) func(p Pull, op *Op, result int,
	at []scalar.Ref) scalar.Ref {
	return func(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
		x := op.Args[0].Type
		merge := op.axisMerge(x, at)
		extents := reducedExtents(x, merge.axes)
		if !checkSome(p, extents) {
			return p.E().Int(x.Elem, 0)
		}
		first := p.Arg(op, 0, merge.index(zeros(p, len(extents))))
		return p.Loop(extents, 1, []scalar.Ref{first}, func(reduced, acc []scalar.Ref) []scalar.Ref {
			y := p.Arg(op, 0, merge.index(reduced))
			return []scalar.Ref{f(p.E(), acc[0], y)}
		})[0]
	}
}

func elementFold(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	last := len(op.Args) - 1
	x := op.Args[last].Type
	merge := op.axisMerge(x, at)
	extents := reducedExtents(x, merge.axes)
	begin, start := int64(0), scalar.None
	if op.Flag("init") {
		start = p.Arg(op, 0, nil)
	} else {
		if !checkSome(p, extents) {
			return p.E().Int(op.Type().Elem, 0)
		}
		begin, start = 1, p.Arg(op, last, merge.index(zeros(p, len(extents))))
	}
	return p.Loop(extents, begin, []scalar.Ref{start}, func(reduced, acc []scalar.Ref) []scalar.Ref {
		y := p.Arg(op, last, merge.index(reduced))
		return []scalar.Ref{p.Region(op, 0, 0, []scalar.Ref{acc[0], y}, nil)}
	})[0]
}

// zeros is the first index of n axes.
func zeros(p Pull, n int) []scalar.Ref {
	out := make([]scalar.Ref, n)
	for i := range out {
		out[i] = p.E().Int(types.I64, 0)
	}
	return out
}
