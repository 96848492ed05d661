package tensor_test

import (
	"errors"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

func TestOutOfMemory(t *testing.T) {
	noLeaks(t)
	for _, shape := range [][]int64{{1 << 30, 1 << 20}, {1 << 30, 1 << 29}, {1 << 20, 1 << 22}} {
		x, err := tensor.New(types.F32, shape...)
		var oom *memory.OutOfMemoryError
		if !errors.As(err, &oom) {
			x.Close()
			t.Fatalf("New(%v): %v", shape, err)
		}
		if oom.Bytes != 4*memory.Count(shape) {
			t.Errorf("%v: asked for %d", shape, oom.Bytes)
		}
		if !strings.HasPrefix(err.Error(), tensor.TypeName(types.F32, shape)+": out of memory: asked for ") {
			t.Errorf("message %q", err)
		}
	}
	if _, err := memory.New(-1); err == nil {
		t.Error("a negative size")
	}
}

// TestForgottenTensor leaves tensors to the garbage collector.
func TestForgottenTensor(t *testing.T) {
	before := memory.LiveBytes()
	func() {
		for range 10 {
			x := tensor.FromSlice([]float32{1, 2, 3})
			v, err := x.Reshape(3, 1)
			if err != nil || v.Elems() != 3 {
				t.Fatal(err)
			}
			y, err := tensor.New(types.F32, 1<<20)
			if err != nil || y.Elems() != 1<<20 {
				t.Fatal(err)
			}
		}
	}()
	for i := 0; memory.LiveBytes() != before; i++ {
		if i == 1000 {
			t.Fatalf("%d bytes were not released", memory.LiveBytes()-before)
		}
		goruntime.GC()
		time.Sleep(time.Millisecond)
	}
}

// pinned is the memory that TestSlicePins has lost, in bytes.
var pinned int64

// TestSlicePins checks that memory with a Go slice on it is not reclaimed behind the slice's back. So it is lost.
func TestSlicePins(t *testing.T) {
	const n = 1 << 10
	before := memory.LiveBytes()
	pinned += 4 * n
	s := func() []float32 {
		s, err := tensor.Slice[float32](tensor.FromSlice(make([]float32, n)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}()
	for range 5 {
		goruntime.GC()
		time.Sleep(time.Millisecond)
	}
	if memory.LiveBytes() != before+4*n {
		t.Fatal("the memory under a slice was reclaimed")
	}
	s[n-1] = 1
}

func TestStorageConcurrent(t *testing.T) {
	noLeaks(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 500 {
				n := int64(1) << (i % 18)
				x, err := tensor.New(types.U8, n)
				if err != nil {
					t.Error(err)
					return
				}
				if err := x.SetBits(uint64(g), n-1); err != nil {
					t.Error(err)
				}
				v, err := x.View()
				if err != nil {
					t.Error(err)
					return
				}
				x.Close()
				if got, err := v.At(n - 1); err != nil || got != uint64(g) {
					t.Errorf("memory of %d bytes is shared", n)
				}
				v.Close()
			}
		}()
	}
	wg.Wait()
}

func BenchmarkNewClose(b *testing.B) {
	for b.Loop() {
		x, err := tensor.New(types.F32, 16)
		if err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
}
