package measure

import (
	"context"
	"math"
	"slices"
	"time"
)

// Contender is one way to do something.
type Contender struct {
	Name    string
	Threads int
	// Time does the thing n times in a row and returns how long that took.
	Time func(n int) (time.Duration, error)
}

// Repeat is a Contender's Time for a function in this process.
func Repeat(f func() error) func(n int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := f(); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
}

// RepeatSpent is a Contender's Time for a function in this process that runs on one thread: the processor time, to
// which other programs add less than to the time that passes.
func RepeatSpent(f func() error) func(n int) (time.Duration, error) {
	passed := Repeat(f)
	return func(n int) (time.Duration, error) {
		before, _ := Spent()
		d, err := passed(n)
		if after, ok := Spent(); ok && after > before {
			d = after - before
		}
		return d, err
	}
}

// Samples are the times of single runs, in seconds, in the order in which they were taken.
type Samples []float64

// Quantile is the q-quantile, with the nearest rank: 0.5 is the median. There must be a sample.
func (s Samples) Quantile(q float64) float64 {
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	return sorted[int(q*float64(len(s)-1)+0.5)]
}

// Median is the middle.
func (s Samples) Median() float64 { return s.Quantile(0.5) }

// Blocks are the medians of up to n stretches of equal length. Neighbours in time share the state of the machine,
// so that a thousand samples are not a thousand independent ones; a test of significance gets these.
func (s Samples) Blocks(n int) Samples {
	n = min(n, len(s))
	out := make(Samples, n)
	for i := range out {
		out[i] = s[i*len(s)/n : (i+1)*len(s)/n].Median()
	}
	return out
}

// Interval is where the median of all runs lies with a probability of 95 %, by ranks: how many of n samples lie below
// the true one is binomial.
func (s Samples) Interval() (low, high float64) {
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	half := 0.98 * math.Sqrt(float64(len(s)))
	return sorted[max(int(float64(len(s))/2-half), 0)], sorted[min(int(math.Ceil(float64(len(s))/2+half)), len(s)-1)]
}

// Over are, round by round, the times over the mean of those of others: what slows a whole round down falls out. Rounds
// that one of them does not have do not count.
func (s Samples) Over(others ...Samples) Samples {
	n := len(s)
	for _, o := range others {
		n = min(n, len(o))
	}
	out := make(Samples, n)
	for i := range out {
		sum := 0.0
		for _, o := range others {
			sum += o[i]
		}
		out[i] = s[i] / (sum / float64(len(others)))
	}
	return out
}

// Plan says how long to measure.
type Plan struct {
	Budget   time.Duration // for each contender, without the warm-up
	Sample   time.Duration // the least that a sample takes; 0 is what the clock asks for
	Rounds   int           // at most; 0 is 1000
	Progress func(done float64)
	// Settled reports, of what the contenders have so far, that contender i needs no more samples: it takes no turn
	// from then on. The race ends when only the first is left. nil: each has all its turns.
	Settled func(i int, have []Samples) bool
}

const (
	minRounds = 5
	// minSample is the shortest time that the clock, some 25 ns, and its reading leave alone.
	minSample = 20 * time.Microsecond
	warmUp    = 100 * time.Millisecond
)

// Race measures all contenders in turns: each is warmed up, one after another, and told from its first runs how
// often a sample has to repeat it; then each does a sample a round, until the budget is spent. There are at
// least five rounds. The order of a round alternates, so that no contender always follows the same one.
func Race(ctx context.Context, all []Contender, p Plan) ([]Samples, error) {
	repeats := make([]int, len(all))
	sample := max(p.Sample, minSample)
	round := time.Duration(0)
	for i := range all {
		best := time.Duration(1<<63 - 1)
		for start, k := time.Now(), 0; k < 2 || time.Since(start) < min(warmUp, p.Budget) && k < 1000; k++ {
			d, err := all[i].Time(1)
			if err != nil {
				return nil, err
			}
			best = min(best, max(d, 1))
		}
		repeats[i] = int(max((sample-1)/best+1, 1))
		round += time.Duration(repeats[i]) * best
	}
	rounds := int(p.Budget * time.Duration(len(all)) / round)
	most := p.Rounds
	if most == 0 {
		most = 1000
	}
	rounds = max(min(rounds, most), min(minRounds, most))
	out, settled, left := make([]Samples, len(all)), make([]bool, len(all)), len(all)
	for r := range rounds {
		for k := range all {
			i := k
			if r%2 == 1 {
				i = len(all) - 1 - k
			}
			if settled[i] {
				continue
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			d, err := all[i].Time(repeats[i])
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], d.Seconds()/float64(repeats[i]))
		}
		if p.Progress != nil {
			p.Progress(float64(r+1) / float64(rounds))
		}
		if p.Settled == nil || r+1 < minRounds {
			continue
		}
		for i := 1; i < len(all); i++ {
			if !settled[i] && p.Settled(i, out) {
				settled[i] = true
				left--
			}
		}
		if left == 1 {
			break
		}
	}
	return out, nil
}
