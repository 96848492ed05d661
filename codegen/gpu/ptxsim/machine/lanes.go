package machine

import "math/bits"

// Lanes is one value for each lane of a warp, zero-extended from the width of its register.
type Lanes [32]uint64

// FirstLane is the first lane of a mask.
func FirstLane(m uint32) int { return bits.TrailingZeros32(m) & 31 }

// EachLane calls f for the lanes of m.
func EachLane(m uint32, f func(i int)) {
	for ; m != 0; m &= m - 1 {
		f(bits.TrailingZeros32(m))
	}
}

// Pred is the lanes where a predicate, or its negation, holds.
func (w *Warp) Pred(s int32, not bool) uint32 {
	if not {
		return ^w.preds[s]
	}
	return w.preds[s]
}

// SetPred sets a predicate for the lanes of m; slot -1 is nowhere.
func (w *Warp) SetPred(s int32, v, m uint32) {
	if s >= 0 {
		w.preds[s] = w.preds[s]&^m | v&m
	}
}

// CheckMembers stops if a lane of m is not in its own member mask, which is in a slot.
func (w *Warp) CheckMembers(members int32, m uint32) {
	M := &w.Values[members]
	EachLane(m, func(i int) {
		if M[i]>>i&1 == 0 {
			w.Fault(WarpDivergence, i, "lane %d is not in its member mask %#x", i, M[i])
		}
	})
}

// Carry is the carry flags of the lanes.
func (w *Warp) Carry() uint32 { return w.frame.carry }

// SetCarry sets them.
func (w *Warp) SetCarry(flags uint32) { w.frame.carry = flags }
