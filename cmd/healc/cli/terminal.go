package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"healc/cmd/healc/progress"
	"healc/lang/diag"
)

// output is standard output. On a terminal every write goes out at once. Elsewhere the first write does, too; those
// that follow soon are collected, since a program may print a million lines, and go out after outputDelay at the
// latest, so that what was printed is there whatever becomes of the program. Several goroutines may use it.
type output struct {
	direct bool
	stuck  atomic.Bool // nobody takes it, and the process ends

	line *progress.Line // of the terminal that it goes to; nil for none

	mu     sync.Mutex
	buf    *bufio.Writer
	timer  *time.Timer // flushes what was collected
	recent bool        // a write went out less than outputDelay ago, and the timer runs
}

// outputDelay is how long a write to a file or a pipe may wait for others.
const outputDelay = 20 * time.Millisecond

func newOutput(f *os.File) *output {
	return &output{buf: bufio.NewWriterSize(f, 1<<16), direct: isTerminal(f)}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.buf.Write(p)
	switch {
	case err != nil:
	case o.direct:
		o.line.Wrote(p)
		err = o.buf.Flush()
	case !o.recent:
		err = o.buf.Flush()
		o.wait()
	}
	return n, outputError(err)
}

// outputError says what an error is about.
func outputError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write to standard output: %w", err)
}

// wait starts the timer.
func (o *output) wait() {
	o.recent = true
	if o.timer == nil {
		o.timer = time.AfterFunc(outputDelay, o.tick)
	} else {
		o.timer.Reset(outputDelay)
	}
}

// tick sends what was collected; the writer keeps an error for the next write or flush.
func (o *output) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.recent = false; o.buf.Buffered() > 0 && o.buf.Flush() == nil {
		o.wait()
	}
}

// giveUp waits a while for what was collected to leave; what nobody takes stays, and no flush waits for it.
func (o *output) giveUp(wait time.Duration) {
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		_ = o.flush()
	}()
	select {
	case <-taken:
	case <-time.After(wait):
		o.stuck.Store(true)
	}
}

func (o *output) flush() error {
	if o.stuck.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return outputError(o.buf.Flush())
}

// isTerminal reports whether f is a terminal. Other character devices, such as /dev/null, count as well,
// and nothing is lost by it.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// showProgress makes the line of a terminal in which long commands say what they are at. Messages take its place.
func (a *app) showProgress() {
	if !a.errTerminal || os.Getenv("TERM") == "dumb" {
		return
	}
	a.line = progress.New(a.err, func() int {
		if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && w > 0 {
			return w
		}
		return 80
	}, a.soon)
	a.err = a.line
	if a.out.direct {
		a.out.line = a.line
	}
}

// colors reports whether messages on standard error have colours: --color, else not with NO_COLOR
// (https://no-color.org), else on a terminal.
func (a *app) colors() bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return a.errTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// diagnostic prints one message on standard error, after all that was printed before it on standard output.
func (a *app) diagnostic(d *diag.Diagnostic) {
	// An error of standard output shows when the command ends.
	_ = a.out.flush()
	_, _ = io.WriteString(a.err, diag.Render(d, a.colors()))
}
