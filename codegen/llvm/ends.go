package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// Note [Ends of rows]: a row whose length is no multiple of 128 ends in vectors of which the last may not be full. An
// overlapping vector would add elements twice, so the last one is masked, and the lanes behind the end keep what
// they have; what the body computes in them is dropped.

// maskedRest takes the elements [stop, hi), fewer than 128, into the lanes in mem.
func (r *reduction) maskedRest(mem, stop, hi value.Value, w int) {
	g := r.g
	vt := vec(regType(r.d), w)
	g.count(stop, hi, int64(w), nil, func(p value.Value, _ []value.Value) []value.Value {
		at := g.cur.NewBitCast(g.cur.NewGetElementPtr(regType(r.d), mem, g.cur.NewSub(p, stop)), lt.NewPointer(vt))
		g.w = w
		left := g.splat(g.cur.NewTrunc(g.cur.NewSub(hi, p), i32))
		g.w = 0
		mask := g.cur.NewICmp(enum.IPredSLT, span(0, w), left)
		g.mask = mask
		x := r.vectorAt(p, w)
		g.mask = nil
		old := g.cur.NewLoad(vt, at)
		old.Align = lir.Align(r.slotBytes())
		st := g.cur.NewStore(g.cur.NewSelect(mask, r.combine(old, x, w), old), at)
		st.Align = lir.Align(r.slotBytes())
		return nil
	})
}
