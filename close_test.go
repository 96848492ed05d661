package heal_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	heal "healc"
	allocator "healc/runtime/memory"
)

// TestCloseWhileCalled: a module and tensors that are closed while calls run harm none of them. A call gives the right
// result, or says what is closed, and later ones do. Memory that is freed too early is unmapped: the tensors are too
// large for the allocator's small blocks, and each module has machine code of its own.
func TestCloseWhileCalled(t *testing.T) {
	const n = 300_000
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	for _, backend := range []string{heal.CPU, heal.Interp} {
		turns, size := 8, n
		if backend == heal.Interp {
			turns, size = 2, 3000
		}
		for range turns {
			m, err := heal.Compile("fn f[N](x: f32[N]) -> f32[N] = x .+ flip(x)", heal.Options{Backend: backend})
			if err != nil {
				t.Fatal(err)
			}
			f, err := m.Func("f")
			if err != nil {
				t.Fatal(err)
			}
			x, warm := heal.FromSlice(ones[:size]), heal.FromSlice(ones[:size])
			y, err := f.Call(context.Background(), warm)
			if err != nil {
				t.Fatal(err)
			}
			y.Close()
			begun := make(chan struct{}, 4)
			var calls sync.WaitGroup
			for i := range 4 {
				calls.Go(func() {
					out := heal.FromSlice(ones[:size])
					defer out.Close()
					for first := true; ; first = false {
						if err := callOnce(f, x, out, i%2 == 0); err != nil {
							if !errors.Is(err, heal.ErrClosed) && !errors.Is(err, heal.ErrTensorClosed) {
								t.Error(err)
							}
							if first {
								begun <- struct{}{}
							}
							return
						}
						if first {
							begun <- struct{}{}
						}
					}
				})
			}
			<-begun
			x.Close()
			m.Close()
			allocator.ReleaseUnused()
			if _, err := f.Call(context.Background(), warm); !errors.Is(err, heal.ErrClosed) {
				t.Errorf("a call after Close: %v", err)
			}
			calls.Wait()
			warm.Close()
		}
	}
}

// callOnce calls f with ones, and looks at the result.
func callOnce(f *heal.Func, x, out *heal.Tensor, into bool) error {
	y := out
	var err error
	if into {
		err = f.CallInto(context.Background(), []*heal.Tensor{out}, x)
	} else if y, err = f.Call(context.Background(), x); err == nil {
		defer y.Close()
	}
	if err != nil {
		return err
	}
	got, err := heal.Slice[float32](y)
	if err != nil {
		return err
	}
	for _, v := range got {
		if v != 2 {
			return errors.New("a wrong result")
		}
	}
	return nil
}

// TestCloseWaits: Close returns after the call that runs, and a tensor's memory lives as long.
func TestCloseWaits(t *testing.T) {
	for _, backend := range []string{heal.CPU, heal.Interp} {
		s := &slowPrinter{entered: make(chan struct{}), leave: make(chan struct{})}
		m, err := heal.Compile("@io fn f(x: f32[4]) -> f32[4] = { print(\"in\"); flip(x) }",
			heal.Options{Backend: backend, System: s})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x := heal.FromSlice([]float32{1, 2, 3, 4})
		called, closed := make(chan error), make(chan struct{})
		go func() {
			y, err := f.Call(context.Background(), x)
			if err == nil {
				if got := y.Bits(); got[0] != 0x40800000 || got[3] != 0x3f800000 { // 4 and 1
					err = errors.New("a wrong result")
				}
				y.Close()
			}
			called <- err
		}()
		<-s.entered
		x.Close()
		if err := x.Err(); !errors.Is(err, heal.ErrTensorClosed) {
			t.Errorf("%s: a closed tensor: %v", backend, err)
		}
		if _, err := f.Call(context.Background(), x); !errors.Is(err, heal.ErrTensorClosed) {
			t.Errorf("%s: a call with a closed tensor: %v", backend, err)
		}
		go func() { m.Close(); close(closed) }()
		for { // until Close has come so far that no other call begins
			z := heal.FromSlice([]float32{1, 2, 3})
			_, err := f.Call(context.Background(), z)
			z.Close()
			if errors.Is(err, heal.ErrClosed) {
				break
			}
		}
		select {
		case <-closed:
			t.Errorf("%s: Close has not waited", backend)
		default:
		}
		close(s.leave)
		if err := <-called; err != nil {
			t.Errorf("%s: %v", backend, err)
		}
		<-closed
		m.Close()
	}
}

// slowPrinter prints nothing, and says when it is asked to.
type slowPrinter struct {
	heal.System
	entered, leave chan struct{}
}

func (s *slowPrinter) Print(string) error {
	s.entered <- struct{}{}
	<-s.leave
	return nil
}
