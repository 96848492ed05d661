package library

import (
	"errors"
	"flag"
	"fmt"
	"testing"

	heal "healc"
	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
)

var (
	first         = flag.Uint64("library.seed", 0, "the first seed; 0 is a new one every day")
	programsToRun = flag.Int("library.n", 100, "how many programs")
)

// batch is how many programs go into one library.
const batch = 20

// TestRandomPrograms compares libraries of random programs, compiled for any shape, with the interpreter, bit for
// bit: for each level of the processor, with one to seven threads, arguments and results of any strides.
func TestRandomPrograms(t *testing.T) {
	n := *programsToRun
	if testing.Short() {
		n = min(n, 40)
	}
	seed := *first
	if seed == 0 {
		seed = uint64(sample.Today(t)) << 20
	}
	stops, refused, cpus := 0, 0, devices.Processors(t)
	for at := 0; at < n; at += batch {
		// Every level for one library in eight, of which only the best runs; else one of them, which compiles faster.
		target := codegen.Target{}
		if k := at / batch; k%8 > 0 {
			target.CPU = cpus[k%len(cpus)]
		}
		l := &aot.Library{Prefix: "r", Target: target, SplitAll: at/batch%2 == 0}
		var programs []*random.Program
		for i := range min(batch, n-at) {
			p := random.New(seed+uint64(at+i), map[string]int{})
			m, err := engine.CompileIR(p.IR, engine.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			one, err := m.Library("r", []string{"f"}, func(string) map[string]int64 { return nil })
			m.Close()
			var no *codegen.Unsupported
			if errors.As(err, &no) {
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v", p.Seed, err)
			}
			one.Entries[0].Name = fmt.Sprintf("f%d", len(programs))
			l.Entries, programs = append(l.Entries, one.Entries[0]), append(programs, p)
		}
		lib, err := Build(t.TempDir(), l)
		if err != nil {
			t.Fatalf("seeds from %d: %v", seed+uint64(at), err)
		}
		levels := []string{""}
		if target.CPU == "" {
			levels = []string{"x86-64", "avx2", "avx512", "avx512ifma", "avx512vnni", "avx512vp2intersect",
				"avx512fp16", "amx"}
		}
		for _, level := range levels {
			if level != "" {
				if ok, err := lib.UseCPU(level); err != nil {
					t.Fatal(err)
				} else if !ok {
					continue
				}
			}
			for i, p := range programs {
				if _, err := lib.Do(lib.Own("set_threads"), []uintptr{1, 2, 3, 7}[p.Seed%4]); err != nil {
					t.Fatal(err)
				}
				want, err := random.Run(p, engine.Options{Backend: heal.Interp})
				if err != nil {
					t.Fatalf("seed %d: interpreter: %v", p.Seed, err)
				}
				got, err := lib.Run(p.IR.Func("f"), l.Entries[i], p.Input, p.Seed)
				if err != nil {
					t.Errorf("seed %d, %s: %v", p.Seed, level, err)
					continue
				}
				if want.Failed != "" {
					stops++
				}
				if d := random.Diff(want, got); d != "" {
					t.Errorf("seed %d, %s: interpreter and library differ: %s\n%s", p.Seed, level, d, p)
				}
			}
		}
		if err := lib.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refused > n/10 {
		t.Errorf("%d of %d programs cannot be in a library", refused, n)
	}
	t.Logf("%d programs from seed %d; %d runs stop with an error, %d programs cannot be in a library", n, seed, stops,
		refused)
}
