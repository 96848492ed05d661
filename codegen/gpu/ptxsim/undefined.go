package ptxsim

import (
	"math/bits"

	"healc/codegen/gpu/ptx"
)

// Note [Undefined registers]
//
// Compilers leave registers, or halves of them, without a value on ways where it does not matter, and may compute with
// them there. So reading one is no fault: the result is undefined, too, as far as it depends on it, bit by bit: `and`
// with a constant makes bits defined, packing and shifting move them. It is a fault when an undefined bit matters: in
// an address, in what is stored, in the condition of a branch, in an operand of a shuffle, a barrier or an atomic. The
// same holds for what a division by zero gives, which compilers may do before they look at the divisor. Only functions
// with a way on which a register is read before it is written (function.tracked, found by flow.go) and frames in which
// a divisor was zero pay for that.

// undefinedness says which bits of the registers of a frame have no value.
type undefinedness struct {
	some  []uint32 // lanes of a slot with at least one such bit
	whole []uint32 // lanes of a slot where all bits are such
	bits  []lanes  // the bits, for lanes in some and not in whole
	preds []uint32
}

// propagation is how undefined bits of operands become undefined bits of results.
type propagation uint8

const (
	spreadAll     propagation = iota // one bit makes the whole result undefined
	spreadMoves                      // the instruction moves bits of some operands
	spreadBitwise                    // each bit depends on the same bits of the operands
	spreadAnd                        // as bitwise, but 0 and anything is 0
	spreadOr                         // as bitwise, but 1 or anything is 1
	spreadUp                         // a bit changes the bits above it: sums and products
	spreadHalves                     // both halves are apart
	spreadSelect                     // selp
)

// moves says that the instruction moves the bits of these operands of type t, as the others say.
func (c *compiler) moves(t ptx.Type, slots ...int32) {
	c.o.spread, c.o.moved, c.o.width = spreadMoves, slots, t.Bits()
}

// start makes the registers of lanes m undefined, and those of other lanes and the slots that are no registers defined.
func (u *undefinedness) start(f *function, m uint32) {
	if u.some == nil {
		*u = undefinedness{make([]uint32, f.nvals), make([]uint32, f.nvals), make([]lanes, f.nvals),
			make([]uint32, f.npreds)}
	}
	for i := range u.some {
		u.some[i], u.whole[i] = m, m
	}
	for i := range u.preds {
		u.preds[i] = m
	}
	for i := range f.fixed {
		u.some[f.fixed[i].slot] = 0
	}
}

// undefine makes the result of a division by zero in some lanes undefined.
func (w *warp) undefine(slot int32, m uint32) {
	fr := w.frame
	if !fr.tracking {
		fr.tracking = true
		fr.undefined.start(fr.fn, 0)
	}
	if fr.divided == nil {
		fr.divided = w.op.in
	}
	fr.undefined.some[slot] |= m
	fr.undefined.whole[slot] |= m
}

// useUndefined stops at a use of an undefined value that matters.
func (w *warp) useUndefined(lane int, what string) {
	switch fr := w.frame; {
	case fr.divided == nil:
		w.fault(Uninitialised, lane, "%s depends on a register that was never written", what)
	case fr.fn.tracked:
		w.fault(Uninitialised, lane,
			"%s depends on a register that was never written, or on the division by zero at line %d", what,
			fr.divided.Line)
	default:
		w.fault(DivisionByZero, lane, "%s depends on the division by zero at line %d: %s", what, fr.divided.Line,
			w.block.m.Line(fr.divided.Line))
	}
}

// of is the undefined bits of a slot in a lane.
func (u *undefinedness) of(slot int32, i int) uint64 {
	switch {
	case u.some[slot]>>i&1 == 0:
		return 0
	case u.whole[slot]>>i&1 != 0:
		return ^uint64(0)
	}
	return u.bits[slot][i]
}

// set sets them.
func (u *undefinedness) set(slot int32, i int, b uint64) {
	u.some[slot] &^= 1 << i
	u.whole[slot] &^= 1 << i
	if b != 0 {
		u.some[slot] |= 1 << i
		u.bits[slot][i] = b
	}
}

// track passes undefined bits from the operands of o to its results, before o runs in the lanes of m.
func (w *warp) track(o *op, m uint32) {
	u := &w.frame.undefined
	any := uint32(0)
	for _, s := range o.uses {
		any |= u.some[s]
	}
	for _, s := range o.puses {
		if s != o.guard {
			any |= u.preds[s]
		}
	}
	any &= m
	// the common case: everything is defined
	for _, d := range o.defs {
		u.some[d] &^= m &^ any
	}
	for _, d := range o.pdefs {
		u.preds[d] &^= m &^ any
	}
	if any == 0 {
		return
	}
	if o.spread == spreadMoves {
		w.trackMoves(o, any)
		return
	}
	each(any, func(i int) { w.trackLane(o, i) })
}

