package machine

import (
	"healc/codegen/gpu/ptx"
)

// Note [Divergence]
//
// The lanes of a warp that stand at one instruction of one frame are a fragment. A branch on which lanes disagree
// splits its fragment, and a join waits where the ways meet (the immediate post-dominator of the branch) for all lanes
// of the fragment that did not exit. So code after an if runs for the whole warp again, as on a GPU with a stack for
// divergence.
//
// Nothing may depend on that, however: since sm_70 lanes make progress independently, and shuffles, votes and barriers
// wait for the lanes that they name. A fragment that comes to such an instruction without all of them is put aside.
// When no fragment can run, those that are put aside at one instruction go on together if they are complete; else the
// lanes that wait at a join, innermost first, are let go before the others come; and when there are none, the lanes
// that are missing will never come, which is a fault.

// fragment is lanes of a warp that run together.
type fragment struct {
	pc   int32
	mask uint32
	fr   *frame
	top  *join // where they wait for others next
}

// join is a place where lanes wait for each other: the end of a branch, or the end of a call.
type join struct {
	pc      int32 // in fr; for a call, the instruction after it
	fr      *frame
	mask    uint32 // lanes that will come or are there
	arrived uint32
	parent  *join
	callee  *frame // of a call
}

// frame is a function being run by lanes of a warp. Lanes that called together share it.
type frame struct {
	fn     *Function
	vals   []Lanes
	preds  []uint32
	carry  uint32 // the carry flag
	area   []byte // parameters, results and variables for calls: fn.areaBytes for each lane
	local  int    // where the stack frame begins in the local memory of each lane
	caller *frame
	call   *Call // the call in caller

	tracking  bool // see Note [Undefined registers]
	undefined undefinedness
	divided   *ptx.Instruction // the first division by zero
}

// enter makes a frame of f for the lanes of m.
func (w *Warp) enter(f *Function, caller *frame, m uint32) *frame {
	wk := w.block.worker
	var fr *frame
	if pool := wk.frames[f]; len(pool) > 0 {
		fr = pool[len(pool)-1]
		wk.frames[f] = pool[:len(pool)-1]
	} else {
		fr = &frame{fn: f, vals: make([]Lanes, f.Values), preds: make([]uint32, f.Predicates),
			area: make([]byte, 32*f.AreaBytes)}
		for i := range f.Fixed {
			if x := &f.Fixed[i]; x.Kind == FixedConst {
				fillLanes(&fr.vals[x.Slot], x.Bits) // nothing writes it
			}
		}
	}
	if fr.tracking, fr.divided = f.Tracked, nil; f.Tracked {
		fr.undefined.start(f, ^uint32(0))
	}
	fr.caller, fr.call, fr.local, fr.carry = caller, nil, 0, 0
	if caller != nil {
		fr.local = ptx.AlignUp(caller.local+caller.fn.LocalBytes, 16) + w.block.dev.opts.CallBytes
	}
	for i := range f.Fixed {
		x := &f.Fixed[i]
		v := &fr.vals[x.Slot]
		switch x.Kind {
		case FixedSymbol:
			fillLanes(v, w.block.address(x.Variable)+x.Bits)
		case FixedLocal:
			fillLanes(v, uint64(fr.local+x.Variable.Offset)+x.Bits)
		case FixedSpecial:
			x.Fill(w, v)
		}
	}
	if size := fr.local + f.LocalBytes; size > w.block.dev.opts.StackBytes {
		w.Fault(StackOverflow, FirstLane(m), "%d bytes of local memory are needed, and a thread has %d", size,
			w.block.dev.opts.StackBytes)
	}
	w.growLocal(fr.local, fr.local+f.LocalBytes, m)
	return fr
}

// leave puts a frame back that no lane uses any more.
func (w *Warp) leave(fr *frame) {
	wk := w.block.worker
	fr.caller = nil
	wk.frames[fr.fn] = append(wk.frames[fr.fn], fr)
}

// branch sends the lanes of taken to the target of o and the rest of f to the next instruction. It gives the fragment
// to go on with, which is nil when all lanes wait.
func (w *Warp) branch(f *fragment, o *Op, taken uint32) *fragment {
	switch {
	case taken == f.mask:
		f.pc = o.Target
		return w.meet(f)
	case taken == 0 || o.Target == f.pc+1:
		f.pc++
		return w.meet(f)
	}
	return w.split(f, o.Join, []way{{f.pc + 1, f.mask &^ taken}, {o.Target, taken}})
}

// way is lanes that go to an instruction.
type way struct {
	pc   int32
	mask uint32
}

// split makes a fragment for each way, which meet again at pc join.
func (w *Warp) split(f *fragment, at int32, ways []way) *fragment {
	top := f.top
	if at >= 0 && (top == nil || top.pc != at || top.fr != f.fr || top.callee != nil) {
		top = &join{pc: at, fr: f.fr, mask: f.mask, parent: f.top}
	}
	next := -1
	for i, y := range ways {
		switch {
		case y.pc == at:
			top.arrived |= y.mask
		case next < 0:
			next = i
		default:
			w.ready = append(w.ready, &fragment{y.pc, y.mask, f.fr, top})
		}
	}
	f.top, f.pc, f.mask = top, ways[next].pc, ways[next].mask
	return w.meet(f)
}

// meet puts f aside if it stands at its join, and gives the fragment that goes on from there when all are there.
func (w *Warp) meet(f *fragment) *fragment {
	for f.top != nil && f.top.pc == f.pc && f.top.fr == f.fr && f.top.callee == nil {
		if f = w.arrive(f); f == nil {
			return nil
		}
	}
	return f
}

// arrive notes that f is at its join.
func (w *Warp) arrive(f *fragment) *fragment {
	j := f.top
	j.arrived |= f.mask
	if j.arrived != j.mask {
		return nil
	}
	return w.complete(j, f)
}

// complete makes f the lanes of a join that is complete.
func (w *Warp) complete(j *join, f *fragment) *fragment {
	if j.callee != nil {
		w.leave(j.callee)
		j.callee = nil
	}
	f.pc, f.mask, f.fr, f.top = j.pc, j.arrived, j.fr, j.parent
	j.mask, j.arrived = 0, 0
	return f
}

// exit ends the lanes of f.
func (w *Warp) exit(f *fragment) {
	m := f.mask
	w.Live &^= m
	for j := f.top; j != nil; {
		parent := j.parent
		j.mask &^= m
		if j.mask != 0 && j.arrived == j.mask {
			if g := w.meet(w.complete(j, &fragment{})); g != nil {
				w.ready = append(w.ready, g)
			}
		}
		j = parent
	}
}

// release lets lanes go on that wait at a join for others which cannot come before them. It says whether there were
// any.
func (w *Warp) release() bool {
	var deepest *join
	depth := -1
	for _, f := range w.aside {
		n := 0
		for j := f.top; j != nil; j = j.parent {
			n++
		}
		for j := f.top; j != nil; j = j.parent {
			if j.arrived != 0 && n > depth {
				deepest, depth = j, n
			}
			n--
		}
	}
	if deepest == nil {
		return false
	}
	m := deepest.arrived
	deepest.mask &^= m
	deepest.arrived = 0
	f := &fragment{deepest.pc, m, deepest.fr, deepest.parent}
	if g := w.meet(f); g != nil {
		w.ready = append(w.ready, g)
	}
	return true
}
