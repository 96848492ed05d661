package shardings

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

var hashes = flag.Bool("hashes", false, "run every program in every column, and write docs/one-answer.md")

// column is a way to run a program.
type column struct {
	name    string
	ranks   int // 0: one, without a cluster
	threads int
	backend string
	cpu     string
}

// columns are those of the page.
var columns = []column{
	{name: "interpreter", backend: heal.Interp},
	{name: "1 thread", threads: 1}, {name: "2 threads", threads: 2}, {name: "3 threads", threads: 3},
	{name: "SSE2", threads: 1, cpu: "x86-64"}, {name: "AVX2", threads: 1, cpu: "x86-64-v3"},
	{name: "AVX-512", threads: 1, cpu: "x86-64-v4"},
	{name: "PTX", backend: heal.PTXSim},
	{name: "2 ranks", ranks: 2, threads: 1}, {name: "3 ranks", ranks: 3, threads: 1},
	{name: "4 ranks, 2 threads", ranks: 4, threads: 2}, {name: "7 ranks", ranks: 7, threads: 1},
}

// run is the hash of what a program gives in a column; "" where this machine cannot have it.
func (c column) run(t *testing.T, source string, input []*ir.Array, w ways.Way) string {
	t.Helper()
	o := engine.Options{Threads: c.threads, Backend: c.backend}
	if c.cpu != "" {
		if !can(t, c.cpu) {
			return ""
		}
		o.Target = codegen.Target{Kind: "cpu", CPU: c.cpu}
	}
	hash := ""
	for _, o := range w.Options(t, o) {
		var all []*random.Outcome
		if c.ranks > 0 {
			all = onRanks(t, c.ranks, source, input, o)
		} else {
			out, err := outcome(source, input, o)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, out)
		}
		for _, out := range all {
			if h := hashOf(t, out); hash == "" {
				hash = h
			} else if h != hash {
				t.Errorf("%s: %s and %s", c.name, hash, h)
			}
		}
	}
	return hash
}

// can reports whether this machine runs code for a processor.
func can(t *testing.T, cpu string) bool {
	return runtime.GOARCH == "amd64" && (cpu == "x86-64" || slices.Contains(devices.Processors(t), cpu))
}

// hashOf is the first 16 digits of the SHA-256 of the types and elements of all results. All NaNs are one.
func hashOf(t *testing.T, out *random.Outcome) string {
	t.Helper()
	if out.Failed != "" {
		t.Fatal(out.Failed)
	}
	h := sha256.New()
	for _, a := range out.Results {
		fmt.Fprintln(h, a.Type())
		for _, bits := range random.OneNaN(a) {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], bits)
			h.Write(b[:])
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}

// page is where the hashes stand.
var page = filepath.Join("..", "..", "docs", "one-answer.md")

const head = `# One sum, one answer

Each program gives the same bits in every column: the hash is that of the types and the elements of all of its results
(the first 16 digits of a SHA-256). ` + "`make hashes`" + ` runs all of them and writes this page; ` + "`make test`" + `
compares the interpreter with it, and each program in another column every day. The programs are in
tests/shardings/programs_test.go.

SSE2, AVX2 and AVX-512 are code for these levels of x86-64, PTX is that for NVIDIA's devices, executed on the CPU, and
ranks are those of [distributed.md](distributed.md).

`

// TestHashes compares what programs give with docs/one-answer.md.
func TestHashes(t *testing.T) {
	var b strings.Builder
	b.WriteString(head + "| program | hash |")
	for _, c := range columns {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat(":-:|", len(columns)) + "\n")
	text, err := os.ReadFile(page)
	if err != nil && !*hashes {
		t.Fatal(err)
	}
	day := sample.Today(t)
	for k, p := range programs {
		input := p.input()
		want := columns[0].run(t, p.source, input, ways.Usual(day+k, 1)[0])
		fmt.Fprintf(&b, "| %s | `%s` |", p.name, want)
		for i, c := range columns {
			if !*hashes && i != (day+k)%len(columns) {
				continue
			}
			switch got := c.run(t, p.source, input, ways.Usual(day+k, 1)[0]); {
			case got == "" && *hashes:
				t.Fatalf("this machine has no %s", c.name)
			case got != "" && got != want:
				t.Errorf("%s: %s gives %s, and the interpreter %s", p.name, c.name, got, want)
			}
			b.WriteString(" = |")
		}
		b.WriteString("\n")
		if row := fmt.Sprintf("| %s | `%s` |", p.name, want); !*hashes && !strings.Contains(string(text), row) {
			t.Errorf("%s does not have %q: run make hashes, if it is to be so", page, row)
		}
	}
	if *hashes && !t.Failed() {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
