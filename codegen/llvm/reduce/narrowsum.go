package reduce

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Narrowed accumulators]
//
// AVX2 has no arithmetic shift of 64 bits, and takes three instructions for one by 32. A sum of x >> k down columns
// that fits 32 bits, as those of sums modulo p do (lowBits in ir/ops/modsum.go), needs none: one instruction packs the
// upper halves of two registers, one shifts them and one adds. The running sums are half as long, too. They stand in
// the order of the halves of the registers, and are put into the order of the elements at the end
// (docs/tuning/column-reductions.md).

// narrowSum is such a sum.
type narrowSum struct {
	x  kernel.Ref // of an i64
	by int64      // the shift, less 32
}

// narrowSumOf recognises the sum of n elements by its body, in which something before it may be computed.
func narrowSumOf(g *emit.Func, s *kernel.Reduce, body *kernel.Block, n int64) *narrowSum {
	if g.Machine.VectorBits != 256 || s.Kind != ir.ReduceSum || s.Type != types.I64 {
		return nil
	}
	in := map[kernel.Ref]*scalar.Instr{}
	for _, st := range body.Stmts {
		if l, ok := st.(*kernel.Let); ok {
			in[l.ID] = &l.In
		}
	}
	of := func(r kernel.Ref, op scalar.Op) *scalar.Instr {
		if i := in[r]; i != nil && i.Op == op {
			return i
		}
		return g.Def(r, op)
	}
	shift := in[s.Val]
	if shift == nil || shift.Op != scalar.Shr {
		return nil
	}
	by := of(shift.Args[1], scalar.Const)
	if by == nil || by.Imm < 32 || by.Imm > 63 || n > 1<<(by.Imm-32) {
		return nil
	}
	return &narrowSum{shift.Args[0], int64(by.Imm) - 32}
}

// lanePair is the element whose upper half is in place i, when two registers take turns, and the place that element i
// has.
func lanePair(i int) int { return i/8*8 + [8]int{0, 1, 4, 5, 2, 3, 6, 7}[i%8] }

// term is the summand for elements of which x is computed.
func (h *narrowSum) term(g *emit.Func, w int) value.Value {
	words := g.Cur.NewBitCast(g.Spread(g.Env[h.x]), build.Vector(build.I32, 2*w))
	halves := g.Permute(words, w, func(i int) int { return 2*lanePair(i) + 1 })
	return g.Cur.NewAShr(halves, g.ConstOf(build.Int(build.I32, h.by), w))
}

// sum is the sums in their own order and type.
func (h *narrowSum) sum(g *emit.Func, x value.Value, w int) value.Value {
	return g.Cur.NewSExt(g.Permute(x, w, lanePair), build.Vector(build.I64, w))
}
