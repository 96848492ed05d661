package llvm

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [High sums]
//
// AVX2 has no arithmetic shift of 64 bits, and takes three instructions for one by 32. A sum of x >> k down columns
// that fits 32 bits, as those of sums modulo p do (lowBits in ir/ops_modsum.go), needs none: one instruction gathers
// the upper halves of two registers, one shifts them and one adds, so that two registers take three instructions where
// they took eight; and the running sums, which go to memory and back, are half as long. Gathered so they stand in the
// order that the halves of the registers give them, and are put right when all is added; with an instruction more for
// their own order in each row, sums take 1.05 of the time.

// highSum is such a sum.
type highSum struct {
	x  kernel.Ref // of an i64
	by int64      // what it is shifted by, less 32
}

// highSum recognises the sum of n elements by its body, in which something before it may be computed.
func (g *gen) highSum(s *kernel.Reduce, body *kernel.Block, n int64) *highSum {
	if g.machine.VectorBits != 256 || s.Kind != ir.ReduceSum || s.Type != types.I64 {
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
		return g.def(r, op)
	}
	shift := in[s.Val]
	if shift == nil || shift.Op != scalar.Shr {
		return nil
	}
	by := of(shift.Args[1], scalar.Const)
	if by == nil || by.Imm < 32 || by.Imm > 63 || n > 1<<(by.Imm-32) {
		return nil
	}
	return &highSum{shift.Args[0], int64(by.Imm) - 32}
}

// lanePair is the element whose upper half is in place i, when two registers take turns, and the place that element i
// has.
func lanePair(i int) int { return i/8*8 + [8]int{0, 1, 4, 5, 2, 3, 6, 7}[i%8] }

// term is what is added for elements of which x is computed.
func (h *highSum) term(g *gen, w int) value.Value {
	words := g.cur.NewBitCast(g.spread(g.env[h.x]), vec(i32, 2*w))
	halves := g.elements(words, w, func(i int) int { return 2*lanePair(i) + 1 })
	return g.cur.NewAShr(halves, g.k(ci(i32, h.by), w))
}

// sum is the sums in their own order and type.
func (h *highSum) sum(g *gen, x value.Value, w int) value.Value {
	return g.cur.NewSExt(g.elements(x, w, lanePair), vec(i64, w))
}
