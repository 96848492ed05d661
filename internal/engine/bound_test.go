package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"healc/internal/pipeline"
	"healc/ir/kernel"
	"healc/runtime/tensor"
	"healc/runtime/trace"
)

// TestBoundedCode: a function keeps code for as many shapes as the options say, what was called last, and is right for
// all shapes while code goes, also where calls run at once.
func TestBoundedCode(t *testing.T) {
	kept := func(f *Func) (sizes []int64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, c := range f.codes {
			sizes = append(sizes, c.shapes[0][0])
		}
		return sizes
	}
	f := function(t, chain, "f", Options{MaxShapes: 2, Threads: 1})
	for _, n := range []int{3, 4, 3, 5} {
		if err := callOnes(f, n); err != nil {
			t.Fatal(err)
		}
	}
	if got := kept(f); len(got) != 2 || got[0] != 3 || got[1] != 5 {
		t.Errorf("code for %v is kept, not for 3 and 5", got)
	}
	var calls sync.WaitGroup
	for i := range 3 {
		calls.Go(func() {
			for k := range 6 {
				if err := callOnes(f, 3+(i+k)%3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	f = function(t, chain, "f", Options{MaxCode: 1, Threads: 1})
	for n := 3; n < 6; n++ {
		if err := callOnes(f, n); err != nil {
			t.Fatal(err)
		}
	}
	if got := kept(f); len(got) != 1 || got[0] != 5 || f.bytes != f.codes[0].exec.CodeBytes() || f.bytes == 0 {
		t.Errorf("code for %v is kept, %d bytes", got, f.bytes)
	}
}

// TestShapesThatChange: from some shape on there is one code for all that are new, and a shape that is called often
// gets code of its own, while calls run.
func TestShapesThatChange(t *testing.T) {
	f := function(t, chain, "f", Options{Threads: 1})
	const shapes = atOnce + 4
	for n := 1; n <= shapes; n++ {
		if err := callOnes(f, n); err != nil {
			t.Fatal(err)
		}
	}
	own := func() (own int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, c := range f.codes {
			if c.exec.CodeBytes() > 0 {
				own++
			}
		}
		return own
	}
	if n := own(); n != atOnce || f.anyShape == nil {
		t.Fatalf("%d shapes have code of their own", n)
	}
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			for k := 0; k < 2_000_000 && own() == atOnce; k++ {
				if err := callOnes(f, shapes); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	calls.Wait()
	if n := own(); n != atOnce+1 {
		t.Errorf("%d shapes have code of their own, after many calls of one", n)
	}
	if err := callOnes(f, shapes); err != nil {
		t.Error(err)
	}
}

// TestCodeThatFails: where there is no code for a shape that is called often, since the compiler has a bug, calls go
// on, and the counters say so.
func TestCodeThatFails(t *testing.T) {
	var broken atomic.Bool
	counts := trace.NewCounts()
	f := function(t, chain, "f", Options{Threads: 1, Counts: counts, Debug: pipeline.Debug{
		Reschedule: func(*kernel.Kernel, *kernel.Schedule) {
			if broken.Load() {
				panic("BUG: none")
			}
		}}})
	const shapes = atOnce + 2
	for n := 1; n <= shapes; n++ {
		if err := callOnes(f, n); err != nil {
			t.Fatal(err)
		}
	}
	broken.Store(true)
	failures := func() (n int64) {
		for c := range counts.All() {
			if c.Function == "f" && c.Kernel == trace.Aside {
				n += c.Failures
			}
		}
		return n
	}
	for k := 0; k < 2_000_000 && failures() == 0; k++ {
		if err := callOnes(f, shapes); err != nil {
			t.Fatal(err)
		}
	}
	if failures() != 1 {
		t.Errorf("the counters say %d times that code could not be made\n%s", failures(), counts)
	}
	if err := callOnes(f, shapes); err != nil {
		t.Error(err)
	}
}

// callOnes calls f with n ones.
func callOnes(f *Func, n int) error {
	data := make([]float32, n)
	for i := range data {
		data[i] = 1
	}
	x := tensor.FromSlice(data)
	defer x.Close()
	y, err := f.Call(context.Background(), x, x, x)
	if err != nil {
		return err
	}
	defer y.Close()
	got, err := tensor.Slice[float32](y)
	if err != nil {
		return err
	}
	for _, v := range got {
		if v != 2 || len(got) != n {
			return errors.New("a wrong result")
		}
	}
	return nil
}
