package passes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc/ir"
	"healc/passes/shard"
)

const small2 = `module "m"

func @f(%x: f32[4]) -> f32[4] {
  %0: f32[4] = neg %x
  %1: f32[4] = neg %0
  return %1
}

func @g(%x: f32) -> f32 {
  return %x
}
`

// Every pipeline follows the order table, and the table names passes that exist.
func TestPassOrder(t *testing.T) {
	// Those that are not in All need an entry, or a rank.
	known := map[string]bool{"specialize": true, "shard": true, "overlap": true}
	for _, p := range All() {
		if p.Doc == "" || known[p.Name] {
			t.Errorf("pass %s has no line of help, or is there twice", p.Name)
		}
		known[p.Name] = true
	}
	for _, o := range order {
		if !known[o.before] || !known[o.after] || o.why == "" {
			t.Errorf("the order names %s and %s", o.before, o.after)
		}
	}
	for name, pipeline := range map[string][]Pass{
		"all": All(), "standard": Standard("", nil), "entry": Standard("f", map[string]int64{"N": 1}),
		"rank": Distributed("f", map[string]int64{"N": 1}, shard.Ranks{Rank: 1, Size: 2}), "placed": Placed("f"),
	} {
		place := map[string]int{}
		for i, p := range pipeline {
			place[p.Name] = i + 1
		}
		for _, o := range order {
			if b, a := place[o.before], place[o.after]; b != 0 && a != 0 && b > a {
				t.Errorf("%s: %s has to come before %s: %s", name, o.before, o.after, o.why)
			}
		}
	}
}

func TestRunPrints(t *testing.T) {
	pipeline, err := ParsePipeline("canonicalize, dce,cse")
	if err != nil {
		t.Fatal(err)
	}
	run := func(opts Options) string {
		var b strings.Builder
		opts.Out = &b
		m := parse(t, "test.ir", small2)
		if err := Run(m, pipeline, opts); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := run(Options{VerifyEach: true}); got != "" {
		t.Errorf("without options it prints %q", got)
	}
	want := "// after dce\nfunc @f(%x: f32[4]) -> f32[4] {\n  return %x\n}\n\n// after cse: no change\n"
	if got := run(Options{PrintAfter: []string{"dce", "cse"}, PrintFunc: "f"}); got != want {
		t.Errorf("got %q", got)
	}
	all := run(Options{PrintAfterAll: true})
	if strings.Count(all, "// after ") != 3 || strings.Count(all, `module "m"`) != 2 {
		t.Errorf("got %q", all)
	}
	if got := run(Options{PrintAfterAll: true, StopAfter: "canonicalize"}); strings.Contains(got, "after dce") {
		t.Errorf("it does not stop: %q", got)
	}
	if got := run(Options{PrintAfterAll: true, Disable: []string{"dce"}}); strings.Contains(got, "after dce") {
		t.Errorf("dce runs: %q", got)
	}
	if got := run(Options{Remarks: []string{"canonicalize"}}); got != "remark: canonicalize: neg: inverse of itself\n" {
		t.Errorf("got %q", got)
	}
	times := run(Options{TimePasses: true})
	for _, want := range []string{"canonicalize", "dce", "cse", "total", " ms"} {
		if !strings.Contains(times, want) {
			t.Errorf("no %q in the times:\n%s", want, times)
		}
	}
}

func TestRunUnknown(t *testing.T) {
	m := parse(t, "test.ir", small2)
	for _, opts := range []Options{
		{PrintAfter: []string{"frob"}}, {StopAfter: "frob"}, {Disable: []string{"frob"}}, {Remarks: []string{"frob"}},
		{Disable: []string{"inline"}},
	} {
		var unknown *UnknownPassError
		if err := Run(m, All(), opts); !errors.As(err, &unknown) {
			t.Errorf("%+v gives %v", opts, err)
		}
	}
	if _, err := ParsePipeline("cse,frob"); err == nil || !strings.Contains(err.Error(), "canonicalize") {
		t.Errorf("got %v", err)
	}
}

// A pass that panics, or leaves an invalid module, is a bug of the compiler and says which pass it was.
func TestRunBugs(t *testing.T) {
	breaks := Pass{Name: "breaks", Run: func(m *ir.Module, _ Remark) error {
		m.Funcs[0].Body.Ops = nil
		return nil
	}}
	panics := Pass{Name: "panics", Run: func(*ir.Module, Remark) error { panic("BUG: no reason") }}
	for _, p := range []Pass{breaks, panics} {
		var bug *BugError
		err := Run(parse(t, "test.ir", small2), []Pass{p}, Options{VerifyEach: true})
		if !errors.As(err, &bug) || bug.Pass != p.Name {
			t.Errorf("%s gives %v", p.Name, err)
		}
	}
	fails := Pass{Name: "fails", Run: func(*ir.Module, Remark) error { return &UnknownFuncError{"h"} }}
	if err := Run(parse(t, "test.ir", small2), []Pass{fails}, Options{}); err == nil ||
		err.Error() != `there is no function "h"` {
		t.Errorf("got %v", err)
	}
}

func TestDump(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		spec, dir string
		want      []string
	}{
		{"", dir, nil},
		{"cse", filepath.Join(dir, "a"), []string{"01_cse.ir"}},
		{"f:canonicalize,dce", filepath.Join(dir, "b"), []string{"f_01_canonicalize.ir", "f_02_dce.ir"}},
		{filepath.Join(dir, "c"), "", []string{"01_canonicalize.ir", "02_cse.ir", "03_dce.ir"}},
	} {
		pipeline, _ := ParsePipeline("canonicalize,cse,dce")
		d := parseDump(c.spec, c.dir, nil)
		if err := Run(parse(t, "test.ir", small2), pipeline, Options{Dump: d}); err != nil {
			t.Fatal(err)
		}
		folder := c.dir
		if folder == "" {
			folder = c.spec
		}
		var got []string
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if !e.IsDir() {
				got = append(got, e.Name())
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("HEAL_DUMP=%s writes %v", c.spec, got)
		}
	}
	var b strings.Builder
	pipeline, _ := ParsePipeline("dce")
	if err := Run(parse(t, "test.ir", small2), pipeline, Options{Dump: parseDump("g:dce", "", &b)}); err != nil {
		t.Fatal(err)
	}
	if want := "// dump of dce\nfunc @g(%x: f32) -> f32 {\n  return %x\n}\n\n"; b.String() != want {
		t.Errorf("got %q", b.String())
	}
}
