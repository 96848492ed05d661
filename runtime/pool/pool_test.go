package pool

import (
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"healc/internal/caught"
)

func newPool(t testing.TB, threads int) *Pool {
	t.Helper()
	p, err := New(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// eager is a pool whose threads come to every region.
func eager(t testing.TB, threads int) *Pool {
	p := newPool(t, threads)
	p.SplitAll()
	return p
}

// pieces runs a loop and returns its pieces in order.
func pieces(t *testing.T, p *Pool, n, grain, align int64) [][2]int64 {
	t.Helper()
	var mu sync.Mutex
	var out [][2]int64
	err := p.Run(n, grain, align, true, func(begin, end int64) {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, [2]int64{begin, end})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	return out
}

func TestPoolCoversEveryIndexOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(t, threads)
		for _, n := range []int64{0, 1, 2, 7, 8, 9, 100, 1000, 12345} {
			for _, grain := range []int64{0, 1, 3, 64, 1 << 40} {
				for _, align := range []int64{0, 1, 16, 100, math.MaxInt64} {
					got := pieces(t, p, n, grain, align)
					at := int64(0)
					for _, piece := range got {
						small := len(got) > 1 && piece[1]-piece[0] < grain && piece[1] < n
						if piece[0] != at || piece[1] <= piece[0] || piece[0]%max(align, 1) != 0 || small {
							t.Fatalf("%d threads, n %d, grain %d, align %d: pieces %v", threads, n, grain, align, got)
						}
						at = piece[1]
					}
					if at != n || len(got) > threads*maxPartPieces || threads == 1 && len(got) > 1 {
						t.Fatalf("%d threads, n %d, grain %d, align %d: pieces %v", threads, n, grain, align, got)
					}
					if again := pieces(t, p, n, grain, align); !slices.Equal(got, again) {
						t.Fatalf("%d threads, n %d, grain %d, align %d: first %v, then %v", threads, n, grain, align,
							got, again)
					}
				}
			}
		}
	}
	var none *Pool
	if got := pieces(t, none, 10, 1, 1); len(got) != 1 || none.Threads() != 1 {
		t.Errorf("the nil pool: %v", got)
	}
	none.Close()
}

func TestPoolUsesThreads(t *testing.T) {
	// Four pieces that all wait for each other finish only on as many threads.
	p := eager(t, 4)
	var wg sync.WaitGroup
	wg.Add(4)
	if err := p.Run(4, 1, 1, false, func(begin, end int64) { wg.Done(); wg.Wait() }); err != nil {
		t.Fatal(err)
	}
}

func TestPoolOfOneStartsNothing(t *testing.T) {
	before := goruntime.NumGoroutine()
	p := newPool(t, 1)
	sum := 0 // without a lock: all on this goroutine
	if err := p.Run(1000, 1, 1, true, func(begin, end int64) { sum += int(end - begin) }); err != nil || sum != 1000 {
		t.Errorf("%d, %v", sum, err)
	}
	q := newPool(t, 8)
	if q.Threads() != 8 || goruntime.NumGoroutine() > before {
		t.Errorf("%d goroutines, before %d", goruntime.NumGoroutine(), before)
	}
}

func TestPoolNestedAndConcurrent(t *testing.T) {
	p := eager(t, 3)
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				err := p.Run(5, 1, 1, false, func(b, outer int64) {
					for ; b < outer; b++ {
						if err := p.Run(7, 1, 1, false, func(b, inner int64) {
							for ; b < inner; b++ {
								if err := p.Run(3, 1, 1, false, func(b, e int64) { total.Add(e - b) }); err != nil {
									t.Error(err)
								}
							}
						}); err != nil {
							t.Error(err)
						}
					}
				})
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if want := int64(4 * 50 * 5 * 7 * 3); total.Load() != want {
		t.Errorf("%d, want %d", total.Load(), want)
	}
}

func TestPoolPanics(t *testing.T) {
	cause := errors.New("cause")
	for _, threads := range []int{1, 2, 5} {
		p := newPool(t, threads)
		var ran atomic.Int64
		err := p.Run(5, 1, 1, false, func(begin, end int64) {
			ran.Add(end - begin)
			if end > 2 {
				panic(fmt.Errorf("piece %d: %w", begin, cause))
			}
		})
		var e *caught.Panic
		if !errors.As(err, &e) || !errors.Is(err, cause) || !strings.Contains(string(e.Stack), "TestPoolPanics") {
			t.Fatalf("%d threads: %v", threads, err)
		}
		if want := "panic: piece 2: cause"; threads > 1 && err.Error() != want {
			t.Errorf("%d threads: %v, want %s", threads, err, want)
		}
		if ran.Load() != 5 {
			t.Errorf("%d threads: %d indices ran", threads, ran.Load())
		}
		if got := pieces(t, p, 3, 1, 1); len(got) == 0 {
			t.Errorf("%d threads: the pool does not run after a panic", threads)
		}
	}
}

func TestPoolClose(t *testing.T) {
	before := goruntime.NumGoroutine()
	p := newPool(t, 4)
	pieces(t, p, 100, 1, 1)
	p.Close()
	p.Close()
	waitFor(t, "the workers to end", func() bool { return goruntime.NumGoroutine() <= before })
	if got := pieces(t, p, 100, 1, 1); got[len(got)-1][1] != 100 {
		t.Errorf("after Close: %v", got)
	}
	func() {
		q, err := New(3) // and forgets it
		if err != nil {
			t.Fatal(err)
		}
		pieces(t, q, 100, 1, 1)
	}()
	waitFor(t, "a forgotten pool to end", func() bool { goruntime.GC(); return goruntime.NumGoroutine() <= before })
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestPoolWakes lets the workers fall asleep between runs whose pieces need all of them.
func TestPoolWakes(t *testing.T) {
	p := eager(t, 2)
	for i := range 200 {
		var wg sync.WaitGroup
		wg.Add(2)
		if err := p.Run(2, 1, 1, false, func(begin, end int64) { wg.Done(); wg.Wait() }); err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			time.Sleep(2 * measured().workerReach)
		}
	}
}

// TestPoolWakesForLong: a region that is thought to be long wakes its threads at once, of however few pieces it is.
func TestPoolWakesForLong(t *testing.T) {
	p := newPool(t, 2)
	for range 20 {
		time.Sleep(2 * measured().workerReach)
		var wg sync.WaitGroup
		wg.Add(2)
		if err := p.Run(16, 1, 8, true, func(begin, end int64) { wg.Done(); wg.Wait() }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPoolSummons: a region that was thought to be small wakes its threads when it turns out to be long.
func TestPoolSummons(t *testing.T) {
	p := newPool(t, 2)
	for range 20 {
		time.Sleep(2 * measured().workerReach)
		other := make(chan struct{})
		err := p.Run(8, 1, 1, false, func(begin, end int64) {
			switch begin {
			case 0:
				busy(2 * measured().wake)
			case 2:
				<-other // of the caller's part: the worker has to come
			case 4:
				close(other)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPoolWakesForMany: small regions wake no thread, unless there are many of them close together.
func TestPoolWakesForMany(t *testing.T) {
	p := newPool(t, 2)
	team := p.lease.team
	started := func() int { return len(*team.workers.Load()) }
	small := func(int64, int64) { busy(time.Microsecond) }
	for range 100 {
		time.Sleep(2 * measured().workerReach)
		before, start := started(), time.Now()
		if err := p.Run(2, 1, 1, false, small); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < measured().wake && started() > before {
			t.Errorf("a thread for a region of %v, far from others", took)
		}
	}
	waitFor(t, "a thread", func() bool {
		for range 100 {
			if err := p.Run(2, 1, 1, false, small); err != nil {
				t.Fatal(err)
			}
		}
		return started() > 0
	})
}

func TestThreadsFromEnvironment(t *testing.T) {
	t.Setenv(ThreadsEnv, "3")
	if p := newPool(t, 0); p.Threads() != 3 {
		t.Errorf("%d threads", p.Threads())
	}
	if p := newPool(t, 2); p.Threads() != 2 {
		t.Errorf("%d threads", p.Threads())
	}
	for _, bad := range []string{"0", "-1", "many", "1025", "99999999999999999999"} {
		t.Setenv(ThreadsEnv, bad)
		if _, err := New(0); err == nil || err.Error() !=
			fmt.Sprintf("HEAL_THREADS=%q is not a number of threads from 1 to 1024", bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	t.Setenv(ThreadsEnv, "")
	if p := newPool(t, 0); p.Threads() != goruntime.GOMAXPROCS(0) {
		t.Errorf("%d threads", p.Threads())
	}
	if _, err := New(-1); err == nil {
		t.Error("a pool of -1 threads")
	}
}

// TestPoolPartsOfThreads runs pieces that all wait for each other's part: each thread gets one of its own, and the
// same one every time.
func TestPoolPartsOfThreads(t *testing.T) {
	p := eager(t, 3)
	for range 20 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		wg.Add(3)
		begins := map[int64]bool{}
		err := p.Run(300, 1, 1, true, func(begin, end int64) {
			if begin%100 != 0 {
				return
			}
			mu.Lock()
			begins[begin] = true
			mu.Unlock()
			wg.Done()
			wg.Wait() // on the first pieces of the other two parts, which other threads have
		})
		if err != nil || len(begins) != 3 {
			t.Fatalf("%v, %v", begins, err)
		}
	}
}

// TestPoolCallsShareThreads fills a pool of 2 with two calls, which then have no thread to spare.
func TestPoolCallsShareThreads(t *testing.T) {
	p := eager(t, 2)
	p.Enter()
	p.Enter()
	sum := 0 // without a lock: all on this goroutine
	if err := p.Run(1000, 1, 1, true, func(begin, end int64) { sum += int(end - begin) }); err != nil || sum != 1000 {
		t.Errorf("%d, %v", sum, err)
	}
	p.Leave()
	var wg sync.WaitGroup
	wg.Add(2)
	if err := p.Run(2, 1, 1, false, func(begin, end int64) { wg.Done(); wg.Wait() }); err != nil {
		t.Error(err)
	}
	p.Leave()
	if n := p.lease.team.calls.Load(); n != 0 {
		t.Errorf("%d calls are left", n)
	}
}

// TestPoolsShareOneTeam starts several pools, whose threads are those of the largest.
func TestPoolsShareOneTeam(t *testing.T) {
	before := goruntime.NumGoroutine()
	var pools []*Pool
	for _, threads := range []int{2, 5, 3, 5} {
		p := eager(t, threads)
		pieces(t, p, 1000, 1, 1)
		pools = append(pools, p)
	}
	if n := goruntime.NumGoroutine(); n > before+4 {
		t.Errorf("%d goroutines, before %d", n, before)
	}
	for _, p := range pools[1:] {
		p.Close()
	}
	var wg sync.WaitGroup
	wg.Add(2)
	// still has its thread
	if err := pools[0].Run(2, 1, 1, false, func(begin, end int64) { wg.Done(); wg.Wait() }); err != nil {
		t.Error(err)
	}
}

func TestPoolRunDoesNotAllocate(t *testing.T) {
	p := newPool(t, 2)
	var total atomic.Int64
	f := func(begin, end int64) { total.Add(end - begin) }
	if n := testing.AllocsPerRun(1000, func() { _ = p.Run(1000, 1, 1, true, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func busy(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// BenchmarkPoolRegion measures a region of two pieces of about two microseconds each on two threads, and reports what
// it takes beyond the half of the work: with workers that still poll from the region before, and with workers that have
// gone to sleep, which are left alone, so that the other half is beyond, too. On a machine that is busy with other
// things the figures are those of the system's scheduler.
func BenchmarkPoolRegion(b *testing.B) {
	const piece = 2 * time.Microsecond
	work := func(begin, end int64) {
		for ; begin < end; begin++ {
			busy(piece)
		}
	}
	for _, c := range []struct {
		name  string
		pause time.Duration
	}{{"awake", 0}, {"asleep", 2 * measured().workerReach}} {
		b.Run(c.name, func(b *testing.B) {
			p := newPool(b, 2)
			var times []time.Duration
			for b.Loop() {
				busy(c.pause)
				start := time.Now()
				if err := p.Run(2, 1, 1, false, work); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/10]-piece), "ns-beyond-work-p10")
			b.ReportMetric(float64(times[len(times)/2]-piece), "ns-beyond-work")
		})
	}
}
