package runtime

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Note [One team]
//
// All pools of a process share one team of workers, as many as the largest of them wants, started by the first Run
// that needs them. Several compiled modules, and several calls of one, do not add up to more threads than any of
// them was given: the team counts the calls in progress, each of which has its caller's thread, and a Run asks only
// for as many workers as are left of its pool's threads. A call among as many others as there are threads does
// everything itself, which is also the fastest for all of them together.
//
// A worker is a goroutine. A thread outside Go's scheduler, which waits on a futex, would start no sooner: what costs
// is the system's wake-up, which both avoid by polling for a while before they sleep. Nor are workers locked to
// their threads, which makes waking a goroutine that sleeps slower, since it has to wait for just that thread.

// Waiting starts with polling, because to sleep and be woken takes longer than most pieces: the caller for a piece
// that a worker has begun, a worker for the next kernel of the same program.
const (
	callerSpin = 50 * time.Microsecond
	workerSpin = 50 * time.Microsecond
)

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
		shared.team = &team{}
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
	calls   atomic.Int64 // programs that run, each on a thread of its own
	workers atomic.Pointer[[]*worker]
	grow    sync.Mutex
	crowded atomic.Bool // there are more threads than processors: whoever polls keeps another from its work
	closed  atomic.Bool
}

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

// offer puts j into the boxes of n workers, those whose parts come first where they are free.
func (t *team) offer(j *job, n int) {
	for _, w := range t.atLeast(n) {
		if n == 0 {
			return
		}
		j.holders.Add(1)
		if w.box.CompareAndSwap(nil, j) {
			w.rouse()
			n--
		} else {
			j.holders.Add(-1) // the caller's hold remains
		}
	}
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
	for {
		if !t.spin(workerSpin, called) {
			w.asleep.Store(true)
			// A job may have come just before its sender could see that we sleep.
			if !called() || !w.asleep.CompareAndSwap(true, false) {
				<-w.wake
			}
		}
		if j := w.box.Swap(nil); j != nil {
			j.work(w.part)
			j.drop()
		} else if t.closed.Load() {
			return
		}
	}
}
