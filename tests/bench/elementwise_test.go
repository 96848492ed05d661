package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"healc"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// elementwise are functions of one f32 tensor without reductions: chains, and the expansions of package scalar.
var elementwise = []struct{ name, body string }{
	{"chain", "relu(1.25 .* x .+ 0.5) .* 1.5 .+ -0.25"},
	{"exp", "exp(x)"}, {"log", "log(abs(x))"}, {"tanh", "tanh(x)"}, {"sigmoid", "sigmoid(x)"},
	{"gelu", "0.5 .* x .* (1.0 .+ tanh(0.7978846 .* (x .+ 0.044715 .* x .* x .* x)))"},
	{"reversed", "flip(x, 0) .+ 1.0"},
}

// BenchmarkElementwise times them in the first-level cache and in memory, one thread, results into a tensor that is
// there. In memory each takes turns with a copy, `-x`, which moves the same bytes: `of-copy` is the copy's median time
// over the function's, 1 where memory is all that counts.
//
//	go test ./tests/bench -run - -bench Elementwise -benchtime 20x
func BenchmarkElementwise(b *testing.B) {
	for _, n := range []int64{1 << 14, 1 << 24} {
		x, err := tensor.Randn(types.F32, 1, n)
		if err != nil {
			b.Fatal(err)
		}
		y, err := tensor.New(types.F32, n)
		if err != nil {
			b.Fatal(err)
		}
		compiled := func(body string) func() {
			m, err := heal.Compile("fn f[N](x: f32[N]) -> f32[N] = "+body, heal.Options{Threads: 1})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(m.Close)
			f, err := m.Func("f")
			if err != nil {
				b.Fatal(err)
			}
			ctx, out := context.Background(), []*tensor.Tensor{y}
			return func() {
				if err := f.CallInto(ctx, out, x); err != nil {
					b.Fatal(err)
				}
			}
		}
		calls := int(max(1, 1<<20/n)) // of one measurement
		timed := func(f func()) float64 {
			start := time.Now()
			for range calls {
				f()
			}
			return float64(time.Since(start).Nanoseconds()) / float64(calls)
		}
		duplicate := compiled("-x")
		for _, c := range elementwise {
			f := compiled(c.body)
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				f()
				var own, copies []float64
				for b.Loop() {
					own = append(own, timed(f))
					copies = append(copies, timed(duplicate))
				}
				slices.Sort(own)
				slices.Sort(copies)
				b.ReportMetric(0, "ns/op") // the time of both, which says nothing
				b.ReportMetric(own[len(own)/2]/1e3, "us/call")
				b.ReportMetric(copies[len(copies)/2]/own[len(own)/2], "of-copy")
			})
		}
		x.Close()
		y.Close()
	}
}
