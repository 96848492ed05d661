package tensor_test

import (
	"testing"

	"healc/runtime/tensor"
)

// TestHold: a tensor that is closed while it is held keeps its memory until the last Release, and cannot be held again.
func TestHold(t *testing.T) {
	x := tensor.FromSlice([]float32{1, 2})
	if first, second := x.Hold(), x.Hold(); !first || !second {
		t.Fatal("a tensor cannot be held")
	}
	x.Close()
	x.Close()
	x.Release()
	if x.Hold() || tensor.HoldAll([]*tensor.Tensor{nil, x}) != 1 || x.Ptr() == nil {
		t.Error("a closed tensor is held once more, or has lost its memory")
	}
	if _, err := x.View(); err != tensor.ErrClosed {
		t.Errorf("a view of a closed tensor: %v", err)
	}
	x.Release()
	x.Close()
	if x.Hold() || x.Ptr() != nil {
		t.Error("the memory of a closed tensor outlasts its last use")
	}
}
