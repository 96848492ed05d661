package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/ranks"
	"healc/runtime"
)

// limitFlags are the flags that bound what a program may take.
type limitFlags struct {
	timeout time.Duration
	steps   int64
	memory  byteCount
}

func (l *limitFlags) register(fs *pflag.FlagSet) {
	fs.DurationVar(&l.timeout, "timeout", 0, "stop after this `DURATION`, such as 500ms, 10s or 2m; compiling counts")
	fs.Int64Var(&l.steps, "max-steps", 0,
		"stop after so many steps: operations on the interpreter, and launches of kernels elsewhere")
	fs.Var(&l.memory, "max-memory",
		"the most memory that tensors may take beside the inputs, in `BYTES` or as 512M or 2G; a program that needs "+
			"more does not begin")
}

// check refuses values that flags do not have.
func (l *limitFlags) check(fs *pflag.FlagSet) error {
	if fs.Changed("timeout") && l.timeout <= 0 {
		return &driver.UsageError{Message: fmt.Sprintf("--timeout %v is no time to run", l.timeout)}
	}
	if fs.Changed("max-steps") && l.steps < 1 {
		return &driver.UsageError{Message: fmt.Sprintf("--max-steps %d: at least 1 step is needed", l.steps)}
	}
	return nil
}

func (l *limitFlags) limits() runtime.Limits {
	return runtime.Limits{Steps: l.steps, Memory: int64(l.memory)}
}

// byteCount is a number of bytes, with a unit: K, M, G and T are powers of 1024.
type byteCount int64

func (b *byteCount) String() string { return strconv.FormatInt(int64(*b), 10) }
func (*byteCount) Type() string     { return "bytes" }

// Set implements pflag.Value.
func (b *byteCount) Set(text string) error {
	digits := strings.TrimRight(strings.TrimSuffix(strings.ToUpper(text), "B"), "KMGTI")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text)[len(digits):], "B"), "I")
	shift := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
	by, ok := shift[unit]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 || n > math.MaxInt64>>by {
		return errors.New("it is not a number of bytes, such as 1000000, 512M or 2G")
	}
	*b = byteCount(n << by)
	return nil
}

// signalError says which signal ended a command.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string {
	if e.signal == syscall.SIGTERM {
		return "the program was terminated"
	}
	return "the program was interrupted"
}

// ExitCode is the exit code of a command that a signal ended, as shells have it.
func (e *signalError) ExitCode() int { return 128 + int(e.signal) }

// grace is how long a command may take to end by itself, as all do but those that wait for the system.
const grace = 80 * time.Millisecond

// grace is the time of this command: ranks tell each other first.
func (a *app) grace() time.Duration {
	if a.rank != nil {
		return grace + ranks.Patience
	}
	return grace
}

// signalGrace is the time after a signal. A launcher that tells its ranks to end kills those that have not ended after
// a second; where it does so since one of them is gone, the others are in a call that waits for that one in vain.
func (a *app) signalGrace() time.Duration {
	if a.rank != nil && a.rank.Launched() {
		return grace
	}
	return a.grace()
}

// untilSignal gives a context that signals end, and a function that gives the signals back. force ends the process,
// too, when the context was of no use within the time of grace, as where a pipe is full that nobody reads.
func (a *app) untilSignal(parent context.Context, force bool, signals ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	came := make(chan os.Signal, 4)
	for _, s := range signals {
		if !signal.Ignored(s) { // as for what a shell runs in the background
			signal.Notify(came, s)
		}
	}
	done := make(chan struct{})
	go func() {
		select {
		case s := <-came:
			cause := &signalError{s.(syscall.Signal)}
			cancel(cause)
			if force {
				time.Sleep(a.signalGrace())
				if a.rank != nil {
					a.rank.Told()
				}
				a.exit(cause)
				time.Sleep(a.grace()) // the command is at its report
				os.Exit(cause.ExitCode())
			}
		case <-done:
		}
	}()
	return ctx, func() {
		if force && !a.ending.CompareAndSwap(false, true) {
			select {} // exit reports, and ends the process
		}
		// What a signal ends is not ended by another one while it reports: a terminal and a parent may each send one.
		var signalled *signalError
		if !force || !errors.As(context.Cause(ctx), &signalled) {
			signal.Stop(came)
		}
		close(done)
		cancel(nil)
	}
}

// exit ends the process, unless the command has come to its end. Output that nobody takes is left.
func (a *app) exit(cause error) {
	if a.ending.CompareAndSwap(false, true) {
		a.out.giveUp(grace / 4)
		os.Exit(a.report(cause))
	}
}

// within ends the process when f takes longer than the time of grace beyond limit, which f keeps itself, as a rule.
func (a *app) within(limit time.Duration, f func() error) error {
	if limit <= 0 {
		return f()
	}
	late := time.AfterFunc(limit+a.grace(), func() { a.exit(&driver.TimeoutError{Limit: limit}) })
	defer late.Stop()
	return f()
}
