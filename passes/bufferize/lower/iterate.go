package lower

import (
	"fmt"
	"slices"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Iterate implements ir.Pull. A loop that only counts, up to an extent, is a Loop, which says more to the
// back ends; any other is an Iterate.
func (b *body) Iterate(n kernel.Ref, init []kernel.Ref, f func(i kernel.Ref, state []kernel.Ref) ([]kernel.Ref,
	kernel.Ref)) []kernel.Ref {
	count := b.E().Cast(types.I64, n)
	extent, known := b.refs[count].affine.constant()
	known = known && (nonNegative(extent) || b.refs[count].rng.lo == b.refs[count].rng.hi)
	if c, ok := extent.Const(); known && ok && c <= 0 {
		return init
	}
	var i kernel.Ref
	if known {
		i = b.axis(loopScope, 0, extent, 1)
	} else {
		s := b.open(loopScope, false)
		i = b.define(types.I64, s)
		b.refs[i].rng = interval{0, max(min(b.refs[count].rng.hi, types.MaxExtent)-1, 0)}
		s.axis.Var = i
	}
	axis := b.top().axis
	var vars, ids []kernel.Ref
	for _, r := range init {
		vars = append(vars, b.define(b.types[r], b.top()))
	}
	next, stop := f(i, slices.Clone(vars))
	in := b.close()
	s := b.closeAt(0, append(append([]kernel.Ref{count, stop}, init...), next...), in)
	for _, r := range init {
		ids = append(ids, b.define(b.types[r], s))
	}
	init, next = slices.Clone(init), slices.Clone(next)
	if known && stop == scalar.None {
		b.add(s, &kernel.Loop{Axis: axis, Init: init, Vars: vars, Body: in.block, Next: next, IDs: ids})
	} else {
		b.add(s, &kernel.Iterate{Var: i, Count: count, Init: init, Vars: vars, Body: in.block, Next: next, Until: stop,
			IDs: ids})
	}
	return slices.Clone(ids)
}

// loopElement is an element of a result of a loop in a kernel.
func (b *body) loopElement(op *ir.Op, result int, at []kernel.Ref) kernel.Ref {
	out, first := b.loopOnce(op)
	return b.choose(op.Results[result].Type, at, out[first[result]:])
}

// loopOnce writes a loop, perhaps one without results that is left for what its steps check. The state is taken
// apart into scalars, one for each element of a small tensor, and first[k] is where those of result k begin. All
// results are computed together, and remembered.
func (b *body) loopOnce(op *ir.Op) (out []kernel.Ref, first []int) {
	if !op.SmallState() {
		Fail(op.Span, "a loop inside of an element-wise computation, with a state of more than %d elements",
			ir.MaxSmallState)
	}
	outer := b.frame
	n := b.pull(op.Args[0], nil)
	b.op = op
	var init []kernel.Ref
	first = make([]int, len(op.Results))
	for k, a := range op.Args[1:] {
		first[k] = len(init)
		b.eachFixed(a.Type.Shape, func(at []kernel.Ref) { init = append(init, b.pull(a, at)) })
	}
	region := op.Regions[0]
	out = b.Iterate(n, init, func(i kernel.Ref, state []kernel.Ref) ([]kernel.Ref, kernel.Ref) {
		defer func() { b.frame = outer }()
		b.frame = b.enter(outer, region, append([]kernel.Ref{i}, state...))
		b.frame.state = func(v *ir.Value, at []kernel.Ref) kernel.Ref {
			if v.Index == 0 {
				return b.E().Cast(types.I32, i)
			}
			return b.choose(v.Type, at, state[first[v.Index-1]:])
		}
		b.force(region)
		var next []kernel.Ref
		for k := range op.Results {
			y := region.Yields[k]
			b.eachFixed(y.Type.Shape, func(at []kernel.Ref) { next = append(next, b.pull(y, at)) })
		}
		stop := scalar.None
		if op.Stops() {
			stop = b.pull(region.Yields[len(op.Results)], nil)
		}
		return next, stop
	})
	for k, r := range op.Results {
		i := first[k]
		b.eachFixed(r.Type.Shape, func(at []kernel.Ref) {
			b.remember(fmt.Sprintf("%p %d%s", r, outer.id, refsKey(at)), out[i])
			i++
		})
	}
	b.op = op
	return out, first
}

// eachFixed visits the elements of a small tensor in row-major order, with literal indices.
func (b *body) eachFixed(s types.Shape, visit func(at []kernel.Ref)) {
	sizes, ok := s.Ints()
	if !ok {
		panic("BUG: a small tensor has no literal extents")
	}
	at := make([]kernel.Ref, len(sizes))
	var walk func(k int)
	walk = func(k int) {
		if k == len(sizes) {
			visit(slices.Clone(at))
			return
		}
		for i := range sizes[k] {
			at[k] = b.E().Int(types.I64, i)
			walk(k + 1)
		}
	}
	walk(0)
}

// choose finds the element at an index among all elements of a small tensor.
func (b *body) choose(t types.Tensor, at, elems []kernel.Ref) kernel.Ref {
	if len(at) == 0 {
		return elems[0]
	}
	e := b.E()
	flat, size := e.Int(types.I64, 0), int64(1)
	sizes, _ := t.Shape.Ints()
	for k, i := range at {
		flat = e.Add(e.Mul(flat, e.Int(types.I64, sizes[k])), i)
		size *= sizes[k]
	}
	if size == 0 { // code that never runs
		return e.Bits(t.Elem, 0)
	}
	var pick func(lo, hi int64) kernel.Ref
	pick = func(lo, hi int64) kernel.Ref {
		if hi-lo == 1 {
			return elems[lo]
		}
		mid := (lo + hi) / 2
		return e.Select(e.Lt(flat, e.Int(types.I64, mid)), pick(lo, mid), pick(mid, hi))
	}
	return pick(0, size)
}
