package progress

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"healc/runtime/trace"
)

// screen is what was written to a terminal.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// TestLine: the line comes after a while, gives way to other output, is no longer than the terminal, and goes.
func TestLine(t *testing.T) {
	var to screen
	soon := New(&to, func() int { return 13 }, time.Hour)
	soon.Say("work")
	fmt.Fprintln(soon, "message")
	soon.Done()
	if got := to.String(); got != "message\n" {
		t.Errorf("before its time: %q", got)
	}
	to.buf.Reset()
	l := New(&to, func() int { return 13 }, 0)
	l.Say("ü %d of 2345678", 1)
	fmt.Fprint(l, "within")
	l.mu.Lock()
	l.draw() // not behind what is no whole line
	l.mu.Unlock()
	l.Wrote([]byte(" a line\n"))
	l.mu.Lock()
	l.draw()
	l.mu.Unlock()
	l.Done()
	l.Done()
	if got, want := to.String(), "0s ü 1 of 23"+ClearLine+"within"+"0s ü 1 of 23"+ClearLine; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var none *Line
	none.Say("x")
	none.Wrote(nil)
	none.Show(nil)()
}

// TestAgain: the line is written anew while the command goes on.
func TestAgain(t *testing.T) {
	var to screen
	l := New(&to, func() int { return 80 }, time.Millisecond)
	n := 0
	done := l.Show(func() string { n++; return fmt.Sprintf("turn %d", n) })
	for range 500 {
		if strings.Contains(to.String(), "turn 2") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	done()
	got := to.String()
	if !strings.Contains(got, "turn 1"+ClearLine+"0s turn 2") || !strings.HasSuffix(got, ClearLine) {
		t.Errorf("%q", got)
	}
}

// TestRunning: stages of the compiler, kernels, and steps of the outermost loop.
func TestRunning(t *testing.T) {
	var s Stage
	now := trace.NewNow()
	want := func(text string) {
		t.Helper()
		if got := s.Running(now); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	s.Begin("from cache") // never ends, where it finds nothing
	ended := s.Begin("codegen")
	want("compiling: codegen")
	ended()
	want("running")
	kernel := "k0_f"
	now.Begin(&kernel)
	want("running k0_f")
	now.Share(200)
	now.Did(50)
	want("running k0_f, 25 % of it")
	now.Loop(10)
	now.Loop(5)
	now.Step(3)
	want("running k0_f, 25 % of it, step 1 of 10")
	now.End()
	now.Step(4)
	if got := s.Running(now); !strings.HasPrefix(got, "running k0_f, 25 % of it, step 5 of 10, 0s left") {
		t.Errorf("%q", got)
	}
	now.End()
	now.Begin(&kernel)
	want("running k0_f")
}
