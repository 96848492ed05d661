package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"healc"
	"healc/internal/engine"
	"healc/ir"
)

// TestSweepRows: every row names a function of sweep.heal whose parameters its arguments fit at every size, and every
// function has a row.
func TestSweepRows(t *testing.T) {
	m, err := engine.Compile(sweepSource, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	names, entries := map[string]bool{}, map[string]bool{}
	for _, r := range swept {
		if names[r.name] {
			t.Errorf("row %s is there twice", r.name)
		}
		names[r.name], entries[r.entry] = true, true
		f, err := m.Func(r.entry)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		for e := 0; e <= sweepMost; e += sweepSteps {
			args := r.args(1<<e, 1<<(e/2), 1<<(e-e/2))
			shapes := make([][]int64, len(args))
			for i, in := range args {
				shapes[i] = in.shape
				if i < len(f.IR().Params()) && f.IR().Params()[i].Type.Elem != in.dtype {
					t.Errorf("%s: argument %d is %s, not %s", r.name, i, in.dtype, f.IR().Params()[i].Type)
				}
			}
			if len(shapes) != len(f.IR().Params()) {
				t.Fatalf("%s has %d arguments, and %s takes %d", r.name, len(shapes), r.entry, len(f.IR().Params()))
			} else if _, err := ir.BindDims(f.IR(), shapes); err != nil {
				t.Errorf("%s of 2^%d: %v", r.name, e, err)
			}
		}
	}
	for _, f := range m.IR().Funcs {
		if f.Public && !entries[f.Name] {
			t.Errorf("no row has %s", f.Name)
		}
	}
}

// TestSweep: a row at one size has samples on one thread, on two and on one again; what is above the limit is named.
func TestSweep(t *testing.T) {
	b := &bench{budget: time.Millisecond}
	var all []pair
	for _, r := range swept {
		if !regexp.MustCompile("^(E1|H1_modmul_i64)$").MatchString(r.name) {
			continue
		}
		for _, e := range []int{0, 12} {
			p, err := b.pair(r, e)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.wall) < 5 || len(p.again) != len(p.wall) || p.once <= 0 || p.processor <= 0 {
				t.Errorf("%+v", p)
			}
			all = append(all, p)
		}
	}
	for i := range all {
		all[i].wall = slices.Repeat([]float64{0.5}, 9)
	}
	all[3].wall = slices.Repeat([]float64{2}, 9)
	var out bytes.Buffer
	printSweep(&out, all)
	_, over, _ := strings.Cut(out.String(), "Over ")
	if strings.Count(out.String(), "| 0.50 (") != 3 ||
		strings.Count(over, "\n| H1_modmul_i64 | 2^12 |") != 1 || strings.Contains(over, "| E1 |") {
		t.Error(out.String())
	}
}
