package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/progress"
	"healc/codegen"
	"healc/lang/diag"
	"healc/passes"
	"healc/runtime/pool"
)

// session is an app with its streams in memory.
func session(stdin string) (a *app, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &app{in: strings.NewReader(stdin), out: &output{buf: bufio.NewWriter(out)}, err: err}, out, err
}

// failing is a command that ends as f does.
func failing(f func() error) *cobra.Command {
	return &cobra.Command{Use: "failing", RunE: func(*cobra.Command, []string) error { return f() }}
}

func stumbles() error { panic("a rule has no case") }

// fill writes to m, which a nil map does not bear.
func fill(m map[string]int) { m["x"] = 1 }

// TestBugs: whatever goes wrong inside of healc ends in exit code 4, a message on one line, and a dump
// with all that is needed to find it.
func TestBugs(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func() error
		dump []string
	}{
		{"panic", func() error {
			panic("BUG: a rule has no case\nfor this")
		}, []string{"a rule has no case\nfor this", "TestBugs"}},
		{"nil", func() error { var m map[string]int; fill(m); return nil }, []string{"nil map", "TestBugs"}},
		{"goroutine", func() error {
			return codegen.Parallel(50, func(int) error { time.Sleep(time.Millisecond); return stumbles() })
		}, []string{"a rule has no case", "cli.stumbles"}},
		{"thread", func() error { return (*pool.Pool)(nil).Run(1, 1, 1, false, func(int64, int64) { _ = stumbles() }) },
			[]string{"a rule has no case", "cli.stumbles"}},
		{"error", func() error {
			return errors.New("BUG: libLLVM refuses generated code: x")
		}, []string{"libLLVM refuses generated code"}},
		{"pass", func() error {
			return &passes.BugError{Pass: "cse", Cause: "a rule has no case", IR: "func @f", Stack: "at line 7"}
		}, []string{"bug in pass cse", "func @f", "at line 7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			a, out, stderr := session("")
			a.file = diag.NewFile("f.heal", "fn main() -> i32 = 4711\n")
			a.extra = []*cobra.Command{failing(func() error {
				if _, err := a.out.Write([]byte("printed before\n")); err != nil {
					return err
				}
				return c.do()
			})}
			if code := run([]string{"failing"}, a); code != exitBug {
				t.Errorf("exit code %d, not %d", code, exitBug)
			}
			if out.String() != "printed before\n" {
				t.Errorf("standard output is %q", out)
			}
			for _, want := range []string{"error: this is a bug in healc: ", "the dump is ", "please report it"} {
				if strings.Count(stderr.String(), want) != 1 {
					t.Errorf("%q does not stand once in\n%s", want, stderr)
				}
			}
			dumps, err := filepath.Glob(filepath.Join(os.TempDir(), "healc-bug-*.txt"))
			if err != nil || len(dumps) != 1 || !strings.Contains(stderr.String(), dumps[0]) {
				t.Fatalf("dumps %v, %v in\n%s", dumps, err, stderr)
			}
			text, err := os.ReadFile(dumps[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range append(c.dump, "fn main() -> i32 = 4711", "healc ", "command: ") {
				if !strings.Contains(string(text), want) {
					t.Errorf("%q is not in the dump\n%s", want, text)
				}
			}
		})
	}
}

// TestBugWithoutTemporaryFolder: the report does not depend on the dump.
func TestBugWithoutTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	a, _, stderr := session("")
	a.extra = []*cobra.Command{failing(func() error { panic("x") })}
	if code := run([]string{"failing"}, a); code != exitBug ||
		!strings.Contains(stderr.String(), "no dump could be written") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestFullDisk: output that cannot be written is a failure, even when the command went well.
func TestFullDisk(t *testing.T) {
	a, _, stderr := session("")
	a.out = &output{buf: bufio.NewWriter(brokenWriter{})}
	if code := run([]string{"version"}, a); code != exitRuntime ||
		!strings.Contains(stderr.String(), "cannot write to standard output: disk full") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestColors: --color decides, then NO_COLOR, then whether there is a terminal.
func TestColors(t *testing.T) {
	for _, c := range []struct {
		flag, noColor, term string
		terminal, want      bool
	}{
		{"auto", "", "xterm", true, true},
		{"auto", "", "xterm", false, false},
		{"auto", "1", "xterm", true, false},
		{"auto", "", "dumb", true, false},
		{"always", "1", "dumb", false, true},
		{"never", "", "xterm", true, false},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		a, _, _ := session("")
		a.color, a.errTerminal = c.flag, c.terminal
		if got := a.colors(); got != c.want {
			t.Errorf("%+v: colours are %v", c, got)
		}
	}
}

// TestProgress: on a terminal the tests that are done are counted in one line, which is cleared at the end.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HEAL_CACHE", "off")
	if err := os.WriteFile(filepath.Join(dir, "a.heal"), []byte("# expect exit 0\nfn main() -> i32 = 0\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	a, out, stderr := session("")
	a.errTerminal = true
	if code := run([]string{"test", "--backend", "interp", dir}, a); code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	if text := stderr.String(); !strings.Contains(text, "0s 1/1 ") || !strings.HasSuffix(text, progress.ClearLine) {
		t.Errorf("progress is %q", text)
	}
	if !strings.HasPrefix(out.String(), "1 passed, 0 failed, 0 skipped") {
		t.Errorf("standard output is %q", out)
	}
}

// TestOutput: on a terminal each write goes out at once, elsewhere the first, and the others soon.
func TestOutput(t *testing.T) {
	for _, direct := range []bool{true, false} {
		screen := &countingWriter{}
		o := &output{buf: bufio.NewWriter(screen), direct: direct}
		writes := 0
		want := func(after string, bytes int) {
			t.Helper()
			if got := screen.bytes(); got != bytes {
				t.Errorf("direct is %v, and %s %d bytes are out, not %d", direct, after, got, bytes)
			}
		}
		start := time.Now()
		for range 100 {
			if _, err := o.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			writes++
			if writes == 1 || direct {
				want("after a write", writes)
			}
		}
		for screen.bytes() < writes && time.Since(start) < 10*time.Second {
			time.Sleep(time.Millisecond)
		}
		want("after a while", writes)
		if n := screen.writes(); !direct && n > 2+int(time.Since(start)/outputDelay) {
			t.Errorf("%d writes became %d", writes, n)
		}
	}
}

// countingWriter counts what is written to it.
type countingWriter struct{ n, calls atomic.Int64 }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.calls.Add(1)
	w.n.Add(int64(len(p)))
	return len(p), nil
}

func (w *countingWriter) bytes() int  { return int(w.n.Load()) }
func (w *countingWriter) writes() int { return int(w.calls.Load()) }

// TestHelpNamesEveryFlag: every command and flag has a text, and long texts keep to 120 columns.
func TestHelpNamesEveryFlag(t *testing.T) {
	a, _, _ := session("")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short text", c.CommandPath())
		}
		for line := range strings.Lines(c.Long) {
			if len(strings.TrimRight(line, "\n")) > 120 && !strings.HasPrefix(c.CommandPath(), "healc completion") {
				t.Errorf("%s: a long line: %s", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.root())
}

// TestSuggestions: the nearest name is offered, and none when nothing is near.
func TestSuggestions(t *testing.T) {
	names := []string{"run", "compile", "check", "test", "explain"}
	for slip, want := range map[string]string{"rnu": "run", "Run": "run", "chek": "check", "explian": "explain",
		"tset": "test", "zzz": "", "x": "", "": ""} {
		if got := driver.Nearest(slip, names); got != want {
			t.Errorf("for %q the nearest is %q, not %q", slip, got, want)
		}
	}
}
