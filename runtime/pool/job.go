package pool

import (
	"sync"
	"sync/atomic"
	"time"

	"healc/internal/caught"
)

// Note [Parts]
//
// A Run divides its indices into one contiguous part a thread, and each part into pieces: the first half of it,
// then a quarter, and so on. Part 0 is the caller's, part i that of worker i. So a thread that wrote a part of a
// tensor reads the same part of it in the next kernel, from its own cache and from memory that the system gave
// to its node. A thread that has done its own part takes pieces from the ends of the others', where they are
// small: whoever the machine holds up costs the others little.

// maxPartPieces bounds how finely a part is cut: the last two pieces are eighths of it.
const maxPartPieces = 4

// job is one Run.
type job struct {
	f     func(begin, end int64)
	n     int64
	align int64 // indices of a unit, of which pieces consist
	parts []part

	pending atomic.Int64  // pieces not finished
	holders atomic.Int64  // who may still look at the job: the caller, and workers that have it
	waiting atomic.Bool   // the caller sleeps on done
	done    chan struct{} // one token for the caller that waits

	from atomic.Int32 // the processor of the caller, when it is long enough for that to matter, else -1

	// Of the caller, about threads that sleep, see Note [Waking].
	team   *team
	absent int           // how many of them the job could use
	start  time.Time     // of the job, if there are any
	debt   time.Duration // what they have missed before

	mu       sync.Mutex
	panicked int64 // 1 + the first index of the first piece that panicked
	panic    *caught.Panic
}

// part is the share of one thread, [begin, end) in units.
type part struct {
	left       atomic.Uint64 // pieces not handed out: [low 32 bits, high 32 bits)
	begin, end int64
	pieces     int64
	_          [32]byte // a cache line each
}

// jobs keeps jobs for the next Run: one is used again only when nobody holds it.
var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

// newJob cuts n indices, which are so many units of align, into pieces of at least `least` units.
func newJob(n, align, units, least int64, threads int, f func(begin, end int64)) *job {
	j := jobs.Get().(*job)
	j.f, j.n, j.align = f, n, align
	j.panicked, j.panic = 0, nil
	count := int(min(int64(threads), units/least))
	if cap(j.parts) < count {
		j.parts = make([]part, count)
	}
	j.parts = j.parts[:count]
	total := int64(0)
	for i := range j.parts {
		p := &j.parts[i]
		p.begin, p.end = cut(units, int64(i), int64(count)), cut(units, int64(i)+1, int64(count))
		p.pieces = 1
		for rest := p.end - p.begin; rest/2 >= least && p.pieces < maxPartPieces; rest /= 2 {
			p.pieces++
		}
		p.left.Store(uint64(p.pieces) << 32)
		total += p.pieces
	}
	j.pending.Store(total)
	j.holders.Store(1)
	return j
}

// cut is i/n of the units, rounded down, without overflow.
func cut(units, i, n int64) int64 { return units/n*i + units%n*i/n }

// piece returns the units of piece k of the part: half of what the pieces before it leave, or all if it is the last.
func (p *part) piece(k int64) (begin, end int64) {
	begin, end = p.begin, p.end
	for range k {
		begin += half(end - begin)
	}
	if k < p.pieces-1 {
		end = begin + half(end-begin)
	}
	return begin, end
}

// half is half of n, rounded up.
func half(n int64) int64 { return n - n/2 }

// drop gives up one hold on the job.
func (j *job) drop() {
	if j.holders.Add(-1) == 0 {
		j.f, j.team = nil, nil
		jobs.Put(j)
	}
}

// work runs pieces until all are handed out: those of part own in order, then those of the others from behind.
func (j *job) work(own int) {
	for i := range j.parts {
		p := &j.parts[(own+i)%len(j.parts)]
		for {
			k, ok := p.take(i > 0)
			if !ok {
				break
			}
			j.run(p, k)
			if own == 0 && j.absent > 0 {
				j.team.summon(j)
			}
		}
	}
}

// take hands out a piece of the part, the first or the last that is left.
func (p *part) take(last bool) (int64, bool) {
	for {
		left := p.left.Load()
		lo, hi := left&(1<<32-1), left>>32
		switch {
		case lo >= hi:
			return 0, false
		case last:
			if p.left.CompareAndSwap(left, left-1<<32) {
				return int64(hi - 1), true
			}
		case p.left.CompareAndSwap(left, left+1):
			return int64(lo), true
		}
	}
}

// run runs piece k of a part. It counts as finished also when f panics or ends its goroutine.
func (j *job) run(p *part, k int64) {
	begin, end := p.piece(k)
	begin *= j.align
	if k == p.pieces-1 && p == &j.parts[len(j.parts)-1] {
		end = j.n // of the last unit there may be a part, and the whole of it may be more than an int64
	} else {
		end *= j.align
	}
	returned := false
	defer func() {
		if !returned {
			j.fail(begin, recover())
		}
		if j.pending.Add(-1) == 0 && j.waiting.CompareAndSwap(true, false) {
			j.done <- struct{}{}
		}
	}()
	j.f(begin, end)
	returned = true
}

func (j *job) fail(begin int64, value any) {
	if value == nil {
		value = "the goroutine was ended from within"
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.panicked == 0 || begin < j.panicked-1 {
		j.panicked, j.panic = begin+1, caught.By(value)
	}
}

func (j *job) failure() error {
	if j.panic != nil {
		return j.panic
	}
	return nil
}

func (j *job) finished() bool { return j.pending.Load() == 0 }

// wait returns when all pieces are finished.
func (j *job) wait(t *team) {
	if t.spin(t.costs.callerSpin, j.finished) {
		return
	}
	j.waiting.Store(true)
	// The last piece may have ended just before it could see that we wait. Then nobody sends.
	if j.finished() && j.waiting.CompareAndSwap(true, false) {
		return
	}
	<-j.done
}
