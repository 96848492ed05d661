package codegen

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"healc/internal/caught"
)

func breaks() { panic("here") }

func TestParallel(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		calls := make([]atomic.Int32, n)
		if err := Parallel(n, func(i int) error { calls[i].Add(1); return nil }); err != nil {
			t.Error(err)
		}
		for i := range calls {
			if c := calls[i].Load(); c != 1 {
				t.Errorf("%d of %d: %d calls", i, n, c)
			}
		}
	}
	first, second := errors.New("first"), errors.New("second")
	err := Parallel(50, func(i int) error {
		switch i {
		case 20:
			return first
		case 30:
			return second
		}
		return nil
	})
	if err != first {
		t.Errorf("%v, not the first error", err)
	}
	defer func() {
		p, _ := recover().(*caught.Panic)
		if p == nil || p.Value != "here" || !strings.Contains(string(p.Stack), "codegen.breaks") {
			t.Errorf("%v in place of the panic and its stack", p)
		}
	}()
	_ = Parallel(10, func(i int) error {
		if i == 7 {
			breaks()
		}
		return nil
	})
}
