package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/runtime"
	"healc/tests/devices"
	"healc/tests/library"
	"healc/tests/sample"
)

// TestInLibraries makes shared libraries of the programs' functions, for any shape, and compares what they give with
// what the interpreter gives: those of every fifth program, and of the others on the next days. Functions that print or
// take strings are not in a library.
func TestInLibraries(t *testing.T) {
	paths, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	calls, cpus, day, step := 0, devices.Processors(t), sample.Today(t), sample.Part(5)
	if testing.Short() {
		step = 10
	}
	for i, path := range paths {
		if (i+day)%step > 0 {
			continue
		}
		// every level for one library in eight, of which only the best runs; else one of them, which compiles faster
		cpu, n := "", (i+day)/step
		if n%8 > 0 || testing.Short() {
			cpu = cpus[n%len(cpus)]
		}
		t.Run(strings.TrimSuffix(path, ".txtar"), func(t *testing.T) { calls += inLibrary(t, path, cpu) })
	}
	t.Logf("%d calls", calls)
	if calls < 100 && !testing.Short() {
		t.Errorf("only %d calls were made", calls)
	}
}

func inLibrary(t *testing.T, path, cpu string) (calls int) {
	p, err := readProgram(path)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := p.run(engine.Options{Backend: heal.Interp}, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.CompileFile(diag.NewFile("main.heal", p.source), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l := &aot.Library{Prefix: "p", Target: codegen.Target{CPU: cpu}}
	entries := map[string]*aot.Entry{}
	for _, c := range p.calls {
		if _, done := entries[c.name]; done {
			continue
		}
		one, err := m.Library("p", []string{c.name}, func(string) map[string]int64 { return nil })
		var no *codegen.Unsupported
		var needsGPU *runtime.RuntimeError
		if errors.As(err, &no) || errors.As(err, &needsGPU) {
			entries[c.name] = nil
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		entries[c.name] = one.Entries[0]
		l.Entries = append(l.Entries, one.Entries[0])
	}
	if len(l.Entries) == 0 {
		return 0
	}
	lib, err := library.Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	for i, c := range p.calls {
		e := entries[c.name]
		if e == nil {
			continue
		}
		f, err := m.Func(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := lib.Run(f.IR(), e, c.args, uint64(c.line))
		if errors.Is(err, library.ErrNoResult) && want[i].failed != nil {
			continue
		}
		if err != nil {
			t.Errorf("line %d: %s: %v", c.line, c.text, err)
			continue
		}
		calls++
		if msg := sameAs(want[i], got.Failed, outcome{results: got.Results}); msg != "" {
			t.Errorf("line %d: %s: %s", c.line, c.text, msg)
		}
	}
	return calls
}

// sameAs compares what a library did with what the interpreter did. Messages of failed assertions have no values in
// a library.
func sameAs(want outcome, message string, got outcome) string {
	switch {
	case want.failed == nil && message == "":
		return sameOutcome(want, got)
	case want.failed == nil:
		return "failed: " + message
	case message == "":
		return fmt.Sprintf("did not fail: %v", want.failed)
	case !strings.HasPrefix(want.failed.Error(), message):
		return fmt.Sprintf("failed with %q, want %q", message, want.failed.Error())
	}
	return ""
}
