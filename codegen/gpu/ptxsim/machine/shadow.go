package machine

import "fmt"

// Note [Races]
//
// Two accesses of different threads to one byte, at least one of them a write, must be ordered by a barrier, unless
// both are atomic (atom, red, ld and st that are .volatile, .relaxed, .acquire or .release). For each word of memory,
// or for each byte where smaller accesses happen, a shadow cell knows the last write and the last read, after the idea
// of FastTrack (Flanagan and Freund 2009): a time stamp of the thread that was there, and not a vector of clocks.
//
// A stamp has the run (a number of a block in a launch, never given twice on a device), the thread and the clock of its
// warp at that time. The clock of a warp counts the barriers that it passed: those of the block and bar.warp.sync. An
// access with stamp s is before what thread t of run r does now, if
//   - it was in an earlier launch: kernels of one stream are in order;
//   - it was in the same run, and its clock is less than the clock that the barriers let t know of its warp
//     (worker.known);
//   - it was t itself.
//
// Blocks of one launch are never ordered. Reads of several threads without an order between them leave a stamp that
// says so: of several lanes of a warp, of several warps, of several runs. Shuffles and votes order nothing, as the ISA
// says. Accesses of several lanes by one instruction are unordered, too. Order that is made by fences and flags is not
// understood: such programs are reported.

// stamp is run<<32 | atomic<<31 | several<<29 | thread<<19 | clock.
type stamp uint64

const (
	clockBits = 19
	maxClock  = 1<<clockBits - 1

	oneThread    = 0
	severalLanes = 1 // of one warp
	severalWarps = 2
	severalRuns  = 3
)

func (s stamp) run() uint32  { return uint32(s >> 32) }
func (s stamp) atomic() bool { return s>>31&1 != 0 }
func (s stamp) several() int { return int(s >> 29 & 3) }
func (s stamp) thread() int  { return int(s >> clockBits & 1023) }
func (s stamp) warp() int    { return s.thread() / 32 }
func (s stamp) clock() int   { return int(s & maxClock) }

const atomicStamp stamp = 1 << 31

// stamp is that of a lane now.
func (w *Warp) stamp(lane int) stamp {
	return stamp(w.block.run)<<32 | stamp(w.index*32+lane)<<clockBits | stamp(w.clock)
}

// cell is the shadow of a word or byte.
type cell struct{ write, read stamp }

// cellsPerPage is how many cells are allocated at a time.
const cellsPerPage = 1024

// shadow has the cells of a region.
type shadow struct {
	pages   [][]cell
	small   bool // a cell for each byte and not for each word
	private bool // of one thread: there are no cells
}

// split makes a cell for each byte of a region that had one for each word.
func (s *shadow) split() {
	old := s.pages
	s.pages, s.small = make([][]cell, 4*len(old)), true
	for i, p := range old {
		if p == nil {
			continue
		}
		for j, c := range p {
			at := 4 * (i*cellsPerPage + j)
			page := &s.pages[at/cellsPerPage]
			if *page == nil {
				*page = make([]cell, cellsPerPage)
			}
			for k := range 4 {
				(*page)[at%cellsPerPage+k] = c
			}
		}
	}
}

// cells are those of n bytes from off on, which are aligned to n.
func (r *Region) cells(off, n int) []cell {
	s := &r.races
	if s.pages == nil {
		s.pages = make([][]cell, (len(r.Data)+4*cellsPerPage-1)/(4*cellsPerPage))
	}
	if n < 4 && !s.small {
		s.split()
	}
	if !s.small {
		off, n = off/4, n/4
	}
	page := &s.pages[off/cellsPerPage]
	if *page == nil {
		*page = make([]cell, cellsPerPage)
	}
	return (*page)[off%cellsPerPage:][:n]
}

// before says whether an access with stamp s is ordered before what lane of w does now; first is the first run that is
// not over for this memory.
func (w *Warp) before(s stamp, lane int, first uint32) bool {
	run := s.run()
	if run < first {
		return true
	}
	if run != w.block.run {
		return false
	}
	switch s.several() {
	case oneThread:
		if s.thread() == w.index*32+lane {
			return true
		}
		return s.clock() < w.knownOf(s.warp(), lane, s.thread()%32)
	case severalLanes:
		return s.clock() < w.knownOf(s.warp(), lane, -1)
	case severalWarps:
		// all of them: none may be unknown
		return s.clock() < w.block.base
	}
	return false
}

// raceRead notes a read of n bytes by a lane and stops when it races with a write.
func (w *Warp) raceRead(r *Region, off, n, lane int, first uint32, atomic bool) {
	me := w.stamp(lane)
	if atomic {
		me |= atomicStamp
	}
	cells := r.cells(off, n)
	for i := range cells {
		c := &cells[i]
		if c.write.run() >= first && !(atomic && c.write.atomic()) && !w.before(c.write, lane, first) {
			w.race(r, off, n, lane, "reads", "writes", c.write)
		}
		if c.read.run() < first || w.before(c.read, lane, first) {
			c.read = me
		} else {
			c.read = several(c.read, me)
		}
	}
}

// raceWrite notes a write.
func (w *Warp) raceWrite(r *Region, off, n, lane int, first uint32, atomic bool) {
	me := w.stamp(lane)
	if atomic {
		me |= atomicStamp
	}
	cells := r.cells(off, n)
	for i := range cells {
		c := &cells[i]
		if c.write.run() >= first && !(atomic && c.write.atomic()) && !w.before(c.write, lane, first) {
			w.race(r, off, n, lane, "writes", "writes", c.write)
		}
		if c.read.run() >= first && !(atomic && c.read.atomic()) && !w.before(c.read, lane, first) {
			w.race(r, off, n, lane, "writes", "reads", c.read)
		}
		c.write = me
		if !atomic {
			c.read = 0
		}
	}
}

// several is the stamp of two reads without an order between them.
func several(old, new stamp) stamp {
	n := severalLanes
	switch {
	case old.run() != new.run():
		n = severalRuns
	case old.warp() != new.warp():
		n = severalWarps
	}
	n = max(n, old.several())
	s := new&^(3<<29|maxClock) | stamp(n)<<29 | stamp(max(old.clock(), new.clock()))
	if !old.atomic() {
		s &^= atomicStamp
	}
	return s
}

// race stops with what is known of the two accesses.
func (w *Warp) race(r *Region, off, n, lane int, does, did string, s stamp) {
	other, why := "", "no barrier is between them"
	switch {
	case s.run() != w.block.run || s.several() == severalRuns:
		other, why = "another block", "blocks are not ordered"
	case s&(3<<29|maxClock) == notWaited:
		other, why = "a cp.async", "this thread did not wait for it"
	case s.several() >= severalWarps:
		other = "more than one warp"
	case s.several() == severalLanes:
		other = fmt.Sprintf("warp %d", s.warp())
	default:
		other = fmt.Sprintf("thread %v", w.block.threadID(s.thread()))
	}
	w.Fault(Race, lane, "this thread %s %d bytes at byte %d of %s that %s %s, and %s", does, n, off, r.name, other, did,
		why)
}
