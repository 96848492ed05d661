package ptxsim

// Note [Undefined registers]
//
// Compilers leave registers without a value on ways where it does not matter, and may compute with them there. So reading
// one is no fault: the result is undefined, too, lane by lane. It is a fault when an undefined value matters: as an address, as
// what is stored, as the condition of a branch, as an operand of a shuffle, a barrier or an atomic. Only functions with a
// way on which a register is read before it is written pay for that (function.tracked, found by flow.go).

// nregs is the number of slots that have to be cleared for a new frame; fixed slots are set again after that.
func (f *function) nregs() int { return f.nvals }

// track passes definedness from the operands of o to its results.
func (w *warp) track(o *op, m uint32) {
	fr := w.frame
	d := m
	if o.selects {
		p := w.pred(o.selp, o.selNot)
		d &= fr.pdefined[o.selp]
		d &= p&fr.defined[o.sel[0]] | ^p&fr.defined[o.sel[1]]
	} else {
		for _, u := range o.uses {
			d &= fr.defined[u]
		}
		for _, u := range o.puses {
			if o.guard < 0 || u != o.guard {
				d &= fr.pdefined[u]
			}
		}
	}
	if o.effect && d != m {
		w.undefined(o, m&^d)
	}
	if o.loads {
		d = m
	}
	for _, x := range o.defs {
		fr.defined[x] = fr.defined[x]&^m | d
	}
	for _, x := range o.pdefs {
		fr.pdefined[x] = fr.pdefined[x]&^m | d
	}
}

// trackGuard stops when the guard has no value.
func (w *warp) trackGuard(o *op, m uint32) {
	if d := w.frame.pdefined[o.guard]; m&^d != 0 {
		w.undefined(o, m&^d)
	}
}

func (w *warp) undefined(o *op, m uint32) {
	w.fault(Uninitialised, lane(m), "an operand depends on a register that was never written")
}
