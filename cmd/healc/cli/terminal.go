package cli

import (
	"bufio"
	"io"
	"os"

	"healc/lang/diag"
)

// output is standard output. On a terminal every write goes out at once; else writes are collected, since
// a program may print a million lines.
type output struct {
	buf    *bufio.Writer
	direct bool
}

func newOutput(f *os.File) *output {
	return &output{buf: bufio.NewWriterSize(f, 1<<16), direct: isTerminal(f)}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.buf.Write(p)
	if o.direct && err == nil {
		err = o.buf.Flush()
	}
	return n, err
}

func (o *output) flush() error { return o.buf.Flush() }

// isTerminal reports whether f is a terminal. Other character devices, such as /dev/null, count as well,
// and nothing is lost by it.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
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
