package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"healc/internal/until"
	"healc/runtime/objload"
)

// StoppedError says that a call ended because its context did. Its results, and what it was to change, are undefined.
type StoppedError struct {
	Err   error // of the context: context.Canceled or context.DeadlineExceeded
	Cause error // why it ended: context.Cause
}

// Error says it without the words of package context, unless its owner gave a cause.
func (e *StoppedError) Error() string {
	switch {
	case e.Cause != nil && !errors.Is(e.Cause, e.Err):
		return e.Cause.Error()
	case errors.Is(e.Err, context.DeadlineExceeded):
		return "the program was stopped: its time is over"
	}
	return "the program was stopped"
}

// Unwrap gives what errors.Is is asked about.
func (e *StoppedError) Unwrap() []error { return []error{e.Err, e.Cause} }

// Ended is a *StoppedError when ctx has ended; a ctx of nil does not end.
func Ended(ctx context.Context) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return &StoppedError{ctx.Err(), context.Cause(ctx)}
}

// Before runs what may look at no context, such as a compiler, and gives what it makes. Where ctx ends first, and f
// does not within patience, the error says so; f then goes on by itself, and what it makes is dropped.
func Before[T any](ctx context.Context, patience time.Duration, f func() (T, error), drop func(T)) (T, error) {
	out, ended, err := until.Before(ctx, patience, f, drop)
	if ended {
		return out, Ended(ctx)
	}
	return out, err
}

// stopTime is how long a piece of a kernel takes by its estimate, in picoseconds, that can be stopped before its end:
// what is shorter ends soon by itself, though it may take some times as long, and would lose more by being ready for
// it. Where nobody knows how long an index takes (abi.Launch.Open) every piece can be stopped.
const stopTime = 500_000_000

// stopper stops the kernels of a call, the longer ones, when its context ends.
type stopper struct {
	objload.Stop
	forget func() bool
}

// stopper is nil for a kernel that needs none.
func (r *run) stopper(s *boundStep) *objload.Stop {
	if s.outer < s.long || r.env.Ctx == nil {
		return nil
	}
	if r.stop == nil {
		r.stop = &stopper{}
		r.stop.forget = context.AfterFunc(r.env.Ctx, r.stop.Now)
	}
	return &r.stop.Stop
}

// finish ends a call in which no kernel runs any more. err is what became of it.
func (r *run) finish(err error) error {
	if r.stop != nil {
		r.stop.forget()
		r.stop.Close()
	}
	if err == nil {
		err = Ended(r.env.Ctx)
	}
	return err
}

// counts says whether count has anything to do.
func (r *run) counts() bool { return r.env.Ctx != nil || r.env.Limits.Steps > 0 }

// count is a step of a plan; it ends a call whose context has ended, or that has taken all the steps that it may.
func (r *run) count() error {
	if r.env.Ctx != nil && r.env.Ctx.Err() != nil {
		return Ended(r.env.Ctx)
	}
	if most := r.env.Limits.Steps; most > 0 {
		if r.taken++; r.taken > most {
			return &StepsError{most}
		}
	}
	return nil
}

// Limits are what a call may take.
type Limits struct {
	Steps  int64 // of plans: kernels, copies, prints, runs of loops; 0 is any number, one more is a *StepsError
	Memory int64 // bytes of tensors beside the arguments; 0 is any number, more is a *MemoryLimitError
}

// StepsError says that a program took more steps than it may.
type StepsError struct{ Limit int64 }

func (e *StepsError) Error() string {
	return fmt.Sprintf("the program was stopped: it takes more than %d steps", e.Limit)
}
