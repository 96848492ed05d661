package schedule

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/codegen"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/diag"
)

var update = flag.Bool("update", false, "rewrite the schedules in testdata")

// processors have a schedule each in every archive of testdata.
var processors = []string{"znver4", "x86-64-v3", "x86-64"}

func machineOf(cpu string) target.Machine {
	return target.MachineOf(codegen.Target{Triple: "x86_64-linux-gnu", CPU: cpu})
}

func parse(t *testing.T, text string) *kernel.Module {
	t.Helper()
	m, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	return m
}

// TestFor: the kernels of testdata have the schedules that stand there, for each processor; a schedule is read back as
// itself, and fits. Every kind of directive stands in one of them.
func TestFor(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := txtar.Parse(data)
		in := a.Files[0]
		out := &txtar.Archive{Comment: a.Comment, Files: []txtar.File{in}}
		for _, cpu := range processors {
			m := parse(t, string(in.Data))
			var text strings.Builder
			for _, k := range m.Kernels {
				k.Schedule = For(k, machineOf(cpu), Options{})
				text.WriteString(strings.Join(k.ScheduleLines(), "\n") + "\n")
				kernel.Directives(k.Schedule.Directives).Walk(func(d *kernel.Directive) { seen[d.Kind] = true })
			}
			if err := kernel.Verify(m); err != nil {
				t.Errorf("%s, %s: %v", file, cpu, err)
			}
			for _, k := range m.Kernels {
				for _, o := range []Options{{Brief: true}, {Brief: true, Least: true}} {
					if err := Check(k, machineOf(cpu), For(k, machineOf(cpu), o)); err != nil {
						t.Errorf("%s, %s, %+v: %v", file, cpu, o, err)
					}
				}
			}
			again := parse(t, m.String())
			for i, k := range again.Kernels {
				k.Schedule.Rejected = m.Kernels[i].Schedule.Rejected
				if err := Check(k, machineOf(cpu), k.Schedule); err != nil {
					t.Errorf("%s, %s: %v", file, cpu, err)
				}
			}
			if want, got := withoutReasons(m.String()), withoutReasons(again.String()); want != got {
				t.Errorf("%s, %s: printed\n%s\nread as\n%s", file, cpu, want, got)
			}
			out.Files = append(out.Files, txtar.File{Name: cpu, Data: []byte(text.String())})
		}
		got := txtar.Format(out)
		switch {
		case *update:
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		case !bytes.Equal(got, data):
			t.Errorf("%s is\n%s", file, got)
		}
	}
	for _, kind := range kernel.DirectiveKinds {
		elsewhere := []string{"matmul", "axpy", "dot", "packrows", "packcolumns", "mixed", // see TestProducts
			"streams"} // see TestStreams
		if !seen[kind.Name] && !slices.Contains(elsewhere, kind.Name) {
			t.Errorf("no kernel of testdata has a directive %s", kind.Name)
		}
	}
}

// withoutReasons is a text without comments, which are not read.
func withoutReasons(text string) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		if line = strings.TrimRight(line, " "); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// TestBrief: a program that runs briefly has code once, one that runs for no time at all loops as they are.
func TestBrief(t *testing.T) {
	data, err := os.ReadFile("testdata/unswitched.txtar")
	if err != nil {
		t.Fatal(err)
	}
	k := parse(t, string(txtar.Parse(data).Files[0].Data)).Kernels[0]
	full, brief := For(k, target.Machine{}, Options{}), For(k, target.Machine{}, Options{Brief: true})
	least := For(k, target.Machine{}, Options{Brief: true, Least: true})
	has := func(s *kernel.Schedule, kind string) bool { return kernel.Directives(s.Directives).OfKind(kind) != nil }
	if !has(full, "unswitch") || has(brief, "unswitch") || !has(brief, "vector") || len(least.Directives) > 0 {
		t.Errorf("full %v, brief %v, least %v", full.Directives, brief.Directives, least.Directives)
	}
	if err := Check(k, target.Machine{}, brief); err != nil {
		t.Error(err)
	}
}

