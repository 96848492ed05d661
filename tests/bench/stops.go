package main

import (
	"context"
	"fmt"
	"regexp"

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
			s, a := times[1].Over(times[0], times[2]), times[2].Over(times[0])
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

func medians(list []measure.Samples) measure.Samples {
	out := make(measure.Samples, len(list))
	for i, s := range list {
		out[i] = s.Median()
	}
	return out
}

// middle is the median and the interval in which that of all runs lies.
func middle(s measure.Samples) string {
	low, high := s.Interval()
	return fmt.Sprintf("%.4f (%.4f to %.4f)", s.Median(), low, high)
}
