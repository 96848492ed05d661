package pool

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"healc/codegen/target/profile"
)

// All pools of a process share one team of workers, as many as the largest of them wants, started by the first Run
// that needs them. Several compiled modules, and several calls of one, do not add up to more threads than any of
// them was given: the team counts the calls in progress, each of which has its caller's thread, and a Run asks only
// for as many workers as are left of its pool's threads. A call among as many others as there are threads does
// everything itself, which is also the fastest for all of them together.
//
// A worker is a goroutine. A thread outside Go's scheduler, which waits on a futex, would start no sooner: what costs
// is the system's wake-up, which both avoid by polling for a while before they sleep. Nor are workers locked to
// their threads, which makes waking a goroutine that sleeps slower, since it has to wait for just that thread.

// costs are what waiting and waking take, as package profile has it (docs/tuning/threads.md). Waiting starts with
// polling, because to sleep and be woken takes longer than most pieces: the caller for a piece that a worker has begun,
// a worker for the next kernel of the same program. A worker whose sleep was ended before workerReach polls that long
// from then on, until it does so in vain.
type costs struct {
	wake                    time.Duration
	callerSpin              time.Duration
	workerSpin, workerReach time.Duration
}

func measured() costs {
	p := &profile.Host().Profile.Threads
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	return costs{wake: us(p.WakeTime), callerSpin: us(p.CallerSpin), workerSpin: us(p.WorkerSpin),
		workerReach: us(p.WorkerReach)}
}

// Note [Waking]
//
// To wake a thread that sleeps is a call of the system. On a virtual machine, where an idle processor has been given
// back to the host, it is a long one (docs/tuning/threads.md): meanwhile the caller computes nothing, and the thread
// comes as late. A small region on two threads, one of which sleeps, would take longer than on one.
//
// So the caller starts with its own part, and threads that poll take the others. Those that sleep are left alone while
// they have missed little: costs.wake is the length of a region that gains from them. They are woken at once for a
// kernel that takes as long by its estimate, for others when the caller has been at those before, each shortly after
// the one before that, for so long: those that follow will find them polling. Within a region, when the caller has been
// at it for twice as long and pieces are left: the estimate said that not much would be. What is lost is at most about
// as much again as waking costs, as with skis that one rents until their price is paid.
//
// Where other programs are busy, the system may put a worker on the processor of the caller, and leaves both there for
// milliseconds, in which two threads are as slow as one. So a worker that begins there with a region for which one is
// woken goes to another processor.

// shared is the team of all pools that are open.
var shared struct {
	mu     sync.Mutex
	team   *team
	leases int
}

// lease is the use that a pool makes of the team.
type lease struct {
	team  *team
	ended atomic.Bool
}

func joinTeam() *lease {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.team == nil {
		shared.team = &team{costs: measured()}
		shared.team.workers.Store(new([]*worker))
	}
	shared.leases++
	return &lease{team: shared.team}
}

