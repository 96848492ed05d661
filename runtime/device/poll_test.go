package device_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"healc/runtime/device"
)

// TestPoll: a wait ends with the work, with an error of it, or with the context, and looks seldom at long work.
func TestPoll(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	looks := 0
	after := func(n int, err error) func() (bool, error) {
		looks = 0
		return func() (bool, error) {
			looks++
			if looks < n || err == nil && n == 0 {
				return false, nil
			}
			return err == nil, err
		}
	}
	if err := device.Poll(ctx, time.Millisecond, after(100, nil)); err != nil || looks != 100 {
		t.Errorf("%d looks, %v", looks, err)
	}
	wrong := errors.New("wrong")
	if err := device.Poll(ctx, time.Millisecond, after(3, wrong)); err != wrong || looks != 3 {
		t.Errorf("%d looks, %v", looks, err)
	}
	// Behind the time in which it does not sleep it looks once in a sixteenth of the time that it has waited.
	begun, late := time.Now(), 0
	quick, done := context.WithTimeout(ctx, 400*time.Millisecond)
	defer done()
	if err := device.Poll(quick, 10*time.Millisecond, func() (bool, error) {
		if time.Since(begun) > 2*time.Millisecond {
			late++
		}
		return false, nil
	}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if late > 130 {
		t.Errorf("it looked %d times in 400 ms", late)
	}
	cancel()
	if err := device.Poll(ctx, time.Millisecond, after(0, nil)); !errors.Is(err, context.Canceled) || looks != 1 {
		t.Errorf("%d looks, %v", looks, err)
	}
	// Work that is done is done, though the context has ended.
	if err := device.Poll(ctx, time.Millisecond, after(1, nil)); err != nil {
		t.Error(err)
	}
}
