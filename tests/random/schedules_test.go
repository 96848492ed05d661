package random

import (
	"math/rand/v2"
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
		n = 180
	}
	seed, n := seedsOf(t, 1<<19, n)
	var mu sync.Mutex
	changed := 0
	each(t, from(seed, n), func(seed uint64) (msg string, shown func() string) {
		msg, changes, p := underSchedule(t, seed)
		mu.Lock()
		changed += changes
		mu.Unlock()
		return msg, p.String
	})
	t.Logf("%d directives changed in %d programs", changed, n)
	if n >= 60 && changed < n {
		t.Errorf("%d directives were changed in %d programs: there is little to compare", changed, n)
	}
}

// underSchedule runs one program; the message says what is wrong.
func underSchedule(t *testing.T, seed uint64) (msg string, changed int, p *Program) {
	p = New(seed, map[string]int{})
	want := interpreted(p, p.IR)
	r := rand.New(rand.NewPCG(seed, 5))
	opts := engine.Options{Backend: heal.CPU, Threads: 1 + r.IntN(2)}
	opts.Target = drawTarget(t, r, "", "x86-64", "x86-64-v3")
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
	return against(want, p, opts), changed, p
}
