package device

import (
	"context"
	goruntime "runtime"
	"time"
)

// A wait that a context can end asks the device again and again. At first it does so without a pause, since most work
// is short, and a pause takes longer than the system is asked for; then it sleeps a part of the time that it has
// waited, so that the end of the work is noticed with a delay that is small beside it.
const (
	pollSpin = time.Millisecond
	pollPart = 16
)

// Poll waits until done says so, or until ctx ends, with its error. It sleeps no longer than most at a time.
func Poll(ctx context.Context, most time.Duration, done func() (bool, error)) error {
	begun := time.Now()
	for {
		if over, err := done(); over || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if waited := time.Since(begun); waited < pollSpin {
			goruntime.Gosched()
		} else {
			sleep(min(waited/pollPart, most))
		}
	}
}
