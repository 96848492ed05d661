package measure

import (
	"context"
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

// Plan says how long to measure.
type Plan struct {
	Budget   time.Duration // for each contender, without the warm-up
	Rounds   int           // at most; 0 is 1000
	Progress func(done float64)
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
		repeats[i] = int(max((minSample-1)/best+1, 1))
		round += time.Duration(repeats[i]) * best
	}
	rounds := int(p.Budget * time.Duration(len(all)) / round)
	most := p.Rounds
	if most == 0 {
		most = 1000
	}
	rounds = max(min(rounds, most), min(minRounds, most))
	out := make([]Samples, len(all))
	for r := range rounds {
		for k := range all {
			i := k
			if r%2 == 1 {
				i = len(all) - 1 - k
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
	}
	return out, nil
}
