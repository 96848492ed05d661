package reduce

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
)

// Note [Narrowed accumulators]
//
// AVX2 has no arithmetic shift of 64 bits, and takes three instructions for one by 32. A sum of x >> k down columns
// that fits 32 bits, as those of sums modulo p do (lowBits in ir/ops/modsum.go), needs none: one instruction packs the
// upper halves of two registers, one shifts them and one adds. The running sums are half as long, too. They stand in
// the order of the halves of the registers, and are put into the order of the elements at the end
// (docs/tuning/column-reductions.md).

// narrowSum is such a sum.
type narrowSum schedule.NarrowSum

// lanePair is the element whose upper half is in place i, when two registers take turns, and the place that element i
// has.
func lanePair(i int) int { return i/8*8 + [8]int{0, 1, 4, 5, 2, 3, 6, 7}[i%8] }

// term is the summand for elements of which x is computed.
func (h *narrowSum) term(g *emit.Func, w int) value.Value {
	words := g.Cur.NewBitCast(g.Spread(g.Env[h.X]), build.Vector(build.I32, 2*w))
	halves := g.Permute(words, w, func(i int) int { return 2*lanePair(i) + 1 })
	return g.Cur.NewAShr(halves, g.ConstOf(build.Int(build.I32, h.By), w))
}

// sum is the sums in their own order and type.
func (h *narrowSum) sum(g *emit.Func, x value.Value, w int) value.Value {
	return g.Cur.NewSExt(g.Permute(x, w, lanePair), build.Vector(build.I64, w))
}
