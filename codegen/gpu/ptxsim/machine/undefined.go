package machine

import (
	"math/bits"
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
	bits  []Lanes  // the bits, for lanes in some and not in whole
	preds []uint32
}

// Propagation is how undefined bits of operands become undefined bits of results.
type Propagation uint8

// The ways of propagation.
const (
	SpreadAll     Propagation = iota // one bit makes the whole result undefined
	SpreadMoves                      // the instruction moves bits of some operands
	SpreadBitwise                    // each bit depends on the same bits of the operands
	SpreadAnd                        // as bitwise, but 0 and anything is 0
	SpreadOr                         // as bitwise, but 1 or anything is 1
	SpreadUp                         // a bit changes the bits above it: sums and products
	SpreadHalves                     // both halves are apart
	SpreadSelect                     // those of the operand that a predicate selects
)

// start makes the registers of lanes m undefined, and those of other lanes and the slots that are no registers defined.
func (u *undefinedness) start(f *Function, m uint32) {
	if u.some == nil {
		*u = undefinedness{make([]uint32, f.Values), make([]uint32, f.Values), make([]Lanes, f.Values),
			make([]uint32, f.Predicates)}
	}
	for i := range u.some {
		u.some[i], u.whole[i] = m, m
	}
	for i := range u.preds {
		u.preds[i] = m
	}
	for i := range f.Fixed {
		u.some[f.Fixed[i].Slot] = 0
	}
}

// Undefine makes the result of a division by zero in some lanes undefined.
func (w *Warp) Undefine(slot int32, m uint32) {
	fr := w.frame
	if !fr.tracking {
		fr.tracking = true
		fr.undefined.start(fr.fn, 0)
	}
	if fr.divided == nil {
		fr.divided = w.op.Instruction
	}
	fr.undefined.some[slot] |= m
	fr.undefined.whole[slot] |= m
}

// useUndefined stops at a use of an undefined value that matters.
func (w *Warp) useUndefined(lane int, what string) {
	switch fr := w.frame; {
	case fr.divided == nil:
		w.Fault(Uninitialised, lane, "%s depends on a register that was never written", what)
	case fr.fn.Tracked:
		w.Fault(Uninitialised, lane,
			"%s depends on a register that was never written, or on the division by zero at line %d", what,
			fr.divided.Line)
	default:
		w.Fault(DivisionByZero, lane, "%s depends on the division by zero at line %d: %s", what, fr.divided.Line,
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
func (w *Warp) track(o *Op, m uint32) {
	u := &w.frame.undefined
	any := uint32(0)
	for _, s := range o.Uses {
		any |= u.some[s]
	}
	for _, s := range o.PredicateUses {
		if s != o.Guard {
			any |= u.preds[s]
		}
	}
	any &= m
	// the common case: everything is defined
	for _, d := range o.Defs {
		u.some[d] &^= m &^ any
	}
	for _, d := range o.PredicateDefs {
		u.preds[d] &^= m &^ any
	}
	if any == 0 {
		return
	}
	if o.Spread == SpreadMoves {
		w.trackMoves(o, any)
		return
	}
	EachLane(any, func(i int) { w.trackLane(o, i) })
}

// trackLane is track for a lane in which an operand has an undefined bit.
func (w *Warp) trackLane(o *Op, i int) {
	u := &w.frame.undefined
	var all uint64 // of all operands, of the bits that count
	for k, s := range o.Uses {
		all |= u.of(s, i) & o.UsedBits[k]
	}
	p := false
	for _, s := range o.PredicateUses {
		if s != o.Guard {
			p = p || u.preds[s]>>i&1 != 0
		}
	}
	if o.Effect && (all != 0 || p) {
		w.useUndefined(i, "an operand")
	}
	if o.Loads {
		all, p = 0, false
	}
	b := uint64(0)
	switch {
	case o.Spread == SpreadSelect:
		switch holds := w.Pred(o.Selector, o.SelectorNegated)>>i&1 != 0; {
		case u.preds[o.Selector]>>i&1 != 0:
			b = ^uint64(0)
		case holds:
			b = u.of(o.Selected[0], i)
		default:
			b = u.of(o.Selected[1], i)
		}
	case p:
		b = ^uint64(0)
		p = !w.predDecided(o, i)
	case all == 0:
	case o.Spread == SpreadBitwise:
		b = all
	case o.Spread == SpreadAnd, o.Spread == SpreadOr:
		b = all
		for _, s := range o.Operands {
			v := w.Values[s][i]
			if o.Spread == SpreadOr {
				v = ^v
			}
			b &= v | u.of(s, i) // a defined 0 decides
		}
	case o.Spread == SpreadUp:
		b = -(uint64(1) << bits.TrailingZeros64(all))
	case o.Spread == SpreadHalves:
		if all&0xffff != 0 {
			b |= 0xffff
		}
		if all>>16 != 0 {
			b |= ^uint64(0xffff)
		}
	default:
		b = ^uint64(0)
	}
	for _, d := range o.Defs {
		u.set(d, i, b)
	}
	for k, d := range o.PredicateDefs {
		undefined := p || all != 0
		if o.Spread == SpreadHalves && !p && len(o.PredicateDefs) == 2 {
			undefined = all>>(16*k)&0xffff != 0
		}
		u.preds[d] &^= 1 << i
		if undefined {
			u.preds[d] |= 1 << i
		}
	}
}

// predDecided says whether and.pred or or.pred of an undefined operand is decided by the other one.
func (w *Warp) predDecided(o *Op, i int) bool {
	u := &w.frame.undefined
	if o.Decides == 0 || len(o.PredicateUses) < 2 {
		return false
	}
	for k, s := range o.PredicateUses[:2] {
		v := w.Pred(s, o.PredicatesNegated[k])>>i&1 != 0
		if u.preds[s]>>i&1 == 0 && v == (o.Decides > 0) {
			return true
		}
	}
	return false
}

// trackMoves executes an instruction that moves bits on the undefined bits themselves.
func (w *Warp) trackMoves(o *Op, m uint32) {
	u := &w.frame.undefined
	for _, s := range o.Uses {
		if !contains(o.Moved, s) && u.some[s]&m != 0 {
			// where the bits go is undefined
			EachLane(u.some[s]&m, func(i int) {
				for _, d := range o.Defs {
					u.set(d, i, ^uint64(0))
				}
			})
			m &^= u.some[s]
		}
	}
	saved := make([]Lanes, 0, len(o.Moved)+len(o.Defs))
	for _, s := range o.Moved {
		saved = append(saved, w.Values[s])
	}
	for _, d := range o.Defs {
		saved = append(saved, w.Values[d])
	}
	for k, s := range o.Moved {
		if contains(o.Moved[:k], s) {
			continue
		}
		width := ^uint64(0) >> (64 - o.MovedBits)
		EachLane(m, func(i int) { w.Values[s][i] = u.of(s, i) & width })
	}
	o.Run(w, m)
	results := make([]Lanes, len(o.Defs))
	for k, d := range o.Defs {
		results[k] = w.Values[d]
	}
	for k := len(saved) - 1; k >= 0; k-- {
		if k < len(o.Moved) {
			w.Values[o.Moved[k]] = saved[k]
		} else {
			w.Values[o.Defs[k-len(o.Moved)]] = saved[k]
		}
	}
	for k, d := range o.Defs {
		EachLane(m, func(i int) { u.set(d, i, results[k][i]) })
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
func (w *Warp) trackGuard(o *Op, m uint32) {
	if u := w.frame.undefined.preds[o.Guard] & m; u != 0 {
		w.useUndefined(FirstLane(u), "the condition")
	}
}
