package explore

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/lang/diag"
)

// explored is the data of a program.
func explored(t *testing.T, file *diag.File, opts Options) *Data {
	t.Helper()
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	d, err := Explore(file, engine.Options{}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func example(t *testing.T, name string) *diag.File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return diag.NewFile(name, string(text))
}

// lit are the lines of the program's file that lines come from, by themselves or by the calls that led there.
func (d *Data) lit(lines []Line) map[int]int {
	out := map[int]int{}
	for _, l := range lines {
		for _, s := range l.Spans {
			for ; s >= 0; s = d.Spans[s].Call {
				if d.Spans[s].File == 0 {
					out[d.Spans[s].Line]++
				}
			}
		}
	}
	return out
}

// moves only say which element is read, and have no code.
var moves = map[string]bool{"permute": true, "broadcast": true, "reshape": true, "dim": true, "const": true,
	"cast": true}

// TestExamples: each source line of which a kernel computes something has instructions of its machine code, and lines
// of every other form.
func TestExamples(t *testing.T) {
	for _, name := range []string{"attention.heal", "digits.heal"} {
		d := explored(t, example(t, name), Options{Target: "cpu", CPU: "x86-64-v3"})
		if len(d.Entries) != 1 || len(d.Errors) > 0 {
			t.Fatalf("%s: %d entries, errors %v", name, len(d.Entries), d.Errors)
		}
		e := d.Entries[0]
		for _, k := range e.Kernels {
			if k.Failure != "" || len(k.Machine) == 0 {
				t.Fatalf("%s: %s has no machine code: %s", name, k.Name, k.Failure)
			}
			var work []Line
			for _, f := range k.Fused {
				if !moves[f.Text] {
					work = append(work, f)
				}
			}
			for form, lines := range map[string][]Line{"kernel": k.Code, "LLVM": k.LLVM, "optimised LLVM": k.Optimised,
				"machine code": k.Machine} {
				got := d.lit(lines)
				for line := range d.lit(work) {
					if got[line] == 0 {
						t.Errorf("%s: line %d went into %s, of which no %s comes from it", name, line, k.Name, form)
					}
				}
			}
		}
	}
}

const twice = `fn half[N](x: f32[N]) -> f32[N] = x ./ 2.0

fn f[N](x: f32[N], y: f32[N]) -> f32[N] = {
    let a = half(x);
    let b = half(y); # a function that is called twice: </script> 𝔸
    exp(a .* b)
}
`

// TestCalls: what a function is called for lights its calls in the same file, each of them what it became alone.
func TestCalls(t *testing.T) {
	d := explored(t, diag.NewFile("twice.heal", twice), Options{Entry: "f", Target: "cpu", CPU: "x86-64-v3"})
	k := d.Entries[0].Kernels[0]
	machine := d.lit(k.Machine)
	for _, line := range []int{1, 4, 5, 6} {
		if machine[line] == 0 {
			t.Errorf("line %d has no machine code: %v", line, machine)
		}
	}
	for _, l := range k.Machine {
		if got := d.lit([]Line{l}); got[4] > 0 && got[5] > 0 {
			t.Errorf("`%s` comes from both calls", l.Text)
		}
	}
	var last string // the text of the last span of line 6, whose offsets are behind a character of two units
	text := utf16.Encode([]rune(twice))
	for _, s := range d.Spans {
		if s.Line == 6 {
			last = string(utf16.Decode(text[s.Start:s.End]))
			if !strings.Contains("exp(a .* b)", last) {
				t.Errorf("line 6 has %q", last)
			}
		}
	}
	if last == "" {
		t.Error("line 6 has no span")
	}
}

// TestDevice: a program for a device has PTX with places.
func TestDevice(t *testing.T) {
	d := explored(t, diag.NewFile("twice.heal", twice), Options{Entry: "f", Target: "gpu", CPU: "sm_80"})
	k := d.Entries[0].Kernels[0]
	if got := d.lit(k.Machine); k.Failure != "" || got[1] == 0 || got[6] == 0 {
		t.Errorf("lines %v of PTX, %s", got, k.Failure)
	}
}

// TestMistakes: mistakes are an error for the command line, and data with places for the page.
func TestMistakes(t *testing.T) {
	const text = "fn f(a: f32[4], b: f32[3]) -> f32[4] = a .+ b\n"
	d, err := Explore(diag.NewFile("f.heal", text), engine.Options{}, Options{Target: "cpu"})
	if list := (*diag.List)(nil); !errors.As(err, &list) {
		t.Fatal(err)
	}
	if len(d.Errors) != 1 || d.Errors[0].Code != "E0203" || d.Errors[0].At.Col != 40 || len(d.Entries) > 0 {
		t.Errorf("%+v", d)
	}
}

// TestTimes: the times of a run's trace stand beside the kernels, and a file without any is refused.
func TestTimes(t *testing.T) {
	const source = "fn main() -> f32 = { let x = iota(100) as f32; +/(x .* x) }\n"
	trace := filepath.Join(t.TempDir(), "t.json")
	write := func(text string) {
		if err := os.WriteFile(trace, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"traceEvents": [{"ph": "X", "name": "passes", "cat": "stage", "dur": 7},
		{"ph": "X", "name": "k0_main", "cat": "kernel", "dur": 3},
		{"ph": "X", "name": "k0_main", "cat": "piece", "dur": 9},
		{"ph": "X", "name": "k0_main", "cat": "kernel", "dur": 2}]}`)
	opts := Options{Target: "cpu", CPU: "x86-64-v3", Trace: trace}
	d := explored(t, diag.NewFile("main.heal", source), opts)
	if k := d.Entries[0].Kernels[0]; k.Times == nil || *k.Times != (Times{2, 5, 2}) || d.Options.Trace != "t.json" {
		t.Errorf("%+v in %s", k.Times, d.Options.Trace)
	}
	for _, text := range []string{"", "{}", `{"traceEvents": [{"name": "passes", "cat": "stage", "dur": 7}]}`} {
		write(text)
		if _, err := Explore(diag.NewFile("main.heal", source), engine.Options{}, opts); err == nil {
			t.Errorf("%q is a trace", text)
		}
	}
}

// elsewhere is what would make a page ask another place.
var elsewhere = regexp.MustCompile(`(?i)https?://|<link[^>]*href="[^d]|\ssrc=|@import|url\(`)

// TestPage: the page is one file that asks nothing and no one, whatever the program has in it.
func TestPage(t *testing.T) {
	d := explored(t, diag.NewFile("twice.heal", twice), Options{Entry: "f", Target: "cpu", CPU: "x86-64-v3"})
	var page strings.Builder
	if err := WriteHTML(&page, d); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if at := elsewhere.FindString(text); at != "" {
		t.Errorf("the page refers to another place: %s", at)
	}
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d scripts end", n)
	}
	_, rest, _ := strings.Cut(text, `<script type="application/json" id="data">`)
	text, _, _ = strings.Cut(rest, "</script>")
	var got Data
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Files[0].Text != twice || len(got.Entries) != 1 {
		t.Errorf("the page has %+v", got.Files)
	}
}

var (
	option = regexp.MustCompile(`<div class="row ([^"]*)" id="(\w+)-\d+"`)
	shown  = regexp.MustCompile(`id="status"[^>]*>([^<]*)<`)
)

// TestBrowser: in a browser, the file lights what a line became in each column that is shown. It runs with
// HEAL_TEST_LONG.
func TestBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if at, err := exec.LookPath(name); err == nil && browser == "" {
			browser = at
		}
	}
	if browser == "" {
		t.Skip("there is no Chromium")
	}
	if os.Getenv("HEAL_TEST_LONG") == "" {
		t.Skip("a browser takes seconds to start: HEAL_TEST_LONG=1 runs it")
	}
	d := explored(t, diag.NewFile("twice.heal", twice), Options{Entry: "f", Target: "cpu", CPU: "x86-64-v3"})
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(WriteHTML(f, d), f.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1800,1000",
		"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom",
		"file://"+file+"#L6")
	var log strings.Builder
	c.Stderr = &log
	dom, err := c.Output()
	if err != nil {
		t.Skipf("Chromium does not run here: %v\n%s", err, log.String())
	}
	if i := strings.Index(log.String(), ":CONSOLE"); i >= 0 {
		t.Errorf("the page says %s", log.String()[i:])
	}
	lit := map[string]int{}
	for _, m := range option.FindAllStringSubmatch(string(dom), -1) {
		if slices.Contains([]string{"lit", "mark"}, strings.TrimSpace(m[1])) {
			lit[m[2]]++
		}
	}
	for _, column := range []string{"source", "tensor", "fusion", "kernels", "machine"} {
		if lit[column] == 0 {
			t.Errorf("nothing is lit in the column %s: %v", column, lit)
		}
	}
	if m := shown.FindSubmatch(dom); m == nil || !strings.Contains(string(m[1]), "line 6 · kernel k0_f") {
		t.Errorf("the page says %q", m)
	}
}
