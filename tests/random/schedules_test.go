package random

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/tests/devices"
	"healc/tests/sample"
)

// TestSchedules compares the interpreter with the CPU, and with a device, bit for bit, on random programs under random
// profiles and random schedules: no number of a machine, and no directive that is left out or has other parameters,
// changes a result.
func TestSchedules(t *testing.T) {
	n := 4000 / sample.Part(10)
	if testing.Short() {
		n = 60
	}
	seed := *first
	if seed == 0 {
		seed = uint64(sample.Today(t))<<20 + 1<<19
	} else {
		n = *count
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan uint64)
	changed, ran, bad := 0, 0, 0
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for s := range next {
				msg, changes, p := underSchedule(t, s)
				mu.Lock()
				ran++
				changed += changes
				if msg != "" {
					if bad++; bad <= 5 {
						t.Errorf("program %d: %s\nrun it with: go test ./tests/random -run TestSchedules "+
							"-random.seed=%d -random.n=1\n%s", s, msg, s, p)
					}
				}
				mu.Unlock()
			}
		}()
	}
	for i := range n {
		next <- seed + uint64(i)
	}
	close(next)
	wg.Wait()
	t.Logf("%d directives changed in %d programs", changed, ran)
	if n >= 60 && changed < n {
		t.Errorf("%d directives were changed in %d programs: there is little to compare", changed, ran)
	}
}

// underSchedule runs one program; the message says what is wrong.
func underSchedule(t *testing.T, seed uint64) (msg string, changed int, p *Program) {
	p = New(seed, map[string]int{})
	want := interpreted(p, p.IR)
	r := rand.New(rand.NewPCG(seed, 5))
	opts := engine.Options{Backend: heal.CPU, Threads: 1 + r.IntN(2)}
	if runtime.GOARCH == "amd64" {
		targets := append([]string{"", "x86-64", "x86-64-v3"}, devices.Split(t)...)
		opts.Target = codegen.Target{Kind: codegen.Target{}.Kind, CPU: targets[r.IntN(len(targets))]}
	}
	if device := devices.Takes(int(seed), 8); device { // grids have no directives to change, but profiles
		opts.Backend, opts.Target, opts.Threads = devices.Backend(), codegen.Target{}, 0
		opts.Debug.Profile = Profile(r)
	} else if r.IntN(3) > 0 {
		opts.Debug.Profile = Profile(r)
	}
	var mu sync.Mutex // kernels are written on several threads
	if opts.Backend == heal.CPU && (r.IntN(3) > 0 || opts.Debug.Profile == nil) {
		opts.Debug.Reschedule = func(k *kernel.Kernel, s *kernel.Schedule) {
			mu.Lock()
			defer mu.Unlock()
			s.Directives = Reschedule(rand.New(rand.NewPCG(seed, uint64(len(k.Types)))), s.Directives, &changed)
		}
	} else {
		changed = 1
	}
	got, err := Run(p, opts)
	if err != nil {
		return err.Error(), changed, p
	}
	if want.Failed != "" || got.Failed != "" {
		if (want.Failed != "") != (got.Failed != "") {
			return fmt.Sprintf("the interpreter says %q, %s %q", want.Failed, opts.Backend, got.Failed), changed, p
		}
		return "", changed, p
	}
	return Diff(want, got), changed, p
}
