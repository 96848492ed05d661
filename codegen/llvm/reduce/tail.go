package reduce

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

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
		left := g.SplatTo(g.Cur.NewTrunc(g.Cur.NewSub(hi, p), build.I32), w)
		mask := g.Cur.NewICmp(enum.IPredSLT, build.IotaMask(0, w), left)
		var x value.Value
		g.Masked(mask, func() { x = r.vectorAt(p, w) })
		old := g.Cur.NewLoad(vt, at)
		old.Align = lir.Align(r.slotBytes())
		st := g.Cur.NewStore(g.Cur.NewSelect(mask, r.Combine(old, x, w), old), at)
		st.Align = lir.Align(r.slotBytes())
		return nil
	})
}
