package random

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// TestGradientSources differentiates random functions in the source language: both modes agree, and the CPU and the
// device give the bits of the interpreter.
func TestGradientSources(t *testing.T) {
	n := *sources / 4 // each is compiled three times, and its derivatives are long
	if testing.Short() {
		n = min(n, 40)
	}
	compared := 0
	for i := range n {
		seed := *sourceFirst + uint64(i)
		const params = "x: f64[3, 4], y: f64[4], k: i32"
		text := NewGradientSource("f", seed) +
			"fn back(" + params + ", c: f64[4]) -> (f64[3, 4], f64[4]) = vjp(f)(x, y, k, c)\n" +
			"fn forth(" + params + ", dx: f64[3, 4], dy: f64[4]) -> f64[4] = jvp(f)(x, y, k, dx, dy)\n"
		r := rand.New(rand.NewPCG(seed, 17))
		x, y, k := numbers(r, ir.NewArray(types.F64, 3, 4), 1.5), numbers(r, ir.NewArray(types.F64, 4), 1.5),
			ir.NewArray(types.I32)
		k.Bits[0] = uint64(r.IntN(4))
		weight := numbers(r, y, 1)
		directions := []*ir.Array{numbers(r, x, 1), numbers(r, y, 1)}
		reversed := callAll(t, text, "back", seed, x, y, k, weight)
		forwarded := callAll(t, text, "forth", seed, x, y, k, directions[0], directions[1])
		reverse, size := weigh(directions, reversed)
		forward, other := weigh([]*ir.Array{weight}, forwarded)
		scale := math.Max(size, other)
		if math.IsNaN(scale) || scale > 1e30 || scale == 0 {
			continue
		}
		compared++
		if !(math.Abs(reverse-forward) <= 1e-8*scale+1e-10) {
			t.Errorf("-random.source=%d: reverse mode gives %v, forward mode %v\n%s", seed, reverse, forward, text)
		}
	}
	if compared < n*3/4 {
		t.Errorf("%d of %d functions have a derivative of numbers", compared, n)
	}
}

// callAll calls a function on the interpreter, for every fourth program on the CPU in one way a day, and for some on
// the device.
func callAll(t *testing.T, text, name string, seed uint64, args ...*ir.Array) []*ir.Array {
	t.Helper()
	var first *Outcome
	run := func(what string, o engine.Options) {
		t.Helper()
		m, err := engine.Compile(text, o)
		if err != nil {
			t.Fatalf("-random.source=%d: %v\n%s", seed, err, text)
		}
		out, err := Call(m, name, args, seed)
		m.Close()
		if err != nil || out.Failed != "" {
			t.Fatalf("-random.source=%d: %s of %s: %v %s\n%s", seed, name, what, err, out.Failed, text)
		}
		if first == nil {
			first = out
		} else if d := Diff(first, out); d != "" {
			t.Errorf("-random.source=%d: %s, %s: %s\n%s", seed, name, what, d, strings.TrimSpace(text))
		}
	}
	run(heal.Interp, engine.Options{Backend: heal.Interp})
	if seed%4 == 0 {
		for _, w := range ways.Each(int(seed/4) + sample.Day()) {
			for _, o := range w.Options(t, engine.Options{Backend: heal.CPU, Threads: 1}) {
				run(w.String(), o)
			}
		}
	}
	if devices.Takes(int(seed), 12) {
		run(devices.Backend(), engine.Options{Backend: devices.Backend()})
	}
	return first.Results
}
