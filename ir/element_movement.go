package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// The Element rules of the operations that move elements: result index to operand index, in I64.

// elementConst gives scalars, and tensors whose elements are all the same. Other constants are data that
// the lowering gives a buffer, so they are never pulled.
func elementConst(p Pull, op *Op, _ int, _ []scalar.Ref) scalar.Ref {
	a := op.Array("value")
	if len(a.Bits) == 0 {
		return p.E().Bits(a.DType, 0) // an empty tensor: nothing runs this
	}
	for _, b := range a.Bits {
		if b != a.Bits[0] {
			panic("BUG: a constant tensor is pulled element by element")
		}
	}
	return p.E().Bits(a.DType, a.Bits[0])
}

func elementBroadcast(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	x := op.Args[0].Type
	from := make([]scalar.Ref, x.Rank())
	for k, d := range x.Shape {
		if d.IsConst(1) {
			from[k] = p.E().Int(types.I64, 0)
		} else {
			from[k] = at[len(at)-len(from)+k]
		}
	}
	return p.Arg(op, 0, from)
}

func elementPermute(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	from := make([]scalar.Ref, len(at))
	for k, a := range op.Ints("perm") {
		from[a] = at[k]
	}
	return p.Arg(op, 0, from)
}

func elementSlice(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	return p.Arg(op, 0, InSlice(p, op, at))
}

// InSlice is the index, in the tensor that op slices or updates a slice of, of the element that has the index at in the
// slice.
func InSlice(p Pull, op *Op, at []scalar.Ref) []scalar.Ref {
	e := p.E()
	starts, steps := op.Dims("starts"), op.Ints("steps")
	from := make([]scalar.Ref, len(at))
	for k := range at {
		from[k] = at[k]
		if steps[k] != 1 {
			from[k] = e.Mul(from[k], e.Int(types.I64, steps[k]))
		}
		if !starts[k].IsConst(0) {
			from[k] = e.Add(p.Extent(starts[k]), from[k])
		}
	}
	return from
}

// elementReshape cuts both shapes into the smallest groups of neighbouring axes with equally many elements.
// A group of one axis on both sides keeps its index; others go through the linear index in the group.
func elementReshape(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	from, to := op.Args[0].Type.Shape, op.Type().Shape
	index := make([]scalar.Ref, len(from))
	for k := range from {
		index[k] = p.E().Int(types.I64, 0) // right for unit axes, which are in no group
	}
	for _, g := range reshapeGroups(from, to) {
		linear := linearIndex(p, to, g.to, at)
		splitIndex(p, from, g.from, linear, index)
	}
	return p.Arg(op, 0, index)
}

// A reshapeGroup lists axes of both shapes, none of extent 1, that hold the same elements.
type reshapeGroup struct{ from, to []int }

func reshapeGroups(from, to types.Shape) []reshapeGroup {
	a, b := wideAxes(from), wideAxes(to)
	var groups []reshapeGroup
	for len(a) > 0 || len(b) > 0 {
		i, j := smallestGroup(from, to, a, b)
		groups = append(groups, reshapeGroup{a[:i], b[:j]})
		a, b = a[i:], b[j:]
	}
	return groups
}

// wideAxes lists the axes whose extent is not the literal 1.
func wideAxes(s types.Shape) []int {
	var axes []int
	for k, d := range s {
		if !d.IsConst(1) {
			axes = append(axes, k)
		}
	}
	return axes
}

// smallestGroup finds how many of the leading axes a of from, and b of to, have the same number of
// elements: the fewest together, and all of them at the latest. What follows has then the same number too,
// because none of the products is 0: an empty tensor has no element to ask for.
func smallestGroup(from, to types.Shape, a, b []int) (i, j int) {
	for total := 2; total < len(a)+len(b); total++ {
		for i := max(1, total-len(b)); i <= min(len(a), total-1); i++ {
			if sameElems(from, a[:i], to, b[:total-i]) {
				return i, total - i
			}
		}
	}
	return len(a), len(b)
}

