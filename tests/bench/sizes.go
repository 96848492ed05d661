package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"healc/cmd/healc/measure"
	"healc/runtime/tensor"
)

// The sizes of the chart are powers of two of elements.
const (
	leastSize = 4
	mostSize  = 26
)

// sized are the programs of the chart, of one tensor of any length.
var sized = []struct{ name, source string }{
	{"E1", "fn f[N](x: f32[N]) -> f32[N] = relu(x .* 1.5 .- 0.75) .* 2.25 .+ 0.125\n"},
	{"exp", "fn f[N](x: f32[N]) -> f32[N] = exp(x)\n"},
	{"sum", "fn f[N](x: f32[N]) -> f32 = +/(x)\n"},
}

// point is the time of one execution at one size.
type point struct {
	Elements int64   `json:"elements"`
	Median   float64 `json:"median_s"`
}

// series is a line of the chart.
type series struct {
	Program string  `json:"program"`
	Threads int     `json:"threads"`
	Points  []point `json:"points"`
}

// sizes measures how time grows with work, and draws it when svg names a file.
func (b *bench) sizes(svg string) error {
	all := make([]series, 0, len(sized)*len(b.threads))
	for _, s := range sized {
		for _, n := range b.threads {
			all = append(all, series{Program: s.name, Threads: n})
		}
	}
	for e := leastSize; e <= mostSize; e++ {
		progress("sizes, 2^%d ...", e)
		x, err := f32(int64(1) << e).make(uint64(e))
		if err != nil {
			return err
		}
		err = b.size(x, all)
		x.Close()
		if err != nil {
			return err
		}
	}
	b.report.Sizes = all
	if svg == "" {
		return nil
	}
	title := fmt.Sprintf("Nanoseconds an element over elements, f32; %s", b.report.Host.CPU)
	return os.WriteFile(svg, []byte(chart(title, all)), 0o644)
}

// size adds a point to every series.
func (b *bench) size(x *tensor.Tensor, all []series) error {
	var race []measure.Contender
	for _, s := range sized {
		for _, n := range b.threads {
			p, err := compile(s.source, "f", n, []*tensor.Tensor{x})
			if err != nil {
				return err
			}
			defer p.close()
			race = append(race, measure.Contender{Time: measure.Repeat(func() error {
				return p.f.CallInto(context.Background(), p.out, x)
			})})
		}
	}
	times, err := measure.Race(context.Background(), race, measure.Plan{Budget: min(b.budget, 100*time.Millisecond)})
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Points = append(all[i].Points, point{x.Elems(), times[i].Median()})
	}
	return nil
}
