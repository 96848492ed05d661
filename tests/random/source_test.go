package random

import (
	"context"
	"flag"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

var (
	sources     = flag.Int("random.sources", 400, "how many random functions in the source language")
	sourceFirst = flag.Uint64("random.source", 0, "the seed of the first of them")
)

// TestSources runs random functions of the source language on the interpreter, and a part of them on the CPU, and
// compares them with the execution of their statements. Unless a seed or a number is given, a third of them runs, the
// others on the next two days.
func TestSources(t *testing.T) {
	const batch = 20
	n := *sources
	if testing.Short() {
		n = min(n, 100)
	}
	words := map[string]int{}
	parts, day := sample.Part(3), sample.Today(t)
	if *sourceFirst > 0 || n != 400 {
		parts = 1
	}
	for first := 0; first < n; first += batch {
		var text strings.Builder
		var list []*Source
		for i := first; i < min(n, first+batch); i++ {
			s := NewSource(fmt.Sprintf("f%d", i-first), *sourceFirst+uint64(i))
			list = append(list, s)
			text.WriteString(s.Text)
			for _, w := range sourceWords {
				words[w] += strings.Count(s.Text, w)
			}
		}
		if (first/batch+day)%parts > 0 {
			continue
		}
		runSources(t, engine.Options{Backend: heal.Interp, Threads: 1}, text.String(), list, *sourceFirst+uint64(first))
		k := (first/batch + day) / parts
		if k%4 == 0 {
			opts := engine.Options{Backend: heal.CPU, Threads: 1}
			if goruntime.GOARCH == "amd64" {
				// this machine's, without and with AVX2
				opts.Target.CPU = devices.InTurn(k/4, []string{"", "x86-64", "x86-64-v3"}[k/4%3])
			}
			for _, w := range ways.Each(k/4 + day) {
				_ = w.Run(t, opts, func(opts engine.Options) error {
					runSources(t, opts, text.String(), list, *sourceFirst+uint64(first))
					return nil
				})
			}
		}
		if devices.Takes(k, 20/parts) {
			runSources(t, engine.Options{Backend: devices.Backend()}, text.String(), list, *sourceFirst+uint64(first))
		}
	}
	for w, count := range words {
		if n >= 100 && count < 5 {
			t.Errorf("%d functions have %q %d times", n, w, count)
		}
	}
}

// sourceWords have to be in some of the functions.
var sourceWords = []string{
	"iterate(", "iterate_until(", "fold(", "scan(", "map(", "tabulate(", "where(", "scatter_add(", "sort(", "concat(",
	"flatten(u[[",
	"match ", "return ", " ++ ", "len(", " by -", "let mut c", "&mut ", "[T: int, N]", "(|", "false",
}

func runSources(t *testing.T, opts engine.Options, text string, list []*Source, seed uint64) {
	t.Helper()
	backend := strings.TrimSpace(opts.Backend + " " + opts.Target.CPU)
	m, err := engine.Compile(text, opts)
	if err != nil {
		for i, s := range list {
			if _, err := engine.Compile(s.Text, opts); err != nil {
				t.Fatalf("%s, -random.source=%d: %v\n%s", backend, seed+uint64(i), err, s.Text)
			}
		}
		t.Fatalf("%s, seeds %d to %d: %v", backend, seed, seed+uint64(len(list)), err)
	}
	defer m.Close()
	for i, s := range list {
		f, err := m.Func(fmt.Sprintf("f%d", i))
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range [][2]int32{{0, 0}, {1, -1}, {3, 2}, {-5, 7}, {100, 4}} {
			p, q := tensor.Scalar(in[0]), tensor.Scalar(in[1])
			out, err := f.Call(context.Background(), p, q)
			if err != nil {
				t.Fatalf("%s: -random.source=%d, f(%v): %v\n%s", backend, seed+uint64(i), in, err, s.Text)
			}
			if got, want := int32(out.Bits()[0]), s.Eval(in[0], in[1]); got != want {
				t.Fatalf("%s: -random.source=%d, f(%v) = %d, want %d\n%s", backend, seed+uint64(i), in, got, want,
					s.Text)
			}
			for _, x := range []*tensor.Tensor{p, q, out} {
				x.Close()
			}
		}
	}
}