// TestOwnMemory: a schedule speaks of buffers of its kernel, however small an input is called large: not of the rows
// that a collapsed kernel keeps.
func TestOwnMemory(t *testing.T) {
	data, err := os.ReadFile("testdata/collapsed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m := parse(t, string(txtar.Parse(data).Files[0].Data))
	machine := machineOf("x86-64-v3")
	machine.Profile = profile.Base().Clone()
	machine.Profile.Prefetch.LargeInput, machine.Profile.Prefetch.TwoInputs = 1, 0
	for _, k := range m.Kernels {
		k.Schedule = For(k, machine, Options{})
	}
	if err := kernel.Verify(m); err != nil {
		t.Error(err)
	}
}

// TestAtOnce: a body of so many instructions is computed for two vectors at once, or for four, as the profile has it.
func TestAtOnce(t *testing.T) {
	const text = `kernels "m"
kernel @k(in b0: TYPE[1000], out b1: TYPE[1000]) over %0 in 0..1000 {
  %1: TYPE = load b0[%0]
  CHAIN
  store b1[%0], %LAST
}
`
	machine := machineOf("x86-64-v4")
	machine.Profile = profile.Base().Clone()
	machine.Profile.Loops.ShortBody, machine.Profile.Loops.FoursMost, machine.Profile.Loops.PairedMost = 12, 30, 50
	for _, c := range []struct {
		elem          string
		length, width int64
	}{{"f32", 8, 32}, {"f32", 20, 64}, {"f32", 45, 32}, {"f32", 60, 16}, {"i16", 20, 128}, {"i8", 20, 128},
		{"f64", 20, 8}} {
		var chain strings.Builder
		for i := range c.length {
			fmt.Fprintf(&chain, "%%%d: %s = mul %%%d, %%1\n", i+2, c.elem, i+1)
		}
		k := parse(t, strings.NewReplacer("TYPE", c.elem, "CHAIN", chain.String(), "LAST", fmt.Sprint(c.length+1)).
			Replace(text)).Kernels[0]
		s := For(k, machine, Options{})
		v := kernel.Directives(s.Directives).OfKind("vector")
		if v == nil || v.Get("width") != c.width {
			t.Errorf("%d instructions for %s: %v, not a width of %d", c.length, c.elem, v, c.width)
		}
		if err := Check(k, machine, s); err != nil {
			t.Error(err)
		}
	}
}

// TestPastCaches: a result goes past the caches, but where a kernel mostly writes and the profile keeps so many bytes.
func TestPastCaches(t *testing.T) {
	machine := machineOf("x86-64-v4")
	machine.Profile = profile.Base().Clone()
	machine.Profile.Stores.WrittenMost = 48 << 20
	for _, c := range []struct {
		in, out string
		past    bool
	}{
		{"f32[2097152]", "f32[8388608]", false}, // 8 and 32 MiB
		{"f32[2097152]", "f32[10485760]", false},
		{"f32[2097152]", "f32[10485761]", true}, // more than 48 MiB
		{"f32[3145728]", "f32[8388608]", true},  // 12 and 32
		{"f32[8388608]", "f32[4194304]", true},
		{"f32[N]", "f32[8388608]", true}, // the kernel asks
	} {
		k := parse(t, strings.NewReplacer("IN", c.in, "OUT", c.out).Replace(`kernels "m"[N]
kernel @k(in b0: IN, out stream b1: OUT) over %0 in 0..1000 {
  %1: f32 = load b0[%0]
  store b1[%0], %1
}
`)).Kernels[0]
		code := Code{Types: k.Types, Params: k.Params, Machine: machine}
		s := For(k, machine, Options{})
		streams := false
		kernel.Directives(s.Directives).Walk(func(d *kernel.Directive) { streams = streams || d.Kind == "stream" })
		if code.PastCaches(0) || code.PastCaches(1) != c.past || streams != c.past {
			t.Errorf("%s and %s: past the caches %v, %v, want %v", c.in, c.out, code.PastCaches(1), streams, c.past)
		}
	}
}

// TestFewRows: a strip is as wide as the profile has it for few rows where there are few, and the caches hold them.
func TestFewRows(t *testing.T) {
	const text = `kernels "m"
kernel @k(in b0: f32[ROWS, COLUMNS], out b1: f32[COLUMNS]) over %0 in 0..COLUMNS {
  %1: f32 = reduce sum columns %2 in 0..ROWS {
    %3: f32 = load b0[%0 + COLUMNS*%2]
    yield %3
  }
  store b1[%0], %1
}
`
	machine := machineOf("x86-64-v4")
	machine.Profile = profile.Base().Clone()
	machine.Profile.Columns.FewRows, machine.Profile.Columns.FewBytes = 100, 1024
	for _, c := range []struct{ rows, columns, strip int64 }{
		{64, 16384, 256}, {100, 2000, 256}, {101, 2000, 4096}, {64, 1 << 20, 4096},
	} {
		k := parse(t, strings.NewReplacer("ROWS", fmt.Sprint(c.rows), "COLUMNS", fmt.Sprint(c.columns)).Replace(text)).
			Kernels[0]
		strip := kernel.Directives(For(k, machine, Options{}).Directives).OfKind("strip")
		if strip == nil || strip.Get("columns") != c.strip {
			t.Errorf("%d rows of %d columns: %v, not strips of %d", c.rows, c.columns, strip, c.strip)
		}
	}
}

// TestCheck: what does not fit a kernel is said.
func TestCheck(t *testing.T) {
	const text = `kernels "m"
kernel @k(in a: f32[10], in b: f32[10], out y: f32[16]) over %0 in 0..16 {
  %1: i64 = const 9
  %2: bool = lt %0, %1
  %3: f32 = if %2 {
    %4: f32 = load a[%0]
    yield %4
  } else {
    %5: f32 = load b[%0 + -9]
    yield %5
  }
  store y[%0], %3
  schedule {
    SCHEDULE
  }
}`
	for schedule, want := range map[string]string{
		"vector %0 width 8":    "`vector %0 width 8`: the code there is not of that form",
		"split %0 at 3":        "at follows from the kernel: [9]",
		"stream y":             "`stream y`: the code there is not of that form",
		"unswitch %2 { then }": "not of that form, or stands elsewhere",
		"split %0 at 9 { part { jam %0 rows 2 } part }": "`jam %0 rows 2`",
		"split %0 at 9 { part { vector %0 width 4 } }":  "",
	} {
		k := parse(t, strings.Replace(text, "SCHEDULE", schedule, 1)).Kernels[0]
		err := Check(k, target.Machine{}, k.Schedule)
		var misfit *Misfit
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", schedule, err)
		case want != "" && (!errors.As(err, &misfit) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", schedule, err, want)
		}
	}
}