// end gives the lease up; the last to do so ends the team.
func (l *lease) end() {
	if l.ended.Swap(true) {
		return
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.leases--; shared.leases == 0 {
		shared.team.close()
		shared.team = nil
	}
}

// team is the workers of a process.
type team struct {
	costs   costs
	calls   atomic.Int64 // programs that run, each on a thread of its own
	workers atomic.Pointer[[]*worker]
	grow    sync.Mutex
	crowded atomic.Bool // there are more threads than processors: whoever polls keeps another from its work
	closed  atomic.Bool

	missed  atomic.Int64 // nanoseconds of regions, close together, without the threads that slept
	settled atomic.Int64 // when the last such region ended, since epoch
}

var epoch = time.Now()

// worker is a thread with a letter box for one job. An offer is only ever help: the caller of Run does all the
// pieces that nobody fetches, so a worker may come late or not at all.
type worker struct {
	part   int // of a job: its own
	box    atomic.Pointer[job]
	asleep atomic.Bool
	wake   chan struct{} // takes one token from whoever turned asleep off
	_      [32]byte      // a cache line each
}

// atLeast returns the workers, starting some when there are fewer than n.
func (t *team) atLeast(n int) []*worker {
	if ws := *t.workers.Load(); len(ws) >= n {
		return ws
	}
	t.grow.Lock()
	defer t.grow.Unlock()
	ws := *t.workers.Load()
	if t.closed.Load() || len(ws) >= n {
		return ws
	}
	ws = append(make([]*worker, 0, n), ws...)
	t.crowded.Store(n+1 > goruntime.GOMAXPROCS(0))
	for len(ws) < n {
		w := &worker{part: len(ws) + 1, wake: make(chan struct{}, 1)}
		ws = append(ws, w)
		go w.loop(t)
	}
	t.workers.Store(&ws)
	return ws
}

// post offers j to n workers, but at first, unless wake is set, only to those that are awake.
func (t *team) post(j *job, n int, wake bool) {
	j.absent = 0
	j.from.Store(-1)
	if n <= 0 {
		return
	}
	if !wake {
		if j.absent = t.offer(j, n, false); j.absent == 0 {
			return
		}
		j.team, j.start, j.debt = t, time.Now(), time.Duration(t.missed.Load())
		if t.crowded.Load() || j.start.Sub(epoch)-time.Duration(t.settled.Load()) > max(t.costs.workerSpin,
			min(4*j.debt, t.costs.workerReach)) {
			j.debt = 0 // who had been woken would sleep again, or have polled for long and done little
		}
		if n, wake = j.absent, j.debt >= t.costs.wake; !wake {
			return
		}
	}
	t.wake(j, n)
}

// summon wakes the absent workers for j when they have missed enough.
func (t *team) summon(j *job) {
	if j.debt+time.Since(j.start) >= 2*t.costs.wake {
		t.wake(j, j.absent)
	}
}

func (t *team) wake(j *job, n int) {
	j.from.Store(processor())
	t.offer(j, n, true)
	t.missed.Store(0)
	j.absent = 0
}

// settle notes what the absent workers have missed of j, which has ended.
func (t *team) settle(j *job) {
	if j.absent == 0 {
		return
	}
	now := time.Now()
	t.missed.Store(int64(j.debt + now.Sub(j.start)))
	t.settled.Store(int64(now.Sub(epoch)))
}

// offer puts j into the boxes of n workers that are awake, or with wake of those that are not and of others, starting
// some when there are too few. It returns how many it did not find.
func (t *team) offer(j *job, n int, wake bool) int {
	ws := *t.workers.Load()
	if wake {
		ws = t.atLeast(n)
		for _, w := range ws { // the others may have it already
			if n > 0 && w.asleep.Load() && w.take(j) {
				n--
			}
		}
	}
	for _, w := range ws {
		if n > 0 && (wake || !w.asleep.Load()) && w.take(j) {
			n--
		}
	}
	return n
}

// take gives the worker a job, if it has none.
func (w *worker) take(j *job) bool {
	j.holders.Add(1)
	if !w.box.CompareAndSwap(nil, j) {
		j.holders.Add(-1) // the caller's hold remains
		return false
	}
	w.rouse()
	return true
}

// retract takes j out of the boxes where it still lies, so that a worker that comes late finds the next job.
func (t *team) retract(j *job) {
	for _, w := range *t.workers.Load() {
		if w.box.Load() == j && w.box.CompareAndSwap(j, nil) {
			j.holders.Add(-1)
		}
	}
}

func (t *team) close() {
	t.grow.Lock()
	defer t.grow.Unlock()
	t.closed.Store(true)
	for _, w := range *t.workers.Load() {
		w.rouse()
	}
}

// spin polls ready for some time and returns what it said last. Reading the clock paces the polling.
func (t *team) spin(limit time.Duration, ready func() bool) bool {
	if t.crowded.Load() {
		return ready()
	}
	for start := time.Now(); ; {
		if ready() {
			return true
		}
		if time.Since(start) > limit {
			return false
		}
	}
}

func (w *worker) rouse() {
	if w.asleep.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

func (w *worker) loop(t *team) {
	called := func() bool { return w.box.Load() != nil || t.closed.Load() }
	patience := t.costs.workerSpin
	for {
		start := time.Now()
		if !t.spin(patience, called) {
			w.asleep.Store(true)
			// A job may have come just before its sender could see that we sleep.
			if !called() || !w.asleep.CompareAndSwap(true, false) {
				<-w.wake
			}
			patience = t.costs.workerSpin
			if time.Since(start) <= t.costs.workerReach {
				patience = t.costs.workerReach
			}
		}
		if j := w.box.Swap(nil); j != nil {
			leave(j.from.Load(), len(*t.workers.Load())+1)
			j.work(w.part)
			j.drop()
		} else if t.closed.Load() {
			return
		}
	}
}
