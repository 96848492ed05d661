package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"

	"healc"
	"healc/cmd/healc/measure"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
)

// TestRows: every row names a program of rows.heal whose parameters its inputs fit.
func TestRows(t *testing.T) {
	m, err := engine.Compile(rowsSource, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.name] {
			t.Errorf("row %s is there twice", r.name)
		}
		seen[r.name] = true
		f, err := m.Func(r.entry)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		shapes := make([][]int64, len(r.args))
		for i, in := range r.args {
			shapes[i] = in.shape
			if i < len(f.IR().Params()) && f.IR().Params()[i].Type.Elem != in.dtype {
				t.Errorf("%s: argument %d is %s, not %s", r.name, i, in.dtype, f.IR().Params()[i].Type)
			}
		}
		if len(shapes) != len(f.IR().Params()) {
			t.Errorf("%s has %d arguments, and %s takes %d", r.name, len(shapes), r.entry, len(f.IR().Params()))
		} else if _, err := ir.BindDims(f.IR(), shapes); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// TestInputs looks at the ranges of what rows are given.
func TestInputs(t *testing.T) {
	for _, in := range []input{f32(1000), f64(1000), positive(1000), ints(types.I64, 10, 1000), scalar(2)} {
		x, err := in.make(1)
		if err != nil {
			t.Fatal(err)
		}
		if in.below > 0 {
			for _, b := range x.Bits() {
				if int64(b) < 0 || int64(b) >= in.below {
					t.Errorf("%d is not below %d", int64(b), in.below)
				}
			}
		}
		x.Close()
	}
}

// TestRunWithoutPeers runs one small row, the calls, and writes the report: that it has what it should, not how long
// anything took.
func TestRunWithoutPeers(t *testing.T) {
	machine, err := measure.NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	b := &bench{machine: machine, threads: []int{1, 2}, report: &report{}}
	for _, r := range rows {
		if r.name == "M1_16" || r.name == "E1_16k" {
			if err := b.row(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.calls(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"M1_16", "E1_16k"} {
		for _, n := range b.threads {
			if b.report.find(name, "healc", n) <= 0 || b.report.find(name, "limit", n) <= 0 {
				t.Errorf("%s, %d threads: %+v", name, n, b.report.Rows)
			}
		}
	}
	var table bytes.Buffer
	b.report.print(&table)
	if n := strings.Count(table.String(), "\n| "); n != len(b.report.Rows)+1 {
		t.Errorf("%d lines for %d results:\n%s", n, len(b.report.Rows), table.String())
	}
	doc := t.TempDir() + "/doc.md"
	if err := os.WriteFile(doc, []byte("before\n"+docBegin+"old\n"+docEnd+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.report.publish(doc); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(doc)
	if s := string(text); err != nil || !strings.HasPrefix(s, "before\n"+docBegin) ||
		!strings.HasSuffix(s, docEnd+"after\n") ||
		strings.Contains(s, "old") || !strings.Contains(s, "| M1_16 | healc | 1 |") {
		t.Errorf("%v\n%s", err, s)
	}
	// The page with generated results has a place for them.
	page, err := os.ReadFile("../../docs/results/zen3.md")
	if err != nil || !strings.Contains(string(page), docBegin) || !strings.Contains(string(page), docEnd) {
		t.Errorf("docs/results/zen3.md has no place for results: %v", err)
	}
	path := t.TempDir() + "/r.json"
	if err := b.report.write(path); err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(b.report); err != nil || !strings.Contains(string(text), `"row":"M1_16"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestTrainWithoutPeers runs the steps of the small network: one function, and package nn, with the same bits.
func TestTrainWithoutPeers(t *testing.T) {
	machine, err := measure.NewMachine()
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	b := &bench{machine: machine, threads: []int{1, 2}, report: &report{}}
	n := networks[1]
	if err := b.train(n); err != nil {
		t.Fatal(err)
	}
	for _, threads := range b.threads {
		for _, c := range []string{"healc", "healc, from Go", "limit"} {
			if b.report.find(n.name, c, threads) <= 0 {
				t.Errorf("%s with %d threads: %+v", c, threads, b.report.Rows)
			}
		}
	}
	if b.report.find(n.name+compileSuffix, "healc", 0) <= 0 {
		t.Errorf("no time of the first step: %+v", b.report.Rows)
	}
}

// TestCompiling: each program that grows has a row for each size, and compiles.
func TestCompiling(t *testing.T) {
	b := &bench{report: &report{}}
	if err := b.compiling(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"compile_updates_50", "compile_updates_200", "compile_products_10",
		"compile_products_100", "compile_branches_100", "compile_others_1000", "library_key_switch"} {
		if b.report.find(name, "healc", 0) <= 0 {
			t.Errorf("no row %s: %+v", name, b.report.Rows)
		}
	}
}

func TestHardest(t *testing.T) {
	plain, stream, compute := measure.Samples{3, 3}, measure.Samples{2, 2}, measure.Samples{5}
	if got := hardest([]measure.Samples{plain, stream}); got.Median() != 2 {
		t.Errorf("%v", got)
	}
	if got := hardest([]measure.Samples{compute}); got.Median() != 5 {
		t.Errorf("%v", got)
	}
	if got := hardest([]measure.Samples{plain, stream, compute}); got.Median() != 5 {
		t.Errorf("%v", got)
	}
}

// TestChart: the chart is well-formed, with a line for each series, whatever was measured.
func TestChart(t *testing.T) {
	for _, all := range [][]series{
		nil,
		{{Program: "a", Threads: 1, Points: []point{{16, 1e-6}}}},
		{
			{Program: "a<b", Threads: 1, Points: []point{{16, 1e-7}, {1 << 20, 1e-4}}},
			{Program: "a<b", Threads: 2, Points: []point{{16, 1e-7}, {1 << 20, 0}}},
			{Program: "c", Threads: 1},
		},
	} {
		text := chart("time & size", all)
		lines := 0
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "polyline" {
				lines++
			}
		}
		if lines != len(all) || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%d lines for %d series:\n%s", lines, len(all), text)
		}
	}
}
