package runtime

import (
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Pool runs the pieces of a loop on several threads. It is safe for concurrent use, and Run may be called from
// within the function of a Run. The nil *Pool runs everything on the caller's thread.
type Pool struct {
	threads int
	team    *team // nil for one thread
}

// ThreadsEnv is the environment variable that sets the default number of threads.
const ThreadsEnv = "HEAL_THREADS"

const maxThreads = 1024

// DefaultThreads is HEAL_THREADS when it is set, else GOMAXPROCS.
func DefaultThreads() (int, error) {
	v := os.Getenv(ThreadsEnv)
	if v == "" {
		return min(goruntime.GOMAXPROCS(0), maxThreads), nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxThreads {
		return 0, fmt.Errorf("%s=%q is not a number of threads from 1 to %d", ThreadsEnv, v, maxThreads)
	}
	return n, nil
}

// NewPool returns a pool of so many threads, the caller of Run included; 0 means DefaultThreads. Threads are
// started by the first Run that needs them, so a pool of one thread never starts any.
func NewPool(threads int) (*Pool, error) {
	if threads == 0 {
		var err error
		if threads, err = DefaultThreads(); err != nil {
			return nil, err
		}
	}
	if threads < 1 || threads > maxThreads {
		return nil, fmt.Errorf("%d threads are not from 1 to %d", threads, maxThreads)
	}
	p := &Pool{threads: threads}
	if threads > 1 {
		p.team = newTeam(threads - 1)
		goruntime.AddCleanup(p, (*team).close, p.team) // workers know the team only, so a forgotten pool ends
	}
	return p, nil
}

// Threads is the number of threads that a Run can occupy.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return p.threads
}

// Close ends the threads, after what they are doing. A Run after it does its work on the caller's thread.
func (p *Pool) Close() {
	if p != nil && p.team != nil {
		p.team.close()
	}
}

// PanicError is a panic of the function that Run called.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// Error names the panic's value; the stack is left to the caller.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic when it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// piecesPerThread is how finely Run divides a long loop: pieces are handed out as threads come for them, so a
// thread that the machine holds up costs a fraction of its share.
const piecesPerThread = 4

// Run calls f for pieces [begin, end) that make up [0, n), each index once, on up to Threads threads. Every
// begin is a multiple of grain, the least number of indices worth a call of its own; the cuts follow from n,
// grain and the number of threads alone. Which thread runs which piece is open, and so is the order. A panic of f comes back
// as a *PanicError, that of the first piece where there are several; the other pieces are run all the same.
func (p *Pool) Run(n, grain int64, f func(begin, end int64)) error {
	if n <= 0 {
		return nil
	}
	grain = max(grain, 1)
	if p == nil || p.team == nil || n <= grain {
		return runHere(n, f)
	}
	grains := (n-1)/grain + 1
	piece := (grains-1)/int64(p.threads*piecesPerThread) + 1
	j := &job{f: f, n: n, piece: piece * grain, pieces: (grains-1)/piece + 1}
	j.pending.Store(j.pieces)
	p.team.offer(j)
	j.work()
	p.team.retract(j)
	j.wait()
	goruntime.KeepAlive(p)
	return j.failure()
}

// runHere is Run on the caller's thread.
func runHere(n int64, f func(begin, end int64)) (err error) {
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil {
				err = &PanicError{value, debug.Stack()}
			}
		}
	}()
	f(0, n)
	returned = true
	return nil
}

// job is one Run.
type job struct {
	f        func(begin, end int64)
	n, piece int64
	pieces   int64

	next    atomic.Int64 // piece to hand out
	pending atomic.Int64 // pieces not finished
	waiting atomic.Bool  // the caller sleeps on done
	done    chan struct{}

	mu       sync.Mutex
	panicked int64 // 1 + the first piece that panicked
	panic    *PanicError
}

// work runs pieces until all are handed out.
func (j *job) work() {
	for {
		i := j.next.Add(1) - 1
		if i >= j.pieces {
			return
		}
		j.run(i)
	}
}

// run runs piece i. It counts as finished also when f panics or ends its goroutine.
func (j *job) run(i int64) {
	returned := false
	defer func() {
		if !returned {
			j.fail(i, recover())
		}
		if j.pending.Add(-1) == 0 && j.waiting.CompareAndSwap(true, false) {
			close(j.done)
		}
	}()
	begin := i * j.piece
	j.f(begin, min(j.piece, j.n-begin)+begin)
	returned = true
}

func (j *job) fail(i int64, value any) {
	if value == nil {
		value = "the goroutine was ended from within"
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.panicked == 0 || i < j.panicked-1 {
		j.panicked, j.panic = i+1, &PanicError{value, debug.Stack()}
	}
}

func (j *job) failure() error {
	if j.panic != nil {
		return j.panic
	}
	return nil
}

func (j *job) finished() bool { return j.pending.Load() == 0 }

// Waiting starts with a spin, because to sleep and be woken takes longer than most pieces: the caller for a piece
// that a worker has begun, a worker for the next kernel of the same program.
const (
	callerSpin = 50 * time.Microsecond
	workerSpin = 20 * time.Microsecond
)

// wait returns when all pieces are finished.
func (j *job) wait() {
	if spin(callerSpin, j.finished) {
		return
	}
	j.done = make(chan struct{})
	j.waiting.Store(true)
	// The last piece may have ended just before it could see that we wait. Then nobody closes done.
	if j.finished() && j.waiting.CompareAndSwap(true, false) {
		return
	}
	<-j.done
}

// spin polls ready for some time and returns what it said last. Reading the clock paces the polling.
func spin(limit time.Duration, ready func() bool) bool {
	for start := time.Now(); ; {
		if ready() {
			return true
		}
		if time.Since(start) > limit {
			return false
		}
	}
}

// team is the workers of a pool.
type team struct {
	workers []worker
	start   sync.Once
	closed  atomic.Bool
}

// worker is a thread with a letter box for one job. An offer is only ever help: the caller of Run does all the
// pieces that nobody fetches, so a worker may come late or not at all.
type worker struct {
	box    atomic.Pointer[job]
	asleep atomic.Bool
	wake   chan struct{} // takes one token from whoever turned asleep off
	_      [40]byte      // a cache line each
}

func newTeam(n int) *team {
	t := &team{workers: make([]worker, n)}
	for i := range t.workers {
		t.workers[i].wake = make(chan struct{}, 1)
	}
	return t
}

// offer puts j into the boxes of as many workers as it has pieces for.
func (t *team) offer(j *job) {
	if t.closed.Load() {
		return
	}
	t.start.Do(func() {
		for i := range t.workers {
			go t.workers[i].loop(t)
		}
	})
	want := j.pieces - 1
	for i := range t.workers {
		if want == 0 {
			return
		}
		if w := &t.workers[i]; w.box.CompareAndSwap(nil, j) {
			w.rouse()
			want--
		}
	}
}

// retract takes j out of the boxes where it still lies, so that a worker that comes late finds the next job.
func (t *team) retract(j *job) {
	for i := range t.workers {
		if b := &t.workers[i].box; b.Load() == j {
			b.CompareAndSwap(j, nil)
		}
	}
}

func (t *team) close() {
	t.closed.Store(true)
	for i := range t.workers {
		t.workers[i].rouse()
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
		if !spin(workerSpin, called) {
			w.asleep.Store(true)
			// A job may have come just before its sender could see that we sleep.
			if !called() || !w.asleep.CompareAndSwap(true, false) {
				<-w.wake
			}
		}
		if j := w.box.Swap(nil); j != nil {
			j.work()
		} else if t.closed.Load() {
			return
		}
	}
}
