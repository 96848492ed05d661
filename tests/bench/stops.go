package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"

	"healc/cmd/healc/measure"
)

// stops measures what it costs that a context can stop a call: in each row and on each number of threads, calls that
// nothing can stop, calls that a context can stop, and the first once more, which says how far equal things are apart.
func (b *bench) stops(match *regexp.Regexp) error {
	fmt.Printf("load average %s\n\n", measure.Load())
	fmt.Println("| row | threads | median | calls that can be stopped | the same calls again |")
	fmt.Println("|---|---:|---:|---:|---:|")
	for _, n := range b.threads {
		var stopped, again []measure.Samples
		for _, r := range rows {
			if !match.MatchString(r.name) {
				continue
			}
			progress("%s ...", r.name)
			times, err := b.stopRow(r, n)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			progress("")
			s, a := ratios(times[1], times[0], times[2]), ratios(times[2], times[0])
			stopped, again = append(stopped, s), append(again, a)
			fmt.Printf("| %s | %d | %s | %s | %s |\n", r.name, n, duration(times[0].Median()), middle(s), middle(a))
		}
		if len(stopped) > 0 {
			fmt.Printf("| all | %d | | %s | %s |\n", n, middle(medians(stopped)), middle(medians(again)))
		}
	}
	fmt.Println("\nThe median of the ratios of the rounds, and the interval that holds it with a probability of 95 %.")
	return nil
}

// stopRow is the race of a row: calls that nothing can stop, calls that a context can stop, and the first again.
func (b *bench) stopRow(r row, threads int) ([]measure.Samples, error) {
	args, err := r.inputs()
	if err != nil {
		return nil, err
	}
	defer closeAll(args)
	p, err := compile(rowsSource, r.entry, threads, args)
	if err != nil {
		return nil, err
	}
	defer p.close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := func(name string, ctx context.Context) measure.Contender {
		return measure.Contender{Name: name, Threads: threads, Time: measure.Repeat(func() error {
			return p.f.CallInto(ctx, p.out, args...)
		})}
	}
	return measure.Race(context.Background(), []measure.Contender{
		call("cannot be stopped", context.Background()), call("can be stopped", ctx),
		call("cannot be stopped, again", context.Background()),
	}, measure.Plan{Budget: b.budget})
}

// ratios are, round by round, the times of a over the mean of those of others: what slows a whole round down falls out.
func ratios(a measure.Samples, others ...measure.Samples) measure.Samples {
	out := make(measure.Samples, len(a))
	for i := range a {
		sum := 0.0
		for _, o := range others {
			sum += o[i]
		}
		out[i] = a[i] / (sum / float64(len(others)))
	}
	return out
}

func medians(list []measure.Samples) measure.Samples {
	out := make(measure.Samples, len(list))
	for i, s := range list {
		out[i] = s.Median()
	}
	return out
}

// middle is the median and the interval in which that of all runs lies with a probability of 95 %, by ranks: how many
// of n samples lie below the true median is binomial.
func middle(s measure.Samples) string {
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	half := 0.98 * math.Sqrt(float64(len(s)))
	low := max(int(float64(len(s))/2-half), 0)
	high := min(int(math.Ceil(float64(len(s))/2+half)), len(s)-1)
	return fmt.Sprintf("%.4f (%.4f to %.4f)", s.Median(), sorted[low], sorted[high])
}
