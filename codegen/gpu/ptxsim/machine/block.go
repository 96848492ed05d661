package machine

import (
	"fmt"

	"healc/codegen/gpu/ptx"
)

// block is a block of threads that runs.
type block struct {
	dev    *Device
	worker *worker
	m      *Module
	inst   *instance
	entry  *Function
	params []byte
	grid   [3]int
	size   [3]int // in threads
	id     [3]int

	run, firstRun uint32 // see Note [Races]
	races         bool
	parallel      bool    // other blocks run at the same time
	base          int     // accesses of all warps with smaller clocks are known to all
	known         [][]int // after a barrier of some warps: the clock of each warp that each one knows

	warps   []*Warp
	layout  *sharedLayout
	shared  []*Region
	waiting [16]waiting
}

// waiting is a barrier of the block.
type waiting struct {
	arrived []*Warp // that wait
	passed  []*Warp // that only arrived
	threads int     // how many are wanted; 0: all
	at      *Op
}

// threadID is the position of a thread by its number.
func (b *block) threadID(n int) [3]int {
	return [3]int{n % b.size[0], n / b.size[0] % b.size[1], n / (b.size[0] * b.size[1])}
}

// address is that of a variable in its state space.
func (b *block) address(v *ptx.Variable) uint64 {
	if v.Space == ptx.Shared {
		return sharedBase + uint64(b.layout.offset[v])
	}
	return b.inst.addr[v]
}

// execute runs the block to its end.
func (b *block) execute() {
	threads := b.size[0] * b.size[1] * b.size[2]
	b.base, b.known, b.waiting = 0, nil, [16]waiting{}
	for _, r := range b.shared {
		clear(r.written)
	}
	for i, w := range b.warps {
		n := min(threads-32*i, 32)
		w.reset(b, ^uint32(0)>>(32-n))
		w.entry = w.enter(b.entry, nil, w.Live)
		w.cur = &fragment{mask: w.Live, fr: w.entry}
	}
	for {
		live, progress := 0, false
		for _, w := range b.warps {
			if w.status == warpReady {
				w.run()
				progress = true
				if w.status == warpBarrier {
					b.arrive(w)
				}
			}
			if w.status != warpDone {
				live++
			}
		}
		if b.release() {
			progress = true
		}
		if live == 0 {
			break
		}
		if !progress {
			b.stuck()
		}
	}
	for i := range b.waiting {
		if s := &b.waiting[i]; len(s.passed) > 0 {
			w := s.passed[0]
			w.Fault(BarrierDivergence, 0, "warp %d arrived at barrier %d, which no warp waits at", w.index, i)
		}
	}
	for _, w := range b.warps {
		w.leave(w.entry)
	}
}

// reset makes w a new warp.
func (w *Warp) reset(b *block, live uint32) {
	*w = Warp{block: b, op: &b.entry.Code[0], index: w.index, Live: live, local: w.local, ready: w.ready[:0],
		aside: w.aside[:0]}
	for _, r := range w.local {
		if r != nil {
			r.Data = r.Data[:0]
		}
	}
}

// arrive notes that a warp is at its barrier. A warp that only arrives goes on at once.
func (b *block) arrive(w *Warp) {
	o := w.at.Barrier
	first := FirstLane(w.Live)
	id := w.Values[o.ID][first]
	count := uint64(0)
	if o.Count >= 0 {
		count = w.Values[o.Count][first]
		if count == 0 || count%32 != 0 || count > uint64(len(b.warps)*32) {
			w.Fault(Undefined, first, "a barrier of %d threads: a multiple of 32 up to %d is possible", count,
				len(b.warps)*32)
		}
	}
	EachLane(w.Live, func(i int) {
		if w.Values[o.ID][i] != id || o.Count >= 0 && w.Values[o.Count][i] != count {
			w.Fault(BarrierDivergence, i, "the lanes of a warp name different barriers")
		}
	})
	if id > 15 {
		w.Fault(Undefined, first, "there are barriers 0 to 15, and no barrier %d", id)
	}
	s := &b.waiting[id]
	if len(s.arrived)+len(s.passed) > 0 {
		if s.threads != int(count) {
			w.Fault(BarrierDivergence, first, "barrier %d is used with %d threads here and with %d at line %d", id,
				count, s.threads, s.at.Instruction.Line)
		}
		if count == 0 && o.Aligned && s.at != w.at {
			w.Fault(BarrierDivergence, first, "warp %d comes to barrier %d here, and warp %d at line %d: %s", w.index,
				id, s.arrived[0].index, s.at.Instruction.Line, b.m.Line(s.at.Instruction.Line))
		}
	}
	s.threads, s.at = int(count), w.at
	if o.Arrive {
		s.passed = append(s.passed, w)
		f := w.aside[0]
		w.wake(f.fr, f.pc)
		w.status, w.at = warpReady, nil
		return
	}
	s.arrived = append(s.arrived, w)
}

