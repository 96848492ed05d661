package reduce

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
)

// Note [Ragged rows]
//
// A reduction over several axes goes along the rows of the last one. Where these are no whole vectors, a row begins in
// any of the 128 lanes. The accumulators stay in registers while a row lasts, with the lane of its first element first;
// its last elements, fewer than 128, go into memory under masks. From there the accumulators come back turned by as
// many lanes, for the next row. Where the order of a reduction is free there is nothing to turn.

// ragged reports that rows are gone along so.
func ragged(d *kernel.Directive) bool { return kernel.Directives(d.Sub).OfKind("ragged") != nil }

// alongRows runs body for the elements of [lo, hi) in each row, and carries a state.
func (r *Reduction) alongRows(lo, hi value.Value, init []value.Value,
	body func(begin, end value.Value, state []value.Value) []value.Value) []value.Value {
	g := r.G
	size := r.dims[len(r.dims)-1]
	one := build.Int(build.I64, 1)
	some := g.Cur.NewICmp(enum.IPredSLT, lo, hi)
	return g.If(some, init, func() []value.Value {
		first := g.Cur.NewUDiv(lo, size)
		last := g.Cur.NewUDiv(g.Cur.NewSub(hi, one), size)
		return g.For(first, g.Cur.NewAdd(last, one), 1, init, func(i value.Value, s []value.Value) []value.Value {
			start := g.Cur.NewMul(i, size)
			begin := g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSGT, lo, start), lo, start)
			end := r.minInt(hi, g.Cur.NewAdd(start, size))
			r.goTo(start, false)
			r.row = start
			defer func() { r.row = nil }()
			return body(begin, end, s)
		})
	})
}

// chunkByRows reduces at most 4096 elements in 128 lanes.
func (r *Reduction) chunkByRows(lo, hi value.Value, w int) value.Value {
	g := r.G
	groups := kernel.NumLanes / w
	mem := g.Stack(build.RegisterType(r.D), 2*kernel.NumLanes)
	// turned are the lanes in memory from number by on, and behind the last one the first ones.
	turned := func(by value.Value) []value.Value {
		for i := range groups {
			r.toLane(mem, groups+i, r.lane(mem, i, w), w)
		}
		out := make([]value.Value, groups)
		from := g.Cur.NewGetElementPtr(build.RegisterType(r.D), mem, by)
		for i := range out {
			out[i] = r.lane(from, i, w)
		}
		return out
	}
	keep := func(accs []value.Value) {
		for i, x := range accs {
			r.toLane(mem, i, x, w)
		}
	}
	accs := r.alongRows(lo, hi, r.identities(groups, w), func(begin, end value.Value, s []value.Value) []value.Value {
		stop := g.Cur.NewAdd(begin, g.RoundDown(g.Cur.NewSub(end, begin), kernel.NumLanes))
		accs := g.For(begin, stop, kernel.NumLanes, s, func(p value.Value, s []value.Value) []value.Value {
			next := make([]value.Value, groups)
			for i := range next {
				next[i] = r.Combine(s[i], r.vectorAt(g.Add(p, build.Int(build.I64, int64(i*w))), w), w)
			}
			return next
		})
		return g.If(g.Cur.NewICmp(enum.IPredSLT, stop, end), accs, func() []value.Value {
			keep(accs)
			r.maskedRest(mem, stop, end, w)
			return turned(g.Cur.NewSub(end, stop))
		})
	})
	keep(accs)
	lanes := build.Int(build.I64, kernel.NumLanes-1)
	return r.foldVectors(turned(g.Cur.NewAnd(g.Cur.NewSub(lo, hi), lanes)), w)
}

// combineRows combines elements in an order that suits the machine, with so many accumulators.
func (r *Reduction) combineRows(lo, hi value.Value, w, groups int) value.Value {
	g := r.G
	accs := r.alongRows(lo, hi, r.identities(groups, w), func(begin, end value.Value, s []value.Value) []value.Value {
		step := int64(w * groups)
		stop := g.Cur.NewAdd(begin, g.RoundDown(g.Cur.NewSub(end, begin), step))
		accs := g.For(begin, stop, step, s, func(p value.Value, s []value.Value) []value.Value {
			next := make([]value.Value, groups)
			for i := range next {
				next[i] = r.Combine(s[i], r.vectorAt(g.Add(p, build.Int(build.I64, int64(i*w))), w), w)
			}
			return next
		})
		first := g.For(stop, end, int64(w), accs[:1], func(p value.Value, s []value.Value) []value.Value {
			mask, x := r.maskedAt(p, end, w)
			return []value.Value{g.Cur.NewSelect(mask, r.Combine(s[0], x, w), s[0])}
		})
		return append(first, accs[1:]...)
	})
	sum := accs[0]
	for _, x := range accs[1:] {
		sum = r.Combine(sum, x, w)
	}
	return r.foldVector(sum, w)
}

// maskedAt is a vector of those elements from p on that are below hi, and their mask.
func (r *Reduction) maskedAt(p, hi value.Value, w int) (mask, x value.Value) {
	g := r.G
	left := g.SplatTo(g.Cur.NewTrunc(g.Cur.NewSub(hi, p), build.I32), w)
	mask = g.Cur.NewICmp(enum.IPredSLT, build.IotaMask(0, w), left)
	g.Masked(mask, func() { x = r.vectorAt(p, w) })
	return mask, x
}

// Note [Masked remainders]: a row whose length is no multiple of 128 ends in vectors of which the last may not be full.
// An overlapping vector would add elements twice, so the last one is masked, and the lanes behind the end keep their
// values. The numbers that the body computes in them are dropped.

// maskedRest takes the elements [stop, hi), fewer than 128, into the lanes in mem.
func (r *Reduction) maskedRest(mem, stop, hi value.Value, w int) {
	g := r.G
	vt := build.Vector(build.RegisterType(r.D), w)
	g.For(stop, hi, int64(w), nil, func(p value.Value, _ []value.Value) []value.Value {
		at := g.Cur.NewBitCast(g.Cur.NewGetElementPtr(build.RegisterType(r.D), mem, g.Cur.NewSub(p, stop)),
			lt.NewPointer(vt))
		mask, x := r.maskedAt(p, hi, w)
		old := g.Cur.NewLoad(vt, at)
		old.Align = lir.Align(r.slotBytes())
		st := g.Cur.NewStore(g.Cur.NewSelect(mask, r.Combine(old, x, w), old), at)
		st.Align = lir.Align(r.slotBytes())
		return nil
	})
}
