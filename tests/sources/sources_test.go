package sources

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

var (
	from  = flag.Uint64("sources.seed", 0, "the first program to run; 0 is one that the day says")
	count = flag.Int("sources.n", 1, "how many programs to run from -sources.seed on")
)

// TestTypes: the checker takes the programs, and their IR is well formed.
func TestTypes(t *testing.T) {
	used, bad := map[string]int{}, 0
	const n = 1000
	for i := range uint64(n) {
		seed := i
		switch i % 3 {
		case 1:
			seed += since
		case 2:
			seed += ranked
		}
		p := New(seed, used)
		m, err := engine.Compile(p.Text(), engine.Options{Backend: heal.Interp})
		if err != nil {
			if bad++; bad <= 5 {
				t.Errorf("seed %d: %v\n%s", seed, err, p)
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
	n, seed := 10000/sample.Part(150), *from
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
				refused, dir := refusal(p), t.TempDir()
				msg, which, want := "", []Way(nil), (*random.Outcome)(nil)
				if refused == nil {
					msg, which, want = Check(p, waysOf(t, p), dir)
				}
				mu.Lock()
				ran++
				if refused != nil {
					if unfit++; unfit <= 5 {
						t.Errorf("program %d is refused: %v\n%s", s, refused, p)
					}
				}
				if want != nil && want.Failed != "" {
					stopped++
				}
				report := false
				if msg != "" {
					bad++
					report = bad <= 5
				}
				mu.Unlock()
				if report {
					small := Shrink(p, fails(msg, which, dir), 400)
					again, _, _ := Check(small, which, dir)
					t.Errorf("program %d: %s\nrun it with: go test ./tests/sources -run TestSources -sources.seed=%d\n"+
						"smallest: %s\n%s", s, msg, s, again, small)
				}
			}
		}()
	}
	for i := range n {
		next <- seed + uint64(i)
	}
	close(next)
	wg.Wait()
	t.Logf("%d programs, of which %d stop by an error, and %d are refused", ran, stopped, unfit)
}

// fails reports whether a program fails as the one with this message does: another kind of failure is another defect.
func fails(msg string, which []Way, dir string) func(*Program) bool {
	return func(p *Program) bool {
		if !accepted(p) {
			return false
		}
		again, _, _ := Check(p, which, dir)
		return again != "" && kindOf(again) == kindOf(msg)
	}
}

// kindOf is what messages of one defect have in common.
func kindOf(msg string) string {
	for _, words := range []string{`failure "" against`, `against ""`, "failure", "panic", "result", "bug"} {
		if strings.Contains(msg, words) {
			return words
		}
	}
	return ""
}

// TestShrink: a program shrinks to what makes it fail.
func TestShrink(t *testing.T) {
	shrunk := 0
	for seed := uint64(0); shrunk < 3; seed++ {
		p := New(seed, map[string]int{})
		if !strings.Contains(p.Text(), "sort(") || len(p.Text()) < 800 {
			continue
		}
		small := Shrink(p, func(q *Program) bool { return strings.Contains(q.Text(), "sort(") && accepted(q) }, 2000)
		if len(small.Text()) > 500 {
			t.Errorf("seed %d shrinks to\n%s", seed, small.Text())
		}
		shrunk++
	}
}

// accepted reports whether the checker takes a program.
func accepted(p *Program) bool { return refusal(p) == nil }

// refusal is what the checker has against a program.
func refusal(p *Program) error {
	m, err := engine.Compile(p.Text(), engine.Options{Backend: heal.Interp})
	if err != nil {
		return err
	}
	m.Close()
	return nil
}

// waysOf are the ways that a program takes: on the CPU by threads, effort, shape and cache, and some on a device.
func waysOf(t *testing.T, p *Program) []Way {
	seed := p.Seed
	out := []Way{{Backend: heal.CPU, Threads: 1 + int(seed%2), Way: ways.Least}}
	cpu := ""
	if seed%2 == 1 && runtime.GOARCH == "amd64" {
		cpus := append([]string{"x86-64", "x86-64-v3"}, devices.Split(t)...)
		cpu = cpus[seed/2%uint64(len(cpus))]
	}
	for _, w := range ways.Thorough(int(seed), 2) {
		if !w.AnyShape || !p.Unfit {
			out = append(out, Way{heal.CPU, cpu, []int{7, 2, 1}[seed/2%3], w})
		}
	}
	if devices.Takes(int(seed), 16) {
		out = append(out, Way{Backend: devices.Backend()})
	}
	return out
}
