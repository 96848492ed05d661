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
	begun := time.Now()
	over := func() (bool, error) { looks++; return time.Since(begun) > 200*time.Millisecond, nil }
	looks = 0
	if err := device.Poll(ctx, time.Millisecond, over); err != nil {
		t.Error(err)
	}
	first := looks
	begun, looks = time.Now(), 0
	quick, done := context.WithTimeout(ctx, 400*time.Millisecond)
	defer done()
	if err := device.Poll(quick, 10*time.Millisecond, after(0, nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	t.Logf("%d looks in 200 ms, %d in 400 ms", first, looks)
	cancel()
	if err := device.Poll(ctx, time.Millisecond, after(0, nil)); !errors.Is(err, context.Canceled) || looks != 1 {
		t.Errorf("%d looks, %v", looks, err)
	}
	// Work that is done is done, though the context has ended.
	if err := device.Poll(ctx, time.Millisecond, after(1, nil)); err != nil {
		t.Error(err)
	}
}
