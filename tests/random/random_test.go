package random

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"healc/ir"
	"healc/tests/devices"
	"healc/tests/sample"
)

var (
	first = flag.Uint64("random.seed", 0, "the first seed; 0 is a new one every day")
	count = flag.Int("random.n", 16000/sample.Part(36), "how many programs")
	cpu   = flag.String("random.cpu", "",
		"the processor to make code for, in LLVM's words; one program of four is made for another one than this "+
			"machine's when this is empty")
)

// TestRandomPrograms compares the interpreter with the CPU, bit for bit, on random programs. HEAL_RANDOM
// gives a number of programs, or a time such as 10m.
func TestRandomPrograms(t *testing.T) {
	n, until := *count, time.Time{}
	if testing.Short() {
		n = 300
	}
	if env := os.Getenv("HEAL_RANDOM"); env != "" {
		if d, err := time.ParseDuration(env); err == nil {
			until, n = time.Now().Add(d), 1<<30
		} else if n, err = strconv.Atoi(env); err != nil {
			t.Fatalf("HEAL_RANDOM=%s is neither a number nor a time", env)
		}
	}
	seed := *first
	if seed == 0 {
		seed = uint64(sample.Today(t)) << 20
	}
	var mu sync.Mutex
	used := map[string]int{}
	stops := 0
	seeds := func(yield func(uint64) bool) {
		for i := 0; i < n && (until.IsZero() || time.Now().Before(until)) && yield(seed+uint64(i)); i++ {
		}
	}
	ran := each(t, seeds, func(s uint64) (msg string, shown func() string) {
		mine := map[string]int{}
		p := New(s, mine)
		threads := [...]int{1, 2, 3, 7, 2}[s%5]
		msg = check(t, p, threads)
		mu.Lock()
		for k, v := range mine {
			used[k] += v
		}
		if msg == Stopped {
			msg, stops = "", stops+1
		}
		mu.Unlock()
		return msg, func() string {
			small := Shrink(p, func(q *Program) bool {
				m := check(t, q, threads)
				return m != "" && m != Stopped
			})
			return fmt.Sprintf("%s\nsmallest: %s", check(t, small, threads), small)
		}
	})
	t.Logf("%d random programs from seed %d, %d stop with a run-time error on both backends", ran, seed, stops)
	if ran >= 2000 && !t.Failed() {
		for _, d := range ir.Ops() {
			if Skipped[d.Name] == "" && used[d.Name] < 5 {
				t.Errorf("operation %s was drawn %d times in %d programs; give it a maker in makers.go", d.Name,
					used[d.Name], ran)
			}
		}
	}
	if ran > 0 && stops > ran/3 {
		t.Errorf("%d of %d programs stop with a run-time error: the generator draws too few that run", stops, ran)
	}
}

func check(t *testing.T, p *Program, threads int) string {
	if err := ir.Verify(p.IR); err != nil {
		return "the generator made an invalid program: " + err.Error()
	}
	target := *cpu
	if target == "" {
		// threads and the kinds of compilation go by the seed's remainders, and all of them have to meet
		r := rand.New(rand.NewPCG(p.Seed, 1))
		if r.IntN(4) == 0 && runtime.GOARCH == "amd64" {
			// without and with AVX2, and as for AVX-512
			targets := append([]string{"x86-64", "x86-64-v3"}, devices.Split(t)...)
			target = targets[r.IntN(len(targets))]
		}
		target = devices.InTurn(r.IntN(1<<20), target)
	}
	return Check(t, p, threads, target)
}

// TestSameSeedSameProgram: a seed in a report must give the program that failed.
func TestSameSeedSameProgram(t *testing.T) {
	for s := range uint64(20) {
		a, b := New(s, map[string]int{}), New(s, map[string]int{})
		if a.String() != b.String() {
			t.Fatalf("seed %d gives two programs", s)
		}
	}
	if fmt.Sprint(New(1, map[string]int{})) == fmt.Sprint(New(2, map[string]int{})) {
		t.Fatal("two seeds give one program")
	}
}

// TestMakers: random programs hold every operation, or Skipped says why not.
func TestMakers(t *testing.T) {
	for _, d := range ir.Ops() {
		drawn := makers[d.Name] != nil || d.Class == ir.Pointwise
		for _, a := range d.Attrs { // Gen.pointwise draws element types alone
			drawn = drawn && (makers[d.Name] != nil || a.Kind == ir.AttrDType)
		}
		switch reason := Skipped[d.Name]; {
		case drawn && reason == "" || !drawn && reason != "" || d.Class == ir.Pointwise && reason != "":
		case !drawn:
			t.Errorf("random programs never hold the operation %s: add a maker in tests/random/makers*.go, or the "+
				"reason to Skipped", d.Name)
		default:
			t.Errorf("the operation %s has a maker and a reason in Skipped", d.Name)
		}
	}
}