// release lets the warps go on that wait at a barrier where all others are, too.
func (b *block) release() bool {
	live := 0
	for _, w := range b.warps {
		if w.status != warpDone {
			live++
		}
	}
	any := false
	for i := range b.waiting {
		s := &b.waiting[i]
		n := len(s.arrived) + len(s.passed)
		if n == 0 || s.threads == 0 && n < live || s.threads > 0 && n*32 < s.threads {
			continue
		}
		any = true
		b.order(s)
		if s.at.Barrier.Reduce != nil {
			s.at.Barrier.Reduce(s.arrived)
		}
		for _, w := range s.arrived {
			w.status, w.at = warpReady, nil
			f := w.aside[0]
			w.wake(f.fr, f.pc)
			w.cur = nil
		}
		s.arrived, s.passed = s.arrived[:0], s.passed[:0]
	}
	return any
}

// order makes what the warps at a barrier did known to those that wait there.
func (b *block) order(s *waiting) {
	if s.threads == 0 {
		top := 0
		for _, w := range b.warps {
			top = max(top, w.clock)
		}
		b.base, b.known = top+1, nil
		if b.base > maxClock {
			s.arrived[0].Fault(InstructionLimit, 0, "more than %d barriers in one block are not supported", maxClock)
		}
		for _, w := range b.warps {
			w.clock, w.known = b.base, nil
		}
		return
	}
	if b.known == nil {
		b.known = make([][]int, len(b.warps))
		for i := range b.known {
			b.known[i] = make([]int, len(b.warps))
			for j := range b.known[i] {
				b.known[i][j] = b.base
			}
		}
	}
	all := make([]int, len(b.warps))
	for _, list := range [][]*Warp{s.arrived, s.passed} {
		for _, w := range list {
			w.tick()
			w.known = nil
			for j, c := range b.known[w.index] {
				all[j] = max(all[j], c)
			}
			all[w.index] = w.clock
		}
	}
	for _, w := range s.arrived {
		for j, c := range all {
			b.known[w.index][j] = max(b.known[w.index][j], c)
		}
	}
}

// tick advances the clock of a warp.
func (w *Warp) tick() {
	if w.clock++; w.clock > maxClock {
		w.Fault(InstructionLimit, 0, "more than %d barriers in one block are not supported", maxClock)
	}
}

// knownOf is the clock of a warp up to which its accesses are ordered before what a lane of w does now; those of lane
// other, or of all its lanes if that is -1.
func (w *Warp) knownOf(index, lane, other int) int {
	if index != w.index {
		if w.block.known == nil {
			return w.block.base
		}
		return w.block.known[w.index][index]
	}
	if w.known == nil {
		return w.clock
	}
	if other >= 0 {
		return w.known[lane][other]
	}
	c := w.clock
	for j := range 32 {
		if j != lane {
			c = min(c, w.known[lane][j])
		}
	}
	return c
}

// SyncLanes orders what the lanes of m did before what they will do: bar.warp.sync.
func (w *Warp) SyncLanes(m uint32) {
	if m == w.Live {
		w.tick()
		w.known = nil
		return
	}
	if w.known == nil {
		w.known = new([32][32]int)
		for i := range w.known {
			for j := range w.known[i] {
				w.known[i][j] = w.clock
			}
		}
	}
	w.tick()
	var all [32]int
	EachLane(m, func(i int) {
		for j, c := range w.known[i] {
			all[j] = max(all[j], c)
		}
	})
	EachLane(m, func(i int) { all[i] = w.clock })
	EachLane(m, func(i int) { w.known[i] = all })
}

// stuck reports warps that wait at barriers which cannot be complete.
func (b *block) stuck() {
	var first *Warp
	detail := ""
	for _, w := range b.warps {
		if w.status != warpBarrier {
			continue
		}
		if first == nil {
			first = w
		} else if detail == "" && w.at != first.at {
			line := w.at.Instruction.Line
			detail = fmt.Sprintf("; warp %d waits at line %d: %s", w.index, line, b.m.Line(line))
		}
	}
	first.Fault(BarrierDivergence, FirstLane(first.Live), "warp %d waits for warps that never come to this barrier%s",
		first.index, detail)
}
