// Package progress says on a terminal what a command is at, in one line that is gone when there is something else to
// say, or when the command ends. A command that ends soon says nothing.
package progress

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"healc/runtime/trace"
)

// After is how long a command takes before it says what it is at.
const After = 2 * time.Second

// interval is how often the line is written anew.
const interval = 200 * time.Millisecond

// ClearLine goes back to the start of a terminal's line and clears it.
const ClearLine = "\r\x1b[K"

// Line is the line of a terminal. What else is written there goes by Write, or says so by Wrote. A nil Line shows
// nothing.
type Line struct {
	after time.Duration
	width func() int // of the terminal

	mu    sync.Mutex
	to    io.Writer
	began time.Time
	text  func() string // nil: nothing is shown
	shown string        // "" when the line is clear
	open  bool          // what others have written ends within a line
	drawn time.Time     // when the line was written last
	end   chan struct{} // nil when nobody writes the line anew
}

// New is a line of the terminal to, of which width gives the columns, for a command that begins now.
func New(to io.Writer, width func() int, after time.Duration) *Line {
	return &Line{to: to, width: width, after: after, began: time.Now()}
}

// Show shows text from now on, when the command has gone on for long enough. text is asked again and again, by another
// goroutine, and "" shows nothing. done clears the line.
func (l *Line) Show(text func() string) (done func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
	if l.end == nil {
		l.end = make(chan struct{})
		go l.run(l.end)
	}
	if time.Since(l.began) >= l.after && time.Since(l.drawn) >= interval {
		l.draw()
	}
	return l.Done
}

// Say is Show for a text that does not change.
func (l *Line) Say(format string, args ...any) {
	if l != nil {
		text := fmt.Sprintf(format, args...)
		l.Show(func() string { return text })
	}
}

// Done clears the line; nothing is shown any more.
func (l *Line) Done() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	l.text = nil
	if l.end != nil {
		close(l.end)
		l.end = nil
	}
}

// run writes the line anew until the end.
func (l *Line) run(end chan struct{}) {
	l.mu.Lock()
	first := max(l.after-time.Since(l.began), 0)
	l.mu.Unlock()
	for wait := time.NewTimer(first); ; wait.Reset(interval) {
		select {
		case <-end:
			return
		case <-wait.C:
			l.mu.Lock()
			if l.end == end {
				l.draw()
			}
			l.mu.Unlock()
		}
	}
}

// draw writes the line, where nothing else stands in it.
func (l *Line) draw() {
	if l.text == nil || l.open {
		return
	}
	l.drawn = time.Now()
	text := l.text()
	if text != "" {
		text = cut(fmt.Sprintf("%v %s", time.Since(l.began).Round(time.Second), text), l.width()-1)
	}
	if text == l.shown {
		return
	}
	l.clear()
	if l.shown = text; text != "" {
		_, _ = io.WriteString(l.to, text)
	}
}

func (l *Line) clear() {
	if l.shown != "" {
		_, _ = io.WriteString(l.to, ClearLine)
		l.shown = ""
	}
}

// Write writes to the terminal in the place of the line.
func (l *Line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote(p)
	return l.to.Write(p)
}

// Wrote is called before something is written to the terminal, as by standard output.
func (l *Line) Wrote(p []byte) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrote(p)
}

func (l *Line) wrote(p []byte) {
	l.clear()
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
}

// cut is text in so many columns.
func cut(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:max(columns, 0)])
}

// Stage is the stage of the compiler that has begun last, until it ends.
type Stage struct{ name atomic.Pointer[string] }

// Begin is for pipeline.Timer.Each.
func (s *Stage) Begin(name string) (ended func()) {
	at := &name
	s.name.Store(at)
	return func() { s.name.CompareAndSwap(at, nil) }
}

// Compiling says which stage the compiler is at.
func (s *Stage) Compiling() string {
	if name := s.name.Load(); name != nil {
		return "compiling: " + *name
	}
	return "compiling"
}

// Running says what the compiler, and then the program is at.
func (s *Stage) Running(now *trace.Now) string {
	at := now.Read()
	switch {
	case at.Kernel != "":
	case s.name.Load() != nil:
		return s.Compiling()
	default: // the interpreter and devices do not say what they are at
		return "running"
	}
	text := "running " + at.Kernel
	if 0 < at.Done && at.Done < at.Indices {
		text += fmt.Sprintf(", %d %% of it", 100*at.Done/at.Indices)
	}
	if at.Steps > 0 {
		text += fmt.Sprintf(", step %d of %d", at.Step+1, at.Steps)
	}
	if at.Step > 0 {
		left := time.Duration(float64(at.Since) / float64(at.Step) * float64(at.Steps-at.Step))
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}
