// Package tensortest has what tests of tensors share.
package tensortest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// NoLeaks fails the test when tensors that it made are still open at its end.
func NoLeaks(t *testing.T) {
	t.Helper()
	before := memory.LiveBytes()
	t.Cleanup(func() {
		if after := memory.LiveBytes(); after != before && !t.Failed() {
			t.Errorf("%d bytes of tensors were not closed", after-before)
		}
	})
}

// Main runs the tests of a package and checks that they forget no tensors, but for as many bytes as lost says by then.
// Then the garbage collector releases none at a time of its own, so that memory.LiveBytes is exact before and after.
func Main(m *testing.M, lost *int64) {
	code := m.Run()
	if live := memory.LiveBytes(); live != *lost && code == 0 {
		fmt.Fprintf(os.Stderr, "tests forgot tensors of %d bytes\n", live-*lost)
		code = 1
	}
	os.Exit(code)
}

// Must returns an operation that closes its result when the test ends.
func Must(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	t.Helper()
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		if err == nil {
			err = x.Err()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Close)
		return x
	}
}

// Iota32 is 0, 1, 2, ... as i32 of a shape.
func Iota32(t *testing.T, shape ...int64) *tensor.Tensor {
	t.Helper()
	data := make([]uint64, memory.Count(shape))
	for i := range data {
		data[i] = uint64(i)
	}
	return Must(t)(tensor.FromBits(types.I32, shape, data))
}

// Want compares a tensor with a shape and the bits of its elements.
func Want(t *testing.T, x *tensor.Tensor, shape []int64, elems ...uint64) {
	t.Helper()
	if !slices.Equal(x.Shape, shape) || !slices.Equal(x.Bits(), elems) {
		t.Errorf("got %v %v, want %v %v", x.Shape, x.Bits(), shape, elems)
	}
}
