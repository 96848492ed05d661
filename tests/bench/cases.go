package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"healc"
	"healc/lang/types"
	"healc/runtime"
)

// kernelCase is a function of one large tensor and some scalars.
type kernelCase struct {
	name    string
	source  string // declares `f`
	shape   []int64
	scalars []float32
	bytes   int64   // read and written at least, for GB/s
	rel     float64 // how far from healc's result another's may be, relative to the largest element
}

const bigLen = 1 << 24

// cases are what is measured. Those of NumPy and numexpr by the same names are in peer.py.
//
// rel: the contenders round and add up in different orders. Sums of 2^24 numbers in [0, 1) in f32 are off by
// some 1e-7 of the sum when done in pieces; 1e-5 tells an error from that.
var cases = []*kernelCase{
	{
		name:   "chain",
		source: "fn f[N](x: f32[N], a: f32, b: f32, c: f32, d: f32) -> f32[N] = relu(a .* x .+ b) .* c .+ d\n",
		shape:  []int64{bigLen}, scalars: []float32{1.5, -0.75, 2.25, 0.125}, bytes: 8 * bigLen, rel: 1e-6,
	},
	{name: "sum", source: "fn f[N](x: f32[N]) -> f32 = +/(x)\n", shape: []int64{bigLen}, bytes: 4 * bigLen, rel: 1e-5},
	{name: "sum2d", source: "fn f[M, N](x: f32[M, N]) -> f32 = +/(x)\n", shape: []int64{4096, 4096}, bytes: 4 * bigLen, rel: 1e-5},
	{name: "rows", source: "fn f[M, N](x: f32[M, N]) -> f32[M] = +/[axis=1](x)\n", shape: []int64{4096, 4096}, bytes: 4 * bigLen, rel: 1e-5},
	{name: "columns", source: "fn f[M, N](x: f32[M, N]) -> f32[N] = +/[axis=0](x)\n", shape: []int64{4096, 4096}, bytes: 4 * bigLen, rel: 1e-5},
}

// contender is one way to compute a case.
type contender struct {
	name    string
	threads int
	once    func() (time.Duration, error)
}

// measure checks the results against one another and then times all contenders in turns.
func (c *kernelCase) measure(p *peer, rounds int, r *report) error {
	dir, err := os.MkdirTemp("", "heal-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	x, err := runtime.Rand(types.F32, 7, c.shape...)
	if err != nil {
		return err
	}
	defer x.Close()
	input := filepath.Join(dir, "x.npy")
	if err := runtime.WriteNpyFile(input, x); err != nil {
		return err
	}
	peers, err := p.open(c.name, input, c.scalars)
	if err != nil {
		return err
	}
	var all []contender
	for _, threads := range []int{1, 2} {
		h, err := c.healc(threads, x)
		if err != nil {
			return err
		}
		defer h.close()
		result := filepath.Join(dir, "y.npy")
		if err := h.save(result); err != nil {
			return err
		}
		if err := p.check(result, c.rel); err != nil {
			return fmt.Errorf("healc with %d threads: %w", threads, err)
		}
		all = append(all, contender{"healc", threads, h.once})
	}
	for _, q := range peers {
		all = append(all, contender{q.Name, q.Threads, func() (time.Duration, error) { return p.once(q) }})
	}
	return c.race(all, rounds, r)
}

// race runs the contenders in turns; the first two rounds warm up.
func (c *kernelCase) race(all []contender, rounds int, r *report) error {
	times := make([][]time.Duration, len(all))
	for round := range rounds + 2 {
		for i, k := range all {
			d, err := k.once()
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			if round >= 2 {
				times[i] = append(times[i], d)
			}
		}
	}
	for i, k := range all {
		r.add(c.name, k.name, k.threads, times[i], c.bytes)
	}
	return nil
}

// healcCase is a case, compiled.
type healcCase struct {
	m    *heal.Module
	f    *heal.Func
	args []*runtime.Tensor // the first is the caller's
}

func (c *kernelCase) healc(threads int, x *runtime.Tensor) (*healcCase, error) {
	m, err := heal.Compile(c.source, heal.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	h := &healcCase{m: m, args: []*runtime.Tensor{x}}
	for _, s := range c.scalars {
		h.args = append(h.args, runtime.Scalar(s))
	}
	if h.f, err = m.Func("f"); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *healcCase) once() (time.Duration, error) {
	start := time.Now()
	y, err := h.f.Call(context.Background(), h.args...)
	if err != nil {
		return 0, err
	}
	d := time.Since(start)
	y.Close()
	return d, nil
}

func (h *healcCase) save(path string) error {
	y, err := h.f.Call(context.Background(), h.args...)
	if err != nil {
		return err
	}
	defer y.Close()
	return runtime.WriteNpyFile(path, y)
}

func (h *healcCase) close() {
	for _, t := range h.args[1:] {
		t.Close()
	}
	h.m.Close()
}
