package machine

import (
	"fmt"
	"math/bits"
)

// Warp is 32 threads of a block. Values and preds are those of the frame that runs.
type Warp struct {
	block *block
	index int
	Live  uint32 // lanes that did not exit

	cur   *fragment   // runs
	ready []*fragment // can run, the last one first
	aside []*fragment // wait at an OpSync or OpBarrier

	Values []Lanes
	preds  []uint32
	frame  *frame
	entry  *frame // of the kernel
	local  [32]*Region
	clock  int          // see Note [Races]
	known  *[32][32]int // after a bar.warp.sync of some lanes: the clock of each lane that each one knows
	status warpStatus   // after run
	op     *Op          // at work, for faults
	at     *Op          // the barrier where it waits
	copies [32]asyncCopies
}

// warpStatus is why a warp stopped running.
type warpStatus uint8

const (
	warpReady warpStatus = iota
	warpBarrier
	warpDone
)

// slice is how many instructions a warp or fragment runs before another one gets a turn.
const slice = 1 << 14

// run executes instructions until the warp is done, waits at a barrier of the block, or had its turn.
func (w *Warp) run() {
	for n := 0; n < 4; n++ {
		if w.cur == nil && !w.next() {
			return
		}
		w.execute()
		if w.status != warpReady {
			return
		}
		// another fragment gets a turn, so that it can do what this one may wait for
		if w.cur != nil && len(w.ready) > 0 {
			w.cur, w.ready[0] = w.ready[0], w.cur
		}
	}
}

// next chooses the fragment to run. It answers false when the warp is done or at a barrier.
func (w *Warp) next() bool {
	for {
		if n := len(w.ready); n > 0 {
			f := w.ready[n-1]
			w.ready = w.ready[:n-1]
			if w.cur = w.meet(f); w.cur != nil {
				return true
			}
			continue
		}
		if w.Live == 0 {
			w.status = warpDone
			return false
		}
		if w.resume() || w.release() {
			continue
		}
		if w.gather() {
			return false
		}
		w.stuck()
	}
}

// resume finds fragments that are aside at one OpSync with all lanes that it names, executes it and makes them ready.
func (w *Warp) resume() bool {
	for _, f := range w.aside {
		o := &f.fr.fn.Code[f.pc]
		if o.Kind != OpSync {
			continue
		}
		var m uint32
		for _, g := range w.aside {
			if g.pc == f.pc && g.fr == f.fr {
				m |= g.mask
			}
		}
		w.use(f)
		if !w.complete32(o, m) {
			continue
		}
		o.Run(w, m)
		w.wake(f.fr, f.pc)
		return true
	}
	return false
}

// wake makes the fragments ready that are aside at an instruction, behind it.
func (w *Warp) wake(fr *frame, pc int32) {
	rest := w.aside[:0]
	var woken *fragment
	for _, f := range w.aside {
		switch {
		case f.pc != pc || f.fr != fr:
			rest = append(rest, f)
		case woken != nil && woken.top == f.top:
			woken.mask |= f.mask
		default:
			if woken == nil {
				woken = f
			}
			f.pc++
			w.ready = append(w.ready, f)
		}
	}
	w.aside = rest
}

// complete32 says whether the lanes of m are all that the member mask of o names, or those of them that did not exit.
func (w *Warp) complete32(o *Op, m uint32) bool {
	members := &w.Values[o.Members]
	for x := m; x != 0; x &= x - 1 {
		if uint32(members[FirstLane(x)])&w.Live&^m != 0 {
			return false
		}
	}
	return true
}

// gather says whether all lanes are aside at one barrier of the block.
func (w *Warp) gather() bool {
	var m uint32
	f := w.aside[0]
	for _, g := range w.aside {
		if g.pc != f.pc || g.fr != f.fr {
			return false
		}
		m |= g.mask
	}
	if o := &f.fr.fn.Code[f.pc]; o.Kind != OpBarrier || m != w.Live {
		return false
	}
	w.barrier(f)
	return true
}

// barrier stops the warp at the barrier where f stands.
func (w *Warp) barrier(f *fragment) {
	w.use(f)
	w.status, w.at = warpBarrier, &f.fr.fn.Code[f.pc]
}

// stuck reports lanes that wait for others which wait elsewhere.
func (w *Warp) stuck() {
	f := w.aside[0]
	w.use(f)
	o := &f.fr.fn.Code[f.pc]
	kind := WarpDivergence
	if o.Kind == OpBarrier {
		kind = BarrierDivergence
	}
	other := ""
	for _, g := range w.aside[1:] {
		if g.pc != f.pc || g.fr != f.fr {
			line := g.fr.fn.Code[g.pc].Instruction.Line
			other = fmt.Sprintf("lanes %#x wait at line %d: %s", g.mask, line, w.block.m.Line(line))
			break
		}
	}
	if other == "" && o.Kind == OpSync {
		other = fmt.Sprintf("the member mask is %#x", uint32(w.Values[o.Members][FirstLane(f.mask)]))
	}
	w.Fault(kind, FirstLane(f.mask), "lanes %#x of warp %d wait here for lanes that never come; %s", f.mask, w.index,
		other)
}

