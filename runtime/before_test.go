package runtime

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestBefore: nobody waits for what a context that has ended is late for, and what it makes is dropped; what comes in
// time is as without a context, panics too.
func TestBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if got, err := Before(ctx, 0, func() (int, error) { return 3, nil }, nil); got != 3 || err != nil {
		t.Error(got, err)
	}
	wrong := errors.New("wrong")
	if _, err := Before(ctx, 0, func() (int, error) { return 3, wrong }, nil); err != wrong {
		t.Error(err)
	}
	func() {
		defer func() {
			if p, ok := recover().(error); !ok || !errors.Is(p, wrong) {
				t.Errorf("the panic is %v", p)
			}
		}()
		_, _ = Before(ctx, 0, func() (int, error) { panic(wrong) }, nil)
	}()
	goOn, dropped := make(chan bool), make(chan int)
	late := func() (int, error) {
		cancel()
		<-goOn
		return 4, nil
	}
	var stopped *StoppedError
	got, err := Before(ctx, 0, late, func(n int) { dropped <- n })
	if got != 0 || !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) {
		t.Error(got, err)
	}
	close(goOn)
	if n := <-dropped; n != 4 {
		t.Errorf("%d was dropped", n)
	}
	// One that ends within the time it has gives its own result.
	if got, err := Before(ctx, time.Hour, func() (int, error) { return 5, nil }, nil); got != 5 || err != nil {
		t.Error(got, err)
	}
}
