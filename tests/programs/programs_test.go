// Package programs runs real programs, from the game of life to SHA-256, on every backend.
//
// The comment at the head of a program says what it does and, in `# expect` lines, what it has to print. The
// expectations were computed by expect.py, a second version of each program in Python with NumPy, and never with
// healc. Where the two add floats in different orders, a program prints rounded multiples of them (`round(x * 1e6)`)
// that do not depend on it; everything else is exact.
package programs

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/suite"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// TestPrograms runs every program on the interpreter, and on the CPU with one thread and with two. All have to
// print what the head says, to the last digit. With -short it is every third program, and not with one thread.
func TestPrograms(t *testing.T) {
	paths, err := filepath.Glob("*.heal")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d programs: %v", len(paths), err)
	}
	if testing.Short() {
		third := paths[:0]
		for i, p := range paths {
			if i%3 == 0 {
				third = append(third, p)
			}
		}
		paths = third
	}
	cache := &cache.Cache{Dir: t.TempDir()}
	run := func(name string, threads int, paths []string, set func(o *engine.Options), backends ...string) {
		s := &suite.Suite{Backends: backends, Workers: 2, Cache: cache, Args: arguments(threads), Options: set}
		results, err := s.Test(context.Background(), paths)
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != len(paths)*len(backends) {
			t.Errorf("%s: %d results of %d programs on %d backends", name, len(results), len(paths), len(backends))
		}
		for _, r := range results {
			if r.Result != suite.Passed {
				t.Errorf("%s: %s on %s: %s: %s", name, r.Name, r.Backend, r.Result, r.Message)
			}
		}
	}
	run("two threads", 2, paths, nil, heal.Interp, heal.CPU)
	if testing.Short() {
		return
	}
	run("one thread", 1, paths, nil, heal.CPU)
	// Another way to compile has a part of the programs, all ways together each third one.
	for k, w := range ways.All {
		var some []string
		for i, p := range paths {
			if slices.Contains(ways.Usual(i, 3), w) {
				some = append(some, p)
			}
		}
		if k == 0 || len(some) == 0 {
			continue
		}
		_ = w.Run(t, engine.Options{}, func(o engine.Options) error {
			run(w.Name, 1, some, func(opts *engine.Options) {
				opts.Cache = o.Cache
				w.Set(opts)
			}, heal.CPU)
			return nil
		})
	}
}

// TestProgramsOnDevice runs programs on a device, a sample of them on the simulator.
func TestProgramsOnDevice(t *testing.T) {
	s := &suite.Suite{
		Backends: []string{devices.Backend()}, Workers: 2, Cache: &cache.Cache{Dir: t.TempDir()}, Args: arguments(1),
		Take: func(i int) bool { return devices.Takes(i+sample.Day(), 5) },
	}
	results, err := s.Test(context.Background(), []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	if devices.Takes(0, 1) && len(results) < 10 {
		t.Errorf("%d programs ran", len(results))
	}
	for _, r := range results {
		if r.Result != suite.Passed {
			t.Errorf("%s on %s: %s: %s", r.Name, r.Backend, r.Result, r.Message)
		}
	}
}

// arguments reads the words of `# args`, of which these programs use two, and sets the number of threads.
func arguments(threads int) func(words []string, job *driver.Job) error {
	return func(words []string, job *driver.Job) error {
		fs := flag.NewFlagSet("args", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		fs.StringVar(&job.Entry, "entry", "", "the function to run")
		fs.Func("in", "an input", func(v string) error { job.Inputs = append(job.Inputs, v); return nil })
		if err := fs.Parse(words); err != nil {
			return err
		}
		if fs.NArg() > 0 {
			return fmt.Errorf("`%s` is no flag", fs.Arg(0))
		}
		job.Opts.Threads = threads
		return nil
	}
}

// TestEveryProgramSaysWhat requires of every program a title, its output, and a reference in expect.py that
// computed it.
func TestEveryProgramSaysWhat(t *testing.T) {
	paths, err := filepath.Glob("*.heal")
	if err != nil {
		t.Fatal(err)
	}
	references := ""
	scripts, err := filepath.Glob("*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		references += string(text)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(p, ".heal")
		if !strings.HasPrefix(string(text), "# ") || strings.HasPrefix(string(text), "# expect") {
			t.Errorf("%s does not start with what it does", p)
		}
		if !strings.Contains(string(text), "\n# expect stdout \"") {
			t.Errorf("%s does not say what it prints", p)
		}
		if !strings.Contains(references, "\ndef "+name+"(") {
			t.Errorf("no function %s of a Python script computes what %s prints", name, p)
		}
	}
}