// trackLane is track for a lane in which an operand has an undefined bit.
func (w *warp) trackLane(o *op, i int) {
	u := &w.frame.undefined
	var all uint64 // of all operands, of the bits that count
	for k, s := range o.uses {
		all |= u.of(s, i) & o.counts[k]
	}
	p := false
	for _, s := range o.puses {
		if s != o.guard {
			p = p || u.preds[s]>>i&1 != 0
		}
	}
	if o.effect && (all != 0 || p) {
		w.useUndefined(i, "an operand")
	}
	if o.loads {
		all, p = 0, false
	}
	b := uint64(0)
	switch {
	case o.spread == spreadSelect:
		switch holds := w.pred(o.selp, o.selNot)>>i&1 != 0; {
		case u.preds[o.selp]>>i&1 != 0:
			b = ^uint64(0)
		case holds:
			b = u.of(o.sel[0], i)
		default:
			b = u.of(o.sel[1], i)
		}
	case p:
		b = ^uint64(0)
		p = !w.predDecided(o, i)
	case all == 0:
	case o.spread == spreadBitwise:
		b = all
	case o.spread == spreadAnd, o.spread == spreadOr:
		b = all
		for _, s := range o.operands {
			v := w.vals[s][i]
			if o.spread == spreadOr {
				v = ^v
			}
			b &= v | u.of(s, i) // a defined 0 decides
		}
	case o.spread == spreadUp:
		b = -(uint64(1) << bits.TrailingZeros64(all))
	case o.spread == spreadHalves:
		if all&0xffff != 0 {
			b |= 0xffff
		}
		if all>>16 != 0 {
			b |= ^uint64(0xffff)
		}
	default:
		b = ^uint64(0)
	}
	for _, d := range o.defs {
		u.set(d, i, b)
	}
	for k, d := range o.pdefs {
		undefined := p || all != 0
		if o.spread == spreadHalves && !p && len(o.pdefs) == 2 {
			undefined = all>>(16*k)&0xffff != 0
		}
		u.preds[d] &^= 1 << i
		if undefined {
			u.preds[d] |= 1 << i
		}
	}
}

// predDecided says whether and.pred or or.pred of an undefined operand is decided by the other one.
func (w *warp) predDecided(o *op, i int) bool {
	u := &w.frame.undefined
	if o.decides == 0 || len(o.puses) < 2 {
		return false
	}
	for k, s := range o.puses[:2] {
		v := w.pred(s, o.negated[k])>>i&1 != 0
		if u.preds[s]>>i&1 == 0 && v == (o.decides > 0) {
			return true
		}
	}
	return false
}

// trackMoves executes an instruction that moves bits on the undefined bits themselves.
func (w *warp) trackMoves(o *op, m uint32) {
	u := &w.frame.undefined
	for _, s := range o.uses {
		if !contains(o.moved, s) && u.some[s]&m != 0 {
			// where the bits go is undefined
			each(u.some[s]&m, func(i int) {
				for _, d := range o.defs {
					u.set(d, i, ^uint64(0))
				}
			})
			m &^= u.some[s]
		}
	}
	saved := make([]lanes, 0, len(o.moved)+len(o.defs))
	for _, s := range o.moved {
		saved = append(saved, w.vals[s])
	}
	for _, d := range o.defs {
		saved = append(saved, w.vals[d])
	}
	for k, s := range o.moved {
		if contains(o.moved[:k], s) {
			continue
		}
		width := mask(o.width)
		each(m, func(i int) { w.vals[s][i] = u.of(s, i) & width })
	}
	o.run(w, m)
	results := make([]lanes, len(o.defs))
	for k, d := range o.defs {
		results[k] = w.vals[d]
	}
	for k := len(saved) - 1; k >= 0; k-- {
		if k < len(o.moved) {
			w.vals[o.moved[k]] = saved[k]
		} else {
			w.vals[o.defs[k-len(o.moved)]] = saved[k]
		}
	}
	for k, d := range o.defs {
		each(m, func(i int) { u.set(d, i, results[k][i]) })
	}
}

func contains(s []int32, x int32) bool {
	for _, y := range s {
		if x == y {
			return true
		}
	}
	return false
}

// trackGuard stops when the guard has no value.
func (w *warp) trackGuard(o *op, m uint32) {
	if u := w.frame.undefined.preds[o.guard] & m; u != 0 {
		w.useUndefined(lane(u), "the condition")
	}
}
