package loops

import (
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/lang/types"
)

// shuffled loads the elements base, base+step, ... of param for 1 < |step| <= schedule.MaxShuffled: |step| vectors of
// neighbours, of which shuffles pick. Nothing is read before the first element or behind the last: the last vector ends
// there and overlaps the one before.
func shuffled(g *emit.Func, param int, d types.DType, base value.Value, step int64) value.Value {
	vt := build.Vector(build.MemoryType(d), g.Width)
	w, s := int64(g.Width), step
	at := base
	if s < 0 {
		s = -s
		at = g.Add(base, build.Int(build.I64, step*(w-1)))
	}
	// Element i of the result, in order of addresses, is at s*i: in vector i*s/w at first, in the last one from
	// where that begins.
	lastAt := s*(w-1) + 1 - w
	var out value.Value
	have := map[int64]bool{}
	for c := range s {
		from := c * w
		if c == s-1 {
			from = lastAt
		}
		l := g.Cur.NewLoad(vt, g.Cur.NewBitCast(g.Addr(param, g.Add(at, build.Int(build.I64, from))),
			lt.NewPointer(vt)))
		l.Align = g.Align(d)
		if out == nil {
			out = l
			// The first vector is picked from together with the second.
			continue
		}
		mask := make([]constant.Constant, w)
		for i := range w {
			k := i // position in the result by addresses
			if step < 0 {
				k = w - 1 - i
			}
			e := s * k
			switch {
			case c == 1 && e < w: // of the first vector
				mask[i] = build.Int(build.I32, e)
				have[i] = true
			case have[i]:
				mask[i] = build.Int(build.I32, i)
			case e >= from && e < from+w:
				mask[i] = build.Int(build.I32, w+e-from)
				have[i] = true
			default: // of a later one
				mask[i] = constant.NewUndef(build.I32)
			}
		}
		out = g.Cur.NewShuffleVector(out, l, constant.NewVector(nil, mask...))
	}
	return out
}