func sameElems(s types.Shape, a []int, t types.Shape, b []int) bool {
	x, errX := pick(s, a).Elems()
	y, errY := pick(t, b).Elems()
	return errX == nil && errY == nil && x.Equal(y)
}

func pick(s types.Shape, axes []int) types.Shape {
	out := make(types.Shape, len(axes))
	for i, a := range axes {
		out[i] = s[a]
	}
	return out
}

// linearIndex is the row-major position of index at among the listed axes of shape.
func linearIndex(p Pull, shape types.Shape, axes []int, at []scalar.Ref) scalar.Ref {
	linear := scalar.None
	for _, k := range axes {
		if linear == scalar.None {
			linear = at[k]
			continue
		}
		linear = p.E().Add(p.E().Mul(linear, p.Extent(shape[k])), at[k])
	}
	if linear == scalar.None {
		return p.E().Int(types.I64, 0)
	}
	return linear
}

// splitIndex puts the index of position linear on the listed axes of shape into index.
func splitIndex(p Pull, shape types.Shape, axes []int, linear scalar.Ref, index []scalar.Ref) {
	for n := len(axes) - 1; n > 0; n-- {
		extent := p.Extent(shape[axes[n]])
		index[axes[n]] = p.E().Rem(linear, extent)
		linear = p.E().Div(linear, extent)
	}
	if len(axes) > 0 {
		index[axes[0]] = linear
	}
}

func elementIndex(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	e := p.E()
	x, axes := op.Args[0].Type, op.Ints("axes")
	from := make([]scalar.Ref, x.Rank())
	listed, rest := 0, 0
	for k := range from {
		if !hasAxis(axes, k) {
			from[k] = at[rest]
			rest++
			continue
		}
		listed++
		from[k] = e.Cast(types.I64, p.Arg(op, listed, nil))
		bound := p.Extent(x.Shape[k])
		inside := e.And(e.Le(e.Int(types.I64, 0), from[k]), e.Lt(from[k], bound))
		e.Check(scalar.CheckIndex, inside, from[k], bound)
		if x.Shape[k].IsConst(0) {
			return e.Int(x.Elem, 0) // the check fails: there is nothing to pull
		}
	}
	return p.Arg(op, 0, from)
}

func elementDynamicSlice(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	e := p.E()
	x, axes, sizes := op.Args[0].Type, op.Ints("axes"), op.Dims("sizes")
	from := append([]scalar.Ref{}, at...)
	zero := e.Int(types.I64, 0)
	for i, a := range axes {
		start := e.Cast(types.I64, p.Arg(op, 1+i, nil))
		bound := p.Extent(x.Shape[a])
		inside := e.And(e.Le(zero, start), e.Le(start, e.Sub(bound, p.Extent(sizes[i]))))
		// The first index that is not in the axis is the start, or the bound when the start is in it.
		startInside := e.And(e.Le(zero, start), e.Lt(start, bound))
		e.Check(scalar.CheckIndex, inside, e.Select(startInside, bound, start), bound)
		from[a] = e.Add(start, at[a])
	}
	return p.Arg(op, 0, from)
}

// elementConcat chooses the operand that holds the index on the axis.
func elementConcat(p Pull, op *Op, _ int, at []scalar.Ref) scalar.Ref {
	axis := op.Int("axis")
	var from func(i int, begin types.Dim) scalar.Ref
	from = func(i int, begin types.Dim) scalar.Ref {
		index := append([]scalar.Ref{}, at...)
		pull := func() scalar.Ref {
			if !begin.IsConst(0) {
				index[axis] = p.E().Sub(at[axis], p.Extent(begin))
			}
			return p.Arg(op, i, index)
		}
		if i == len(op.Args)-1 {
			return pull()
		}
		end, err := begin.Add(op.Args[i].Type.Shape[axis])
		if err != nil {
			panic("BUG: the extent of a concat overflows: " + err.Error())
		}
		here := p.E().Lt(at[axis], p.Extent(end))
		return p.If(here, op.Type().Elem, pull, func() scalar.Ref { return from(i+1, end) })
	}
	return from(0, types.Dim{})
}
