package sources

import (
	"flag"
	"runtime"
	"sync"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
)

var (
	from  = flag.Uint64("sources.seed", 0, "the first program to run; 0 is one that the day says")
	count = flag.Int("sources.n", 1, "how many programs to run from -sources.seed on")
)

// refused is how many of a thousand programs the checker may refuse: those with an extent that nothing determines, or
// with one that has no value without others.
const refused = 5

// TestTypes: the checker takes the programs, and their IR is well formed.
func TestTypes(t *testing.T) {
	used, bad := map[string]int{}, 0
	const n = 400
	for seed := range uint64(n) {
		p := New(seed, used)
		m, err := engine.Compile(p.Text(), engine.Options{Backend: heal.Interp})
		if err != nil {
			if bad++; bad > n*refused/1000 {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		if err := ir.Verify(m.IR()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		m.Close()
	}
	if len(used) < 30 {
		t.Errorf("only %d forms of expressions are used: %v", len(used), used)
	}
}

// TestSources compares the interpreter with the other ways to run a program: the same bits, and the same error at the
// same place.
func TestSources(t *testing.T) {
	n, seed := 10000/sample.Part(60), *from
	if testing.Short() {
		n = 20
	}
	if seed == 0 {
		seed = uint64(sample.Today(t)) << 20
	} else {
		n = *count
	}
	next := make(chan uint64)
	var mu sync.Mutex
	var wg sync.WaitGroup
	ran, stopped, unfit, bad := 0, 0, 0, 0
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for s := range next {
				p := New(s, map[string]int{})
				fits := accepted(p)
				msg, want := "", (*random.Outcome)(nil)
				if fits {
					msg, _, want = Check(p, waysOf(t, s), t.TempDir())
				}
				mu.Lock()
				ran++
				if !fits {
					unfit++
				}
				if want != nil && want.Failed != "" {
					stopped++
				}
				if msg != "" {
					if bad++; bad <= 5 {
						t.Errorf("program %d: %s\nrun it with: go test ./tests/sources -run TestSources "+
							"-sources.seed=%d\n%s", s, msg, s, p.Text())
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
	t.Logf("%d programs, of which %d stop by an error, and %d are refused", ran, stopped, unfit)
	if ran >= 100 && unfit > 1+ran*refused/1000 {
		t.Errorf("%d of %d programs are refused", unfit, ran)
	}
}

// accepted reports whether the checker takes a program.
func accepted(p *Program) bool {
	m, err := engine.Compile(p.Text(), engine.Options{Backend: heal.Interp})
	if err != nil {
		return false
	}
	m.Close()
	return true
}

// waysOf are the ways that a program takes: on the CPU by threads, effort, shape and cache, and some on a device.
func waysOf(t *testing.T, seed uint64) []Way {
	ways := []Way{
		{Backend: heal.CPU, Threads: 1 + int(seed%2), Once: true},
		{Backend: heal.CPU, Threads: 7, Vectors: true},
	}
	switch seed % 4 {
	case 0:
		ways = append(ways, Way{Backend: heal.CPU, Threads: 2, AnyShape: true})
	case 1:
		ways = append(ways, Way{Backend: heal.CPU, Threads: 1, Cached: true})
	default:
		if runtime.GOARCH == "amd64" {
			cpus := append([]string{"x86-64", "x86-64-v3"}, devices.Split(t)...)
			ways = append(ways, Way{Backend: heal.CPU, CPU: cpus[seed/4%uint64(len(cpus))], Threads: 2, Vectors: true})
		}
	}
	if devices.Takes(int(seed), 16) {
		ways = append(ways, Way{Backend: devices.Backend()})
	}
	return ways
}
