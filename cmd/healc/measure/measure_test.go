package measure

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestMannWhitney compares with all ways to choose which ranks are ours.
func TestMannWhitney(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n, m := 1+rng.IntN(6), 1+rng.IntN(6)
		order := rng.Perm(n + m)
		var a, b []float64
		for i, v := range order {
			if i < n {
				a = append(a, float64(v))
			} else {
				b = append(b, float64(v))
			}
		}
		u := func(ours uint) int { // pairs in which one of ours is larger
			sum := 0
			for i := range n + m {
				for j := range i {
					if ours>>i&1 == 1 && ours>>j&1 == 0 {
						sum++
					}
				}
			}
			return sum
		}
		mine := uint(0)
		for _, v := range a {
			mine |= 1 << int(v)
		}
		got, uneven := MannWhitney(a, b), func(x int) int { return min(x, n*m-x) }
		count, all := 0, 0
		for ours := range uint(1) << (n + m) {
			if bits.OnesCount(ours) == n {
				all++
				if x := u(ours); x <= uneven(u(mine)) {
					count++
				}
			}
		}
		if want := math.Min(1, 2*float64(count)/float64(all)); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v and %v: %v, want %v", a, b, got, want)
		}
	}
}

// TestMannWhitneyEdges has cases with a plain answer, and the approximation beside the exact value.
func TestMannWhitneyEdges(t *testing.T) {
	if got := MannWhitney([]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}); math.Abs(got-2.0/252) > 1e-12 {
		t.Errorf("no overlap: %v", got)
	}
	if got := MannWhitney([]float64{1, 1, 1}, []float64{1, 1}); got != 1 {
		t.Errorf("all the same: %v", got)
	}
	if got := MannWhitney(nil, []float64{1}); got != 1 {
		t.Errorf("no samples: %v", got)
	}
	// The approximation and the exact value agree where both can be had.
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		a, b := make([]float64, 20), make([]float64, 20)
		for i := range a {
			a[i], b[i] = rng.Float64(), rng.Float64()+0.2
		}
		exact := MannWhitney(a, b)
		more := MannWhitney(append(a, -1, 2), append(b, -2, 3)) // 22 each, no longer exact
		if math.Abs(math.Log(exact/more)) > 1 && math.Abs(exact-more) > 0.05 {
			t.Errorf("exact %v, approximated with two more pairs %v", exact, more)
		}
	}
}

func TestSamples(t *testing.T) {
	s := Samples{3, 1, 100, 4, 2}
	if s.Median() != 3 || s.Quantile(0) != 1 || s.Quantile(1) != 100 || s.Quantile(0.25) != 2 {
		t.Errorf("%v %v %v %v", s.Median(), s.Quantile(0), s.Quantile(1), s.Quantile(0.25))
	}
	if (Samples{7}).Median() != 7 {
		t.Error("one sample")
	}
	if b := (Samples{1, 2, 9, 5, 6, 7, 8}).Blocks(2); b[0] != 2 || b[1] != 7 || len(b) != 2 {
		t.Errorf("blocks %v", b)
	}
	if b := s.Blocks(30); len(b) != 5 || b[2] != 100 {
		t.Errorf("blocks %v", b)
	}
}

// TestIntervals: intervals of medians, and ratios of rounds.
func TestIntervals(t *testing.T) {
	var s Samples
	for i := range 100 {
		s = append(s, float64((i*37)%100))
	}
	if low, high := s.Interval(); low != 40 || high != 60 { // 50 less and plus 0.98 times the root of 100
		t.Errorf("from %v to %v", low, high)
	}
	if low, high := (Samples{3, 1, 2}).Interval(); low != 1 || high != 3 {
		t.Errorf("of three from %v to %v", low, high)
	}
	if got := (Samples{2, 6, 8}).Over(Samples{1, 2, 3}, Samples{3, 2}); !slices.Equal(got, Samples{1, 3}) {
		t.Errorf("%v", got)
	}
}

