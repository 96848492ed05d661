package pool

import (
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"

	"healc/internal/caught"
)

// Pool runs the pieces of a loop on several threads. It is safe for concurrent use, and Run may be called from
// within the function of a Run. The nil *Pool runs everything on the caller's thread.
type Pool struct {
	threads int
	lease   *lease // nil for one thread
	all     bool   // kernels are split however small they are, and wake every thread
}

// ThreadsEnv is the environment variable that sets the default number of threads.
const ThreadsEnv = "HEAL_THREADS"

const MaxThreads = 1024

// DefaultThreads is HEAL_THREADS when it is set, else GOMAXPROCS.
func DefaultThreads() (int, error) {
	v := os.Getenv(ThreadsEnv)
	if v == "" {
		return min(goruntime.GOMAXPROCS(0), MaxThreads), nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > MaxThreads {
		return 0, fmt.Errorf("%s=%q is not a number of threads from 1 to %d", ThreadsEnv, v, MaxThreads)
	}
	return n, nil
}

// New returns a pool of so many threads, the caller of Run included; 0 means DefaultThreads. Threads are
// started by the first Run that needs them, so a pool of one thread never starts any.
func New(threads int) (*Pool, error) {
	if threads == 0 {
		var err error
		if threads, err = DefaultThreads(); err != nil {
			return nil, err
		}
	}
	if threads < 1 || threads > MaxThreads {
		return nil, fmt.Errorf("%d threads are not from 1 to %d", threads, MaxThreads)
	}
	p := &Pool{threads: threads}
	if threads > 1 {
		p.lease = joinTeam()
		goruntime.AddCleanup(p, (*lease).end, p.lease) // workers know the team only, so a forgotten pool ends
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

// Close ends the threads, after what they are doing, when no other pool uses them. A Run after it does its work
// on the caller's thread.
func (p *Pool) Close() {
	if p != nil && p.lease != nil {
		p.lease.end()
	}
}

// SplitAll makes the pool split every kernel, however small, instead of where it pays, and wake all threads for it.
// Tests use it, so that the kernels of small programs meet every cut. It comes before the first call.
func (p *Pool) SplitAll() {
	if p != nil {
		p.all = true
	}
}

// Grain is the fewest indices that are worth a thread, for a loop of which this many are: fewer where the pool splits
// every loop.
func (p *Pool) Grain(indices int64) int64 {
	if p.all {
		return 1
	}
	return indices
}

// Enter counts a call of a program that may use the pool, until Leave. Calls that run at the same time have a
// thread each already, and share what the pool has beyond those. Calls shorter than a region need not be counted.
func (p *Pool) Enter() {
	if p != nil && p.lease != nil {
		p.lease.team.calls.Add(1)
	}
}

func (p *Pool) Leave() {
	if p != nil && p.lease != nil {
		p.lease.team.calls.Add(-1)
	}
}

// Run calls f for pieces [begin, end) that make up [0, n), each index once, on up to Threads threads. grain is the
// least number of indices worth a call of its own, some abi.RegionTime, so that fewer than two of it are one piece;
// every begin is a multiple of align. Threads that sleep are woken at once for a long loop. The cuts follow from n,
// grain, align and the number of threads alone, and mostly the same thread gets the same part, see Note [Parts]. Which
// thread runs which piece is open, though, and so is the order. A panic of f comes back as a *caught.Panic, that of the
// first piece where there are several; the other pieces are run all the same. Run does not allocate.
func (p *Pool) Run(n, grain, align int64, long bool, f func(begin, end int64)) error {
	if n <= 0 {
		return nil
	}
	align = max(align, 1)
	units, least := (n-1)/align+1, max((grain-1)/align+1, 1)
	if p == nil || p.lease == nil || units/2 < least || p.lease.ended.Load() {
		return runHere(n, f)
	}
	t := p.lease.team
	j := newJob(n, align, units, least, p.threads, f)
	helpers := min(p.threads-int(max(t.calls.Load(), 1)), len(j.parts)-1)
	t.post(j, helpers, p.all || long)
	j.work(0)
	t.retract(j)
	j.wait(t)
	t.settle(j)
	err := j.failure()
	j.drop()
	goruntime.KeepAlive(p)
	return err
}

// runHere is Run on the caller's thread.
func runHere(n int64, f func(begin, end int64)) (err error) {
	returned := false
	defer func() {
		if !returned {
			if value := recover(); value != nil {
				err = caught.By(value)
			}
		}
	}()
	f(0, n)
	returned = true
	return nil
}