// use makes the frame of f the one that instructions see.
func (w *Warp) use(f *fragment) {
	w.op = &f.fr.fn.Code[f.pc]
	w.frame, w.Values, w.preds = f.fr, f.fr.vals, f.fr.preds
}

// execute runs w.cur for a while. Afterwards w.cur is nil if its lanes wait or are done.
func (w *Warp) execute() {
	f := w.cur
	wk := w.block.worker
	for range slice {
		if f == nil {
			break
		}
		if f.fr != w.frame {
			w.use(f)
		}
		o := &f.fr.fn.Code[f.pc]
		m := f.mask
		wk.count += int64(bits.OnesCount32(m))
		w.op = o
		if o.Guard >= 0 {
			if w.frame.tracking {
				w.trackGuard(o, m)
			}
			m &= w.Pred(o.Guard, o.GuardNegated)
		}
		switch o.Kind {
		case OpPlain:
			if m != 0 {
				if w.frame.tracking {
					w.track(o, m)
				}
				o.Run(w, m)
			}
			f.pc++
			if f.top != nil && f.top.pc == f.pc {
				f = w.meet(f)
			}
		case OpBranch:
			f = w.branch(f, o, m)
		default:
			f = w.control(f, o)
			if w.status != warpReady {
				w.cur = nil
				return
			}
		}
	}
	w.cur = f
	wk.limit(w)
}

// control executes what is neither plain nor a branch; its guard is none.
func (w *Warp) control(f *fragment, o *Op) *fragment {
	if w.frame.tracking {
		w.track(o, f.mask)
	}
	switch o.Kind {
	case OpIndexed:
		var ways []way
		for m := f.mask; m != 0; {
			i := w.Values[o.Index][FirstLane(m)]
			var y way
			for x := m; x != 0; x &= x - 1 {
				if w.Values[o.Index][FirstLane(x)] == i {
					y.mask |= x & -x
				}
			}
			if i >= uint64(len(o.Targets)) {
				w.Fault(Undefined, FirstLane(y.mask), "index %d into %d targets", i, len(o.Targets))
			}
			y.pc = o.Targets[i]
			ways = append(ways, y)
			m &^= y.mask
		}
		return w.ways(f, o, ways)
	case OpCall:
		f.pc++
		w.call(f, o)
		return f
	case OpReturn:
		if f.fr.caller == nil {
			w.exit(f)
			return nil
		}
		w.results(f)
		if f = w.arrive(f); f != nil {
			f = w.meet(f)
		}
		return f
	case OpExit:
		w.exit(f)
		return nil
	case OpTrap:
		w.Fault(Trap, FirstLane(f.mask), "the kernel stopped itself")
	case OpSync:
		if !w.complete32(o, f.mask) {
			w.aside = append(w.aside, f)
			return nil
		}
		o.Run(w, f.mask)
		f.pc++
		return w.meet(f)
	case OpBarrier:
		w.aside = append(w.aside, f)
		if f.mask == w.Live {
			w.barrier(f)
		}
		return nil
	}
	panic("BUG: ptxsim: an operation without a kind")
}

// ways is branch for several targets.
func (w *Warp) ways(f *fragment, o *Op, ways []way) *fragment {
	// ways to one target are one
	merged := ways[:0]
next:
	for _, y := range ways {
		for i := range merged {
			if merged[i].pc == y.pc {
				merged[i].mask |= y.mask
				continue next
			}
		}
		merged = append(merged, y)
	}
	if len(merged) == 1 {
		f.pc = merged[0].pc
		return w.meet(f)
	}
	return w.split(f, o.Join, merged)
}

// Fault stops the launch.
func (w *Warp) Fault(kind Kind, lane int, format string, args ...any) {
	in := w.op.Instruction
	m := w.block.m
	fn := w.block.entry
	if w.frame != nil {
		fn = w.frame.fn
	}
	source := ""
	if in.Location.Line > 0 {
		source = fmt.Sprintf("%s:%d:%d", m.Files[in.Location.File], in.Location.Line, in.Location.Column)
	}
	panic(&Fault{
		Kind: kind, Module: m.Name, Entry: w.block.entry.Name, Func: fn.Name,
		Line: in.Line, Text: m.Line(in.Line), Source: source,
		Block: w.block.id, Thread: w.block.threadID(w.index*32 + lane), Detail: fmt.Sprintf(format, args...),
	})
}
