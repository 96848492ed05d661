package ptxsim

import (
	"fmt"
	"math/bits"
)

// warp is 32 threads of a block. vals and preds are those of the frame that runs.
type warp struct {
	block *block
	index int
	live  uint32 // lanes that did not exit

	cur   *fragment   // runs
	ready []*fragment // can run, the last one first
	aside []*fragment // wait at an opSync or opBarrier

	vals   []lanes
	preds  []uint32
	frame  *frame
	entry  *frame // of the kernel
	local  [32]*region
	clock  int          // see Note [Races]
	known  *[32][32]int // after a bar.warp.sync of some lanes: the clock of each lane that each one knows
	status warpStatus   // after run
	op     *op          // at work, for faults
	at     *op          // the barrier where it waits
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
func (w *warp) run() {
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
func (w *warp) next() bool {
	for {
		if n := len(w.ready); n > 0 {
			f := w.ready[n-1]
			w.ready = w.ready[:n-1]
			if w.cur = w.meet(f); w.cur != nil {
				return true
			}
			continue
		}
		if w.live == 0 {
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

// resume finds fragments that are aside at one opSync with all lanes that it names, executes it and makes them ready.
func (w *warp) resume() bool {
	for _, f := range w.aside {
		o := &f.fr.fn.code[f.pc]
		if o.kind != opSync {
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
		o.run(w, m)
		w.wake(f.fr, f.pc)
		return true
	}
	return false
}

// wake makes the fragments ready that are aside at an instruction, behind it.
func (w *warp) wake(fr *frame, pc int32) {
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
func (w *warp) complete32(o *op, m uint32) bool {
	members := &w.vals[o.members]
	for x := m; x != 0; x &= x - 1 {
		if uint32(members[lane(x)])&w.live&^m != 0 {
			return false
		}
	}
	return true
}

// gather says whether all lanes are aside at one barrier of the block.
func (w *warp) gather() bool {
	var m uint32
	f := w.aside[0]
	for _, g := range w.aside {
		if g.pc != f.pc || g.fr != f.fr {
			return false
		}
		m |= g.mask
	}
	if o := &f.fr.fn.code[f.pc]; o.kind != opBarrier || m != w.live {
		return false
	}
	w.barrier(f)
	return true
}

// barrier stops the warp at the barrier where f stands.
func (w *warp) barrier(f *fragment) {
	w.use(f)
	w.status, w.at = warpBarrier, &f.fr.fn.code[f.pc]
}

// stuck reports lanes that wait for others which wait elsewhere.
func (w *warp) stuck() {
	f := w.aside[0]
	w.use(f)
	o := &f.fr.fn.code[f.pc]
	kind := WarpDivergence
	if o.kind == opBarrier {
		kind = BarrierDivergence
	}
	other := ""
	for _, g := range w.aside[1:] {
		if g.pc != f.pc || g.fr != f.fr {
			p := &g.fr.fn.code[g.pc]
			other = fmt.Sprintf("lanes %#x wait at line %d: %s", g.mask, p.in.Line, w.block.m.Line(p.in.Line))
			break
		}
	}
	if other == "" && o.kind == opSync {
		other = fmt.Sprintf("the member mask is %#x", uint32(w.vals[o.members][lane(f.mask)]))
	}
	w.fault(kind, lane(f.mask), "lanes %#x of warp %d wait here for lanes that never come; %s", f.mask, w.index, other)
}

// use makes the frame of f the one that instructions see.
func (w *warp) use(f *fragment) {
	w.op = &f.fr.fn.code[f.pc]
	w.frame, w.vals, w.preds = f.fr, f.fr.vals, f.fr.preds
}

// execute runs w.cur for a while. Afterwards w.cur is nil if its lanes wait or are done.
func (w *warp) execute() {
	f := w.cur
	wk := w.block.worker
	for range slice {
		if f == nil {
			break
		}
		if f.fr != w.frame {
			w.use(f)
		}
		o := &f.fr.fn.code[f.pc]
		m := f.mask
		wk.count += int64(bits.OnesCount32(m))
		w.op = o
		if o.guard >= 0 {
			if w.frame.tracking {
				w.trackGuard(o, m)
			}
			m &= w.pred(o.guard, o.not)
		}
		switch o.kind {
		case opPlain:
			if m != 0 {
				if w.frame.tracking {
					w.track(o, m)
				}
				o.run(w, m)
			}
			f.pc++
			if f.top != nil && f.top.pc == f.pc {
				f = w.meet(f)
			}
		case opBranch:
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
func (w *warp) control(f *fragment, o *op) *fragment {
	if w.frame.tracking {
		w.track(o, f.mask)
	}
	switch o.kind {
	case opIndexed:
		var ways []way
		for m := f.mask; m != 0; {
			i := w.vals[o.index][lane(m)]
			var y way
			for x := m; x != 0; x &= x - 1 {
				if w.vals[o.index][lane(x)] == i {
					y.mask |= x & -x
				}
			}
			if i >= uint64(len(o.targets)) {
				w.fault(Undefined, lane(y.mask), "index %d into %d targets", i, len(o.targets))
			}
			y.pc = o.targets[i]
			ways = append(ways, y)
			m &^= y.mask
		}
		return w.ways(f, o, ways)
	case opCall:
		f.pc++
		w.call(f, o)
		return f
	case opReturn:
		if f.fr.caller == nil {
			w.exit(f)
			return nil
		}
		w.results(f)
		if f = w.arrive(f); f != nil {
			f = w.meet(f)
		}
		return f
	case opExit:
		w.exit(f)
		return nil
	case opTrap:
		w.fault(Trap, lane(f.mask), "the kernel stopped itself")
	case opSync:
		if !w.complete32(o, f.mask) {
			w.aside = append(w.aside, f)
			return nil
		}
		o.run(w, f.mask)
		f.pc++
		return w.meet(f)
	case opBarrier:
		w.aside = append(w.aside, f)
		if f.mask == w.live {
			w.barrier(f)
		}
		return nil
	}
	panic("BUG: ptxsim: an operation without a kind")
}

// ways is branch for several targets.
func (w *warp) ways(f *fragment, o *op, ways []way) *fragment {
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
	return w.split(f, o.join, merged)
}

// fault stops the launch.
func (w *warp) fault(kind Kind, lane int, format string, args ...any) {
	in := w.op.in
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
