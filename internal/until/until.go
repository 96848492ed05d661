// Package until runs what may look at no context, and does not wait for it longer than a context lasts; and it ends
// what is in use when its last use ends.
package until

import (
	"context"
	"time"

	"healc/internal/caught"
)

// Before runs what may look at no context, such as a compiler or a call of a driver, and gives what it makes. Where ctx
// ends first, and f does not within patience, ended is true; f then goes on by itself, and what it makes is dropped. A
// ctx of nil does not end.
func Before[T any](ctx context.Context, patience time.Duration, f func() (T, error), drop func(T)) (out T, ended bool,
	err error) {
	if ctx == nil || ctx.Done() == nil {
		out, err = f()
		return out, false, err
	}
	var made T
	var failed error
	var panicked *caught.Panic
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if value := recover(); value != nil {
				panicked = caught.By(value)
			}
		}()
		made, failed = f()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(patience):
			go func() {
				if <-done; failed == nil && panicked == nil && drop != nil {
					drop(made)
				}
			}()
			return out, true, nil
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return made, false, failed
}
