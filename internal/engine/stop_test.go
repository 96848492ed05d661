package engine

import (
	"context"
	"errors"
	"testing"

	"healc/internal/pipeline"
	"healc/passes"
	"healc/runtime"
	"healc/runtime/tensor"
)

// slow is a writer that says when it is written to first, and waits then.
type slow struct{ begun, goOn chan struct{} }

func (s *slow) Write(p []byte) (int, error) {
	select {
	case <-s.goOn:
	default:
		close(s.begun)
		<-s.goOn
	}
	return len(p), nil
}

// TestStopCompiling: the end of a context ends a call while its code is made, which goes on for later calls; nor does a
// module that is closed wait for it.
func TestStopCompiling(t *testing.T) {
	for _, closed := range []bool{false, true} {
		s := &slow{make(chan struct{}), make(chan struct{})}
		m, err := Compile("fn f[N](x: f32[N]) -> f32[N] = x + 1.0", Options{Threads: 1,
			Debug: pipeline.Debug{Passes: &passes.Options{PrintAfterAll: true, Out: s}}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x := tensor.FromSlice([]float32{1, 2})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-s.begun
			cancel()
		}()
		var stopped *runtime.StoppedError
		if _, err := f.Call(ctx, x); !errors.As(err, &stopped) {
			t.Fatal(err)
		}
		if closed {
			m.Close()
			close(s.goOn)
			continue
		}
		close(s.goOn)
		y, err := f.Call(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		if got := y.Bits(); len(f.codes) != 1 || len(got) != 2 || got[1] != 0x40400000 {
			t.Errorf("%x by %d codes", got, len(f.codes))
		}
		m.Close()
	}
}
