package random

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"healc/codegen"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/tests/devices"
	"healc/tests/sample"
)

// seedsOf are the seeds of a test, the first and how many: n of today's, from the given part of the day's on, or those
// that were asked for.
func seedsOf(t *testing.T, part uint64, n int) (uint64, int) {
	if *first != 0 {
		return *first, *count
	}
	return uint64(sample.Today(t))<<20 + part, n
}

// from are n seeds from the first on.
func from(first uint64, n int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := 0; i < n && yield(first+uint64(i)); i++ {
		}
	}
}

// each runs the programs of seeds on all processors, and gives how many ran. What run says is wrong with one is an
// error, of the first five with the command that repeats it and with what is shown. Twenty are enough.
func each(t *testing.T, seeds iter.Seq[uint64], run func(seed uint64) (msg string, shown func() string)) int {
	t.Helper()
	var wg sync.WaitGroup
	var bad atomic.Int32
	next, ran := make(chan uint64), 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range next {
				if msg, shown := run(seed); msg != "" && bad.Add(1) <= 5 {
					t.Errorf("program %d: %s\nrun it with: go test ./tests/random -run %s -random.seed=%d "+
						"-random.n=1\n%s", seed, msg, t.Name(), seed, shown())
				}
			}
		})
	}
	for seed := range seeds {
		if bad.Load() >= 20 {
			break
		}
		next <- seed
		ran++
	}
	close(next)
	wg.Wait()
	if n := bad.Load(); n > 5 {
		t.Errorf("%d of %d programs fail", n, ran)
	}
	return ran
}

// drawTarget draws a processor: one of those that are named, "" being this machine's, or one for AVX-512.
func drawTarget(t *testing.T, r *rand.Rand, cpus ...string) codegen.Target {
	if runtime.GOARCH != "amd64" {
		return codegen.Target{}
	}
	cpus = append(cpus, devices.Split(t)...)
	return codegen.Target{CPU: cpus[r.IntN(len(cpus))]}
}

// against says how p differs under options from what is wanted, "" when it does not.
func against(want *Outcome, p *Program, opts engine.Options) string {
	got, err := Run(p, opts)
	if err != nil {
		return err.Error()
	}
	if (want.Failed != "") != (got.Failed != "") {
		return fmt.Sprintf("the interpreter says %q, %s %q", want.Failed, opts.Backend, got.Failed)
	}
	return Diff(want, got)
}

// eachDirective changes schedules: f is given every directive of a kind, and what is counted is how many. Kernels are
// written on several threads.
func eachDirective(kind string, n *int, f func(*kernel.Directive)) func(*kernel.Kernel, *kernel.Schedule) {
	var mu sync.Mutex
	return func(_ *kernel.Kernel, s *kernel.Schedule) {
		mu.Lock()
		defer mu.Unlock()
		kernel.Directives(s.Directives).Walk(func(d *kernel.Directive) {
			if d.Kind == kind {
				f(d)
				*n++
			}
		})
	}
}