// TestRepeatSpent: who waits spends nothing, and who works does.
func TestRepeatSpent(t *testing.T) {
	if _, ok := Spent(); !ok {
		t.Skip("the system does not tell")
	}
	work := func() error {
		for begin, _ := Spent(); ; {
			if now, _ := Spent(); now-begin >= 10*time.Millisecond {
				return nil
			}
		}
	}
	if d, err := RepeatSpent(work)(2); err != nil || d < 20*time.Millisecond {
		t.Errorf("work of 20 ms took %v, %v", d, err)
	}
	wait := func() error { time.Sleep(200 * time.Millisecond); return nil }
	if d, err := RepeatSpent(wait)(1); err != nil || d > 150*time.Millisecond {
		t.Errorf("waiting took %v, %v", d, err)
	}
}

// TestRace looks at who is asked for what, not at how long it takes.
func TestRace(t *testing.T) {
	var asked [2][]int
	fake := func(i int, each time.Duration) Contender {
		return Contender{Name: "fake", Time: func(n int) (time.Duration, error) {
			asked[i] = append(asked[i], n)
			return time.Duration(n) * each, nil
		}}
	}
	out, err := Race(context.Background(), []Contender{fake(0, time.Microsecond), fake(1, time.Second)},
		Plan{Budget: 7 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(out[0]) != 13 || len(out[1]) != 13 { // 14 seconds for rounds of a little over a second
		t.Errorf("%d and %d samples", len(out[0]), len(out[1]))
	}
	if last := asked[0][len(asked[0])-1]; last != 20 { // 20 microseconds a sample
		t.Errorf("the short one was repeated %d times", last)
	}
	if math.Abs(out[0].Median()-1e-6) > 1e-12 || out[1].Median() != 1 {
		t.Errorf("medians %v and %v", out[0].Median(), out[1].Median())
	}
	asked = [2][]int{}
	if _, err = Race(context.Background(), []Contender{fake(0, time.Microsecond), fake(1, time.Millisecond)},
		Plan{Budget: time.Second, Sample: 2 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if a, b := asked[0][len(asked[0])-1], asked[1][len(asked[1])-1]; a != 2000 || b != 2 {
		t.Errorf("samples of 2 ms repeat them %d and %d times", a, b)
	}
	// The third is settled at once, the second after ten rounds; then nothing is left to find out about the first.
	out, err = Race(context.Background(), []Contender{fake(0, time.Second), fake(1, time.Second), fake(0, time.Second)},
		Plan{Budget: 100 * time.Second,
			Settled: func(i int, have []Samples) bool { return i == 2 || len(have[i]) >= 10 }})
	if err != nil || len(out[0]) != 10 || len(out[1]) != 10 || len(out[2]) != minRounds {
		t.Errorf("%d, %d and %d samples, %v", len(out[0]), len(out[1]), len(out[2]), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Race(ctx, []Contender{fake(0, time.Second)}, Plan{}); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

// TestLimits runs every kernel of the limits on sizes around its blocks.
func TestLimits(t *testing.T) {
	m, err := NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, threads := range []int{1, 2} {
		for _, n := range []int64{0, 1, 255, 256, 1 << 14, 1<<20 + 777} {
			for _, k := range [][2]int64{{n, n}, {n, 0}, {0, n}, {2 * n, n}, {n, 1 << 16}} {
				plain, stream, err := m.Move(k[0], k[1], threads)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range []func() error{plain, stream} {
					if err := f(); err != nil {
						t.Errorf("move %v on %d threads: %v", k, threads, err)
					}
				}
			}
		}
		for _, k := range []Arithmetic{F32, F64, I32} {
			f, err := m.Compute(k, 1e6, threads)
			if err == nil {
				err = f()
			}
			if err != nil {
				t.Errorf("%s on %d threads: %v", k, threads, err)
			}
		}
	}
}
