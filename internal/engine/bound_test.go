package engine

import (
	"context"
	"errors"
	"sync"
	"testing"

	"healc/runtime/tensor"
)

// TestBoundedCode: a function keeps code for as many shapes as the options say, what was called last, and is right for
// all shapes while code goes, also where calls run at once.
func TestBoundedCode(t *testing.T) {
	call := func(f *Func, n int) error {
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
		if err := call(f, n); err != nil {
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
				if err := call(f, 3+(i+k)%3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	f = function(t, chain, "f", Options{MaxCode: 1, Threads: 1})
	for n := 3; n < 6; n++ {
		if err := call(f, n); err != nil {
			t.Fatal(err)
		}
	}
	if got := kept(f); len(got) != 1 || got[0] != 5 || f.bytes != f.codes[0].exec.CodeBytes() || f.bytes == 0 {
		t.Errorf("code for %v is kept, %d bytes", got, f.bytes)
	}
}
