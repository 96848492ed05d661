package tensor_test

import (
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// TestText: a string is a value of its own type, which is copied and printed, and has no elements.
func TestText(t *testing.T) {
	s := tensor.Text("a\nb")
	if s.DType != types.String || s.Rank() != 0 || s.String() != "string" {
		t.Errorf("the value is %v of rank %d", s, s.Rank())
	}
	var b strings.Builder
	if err := tensor.Format(&b, s); err != nil || b.String() != "a\nb" {
		t.Errorf("it prints as %q, %v", b.String(), err)
	}
	c, err := s.Clone()
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := c.Text(); !ok || text != "a\nb" {
		t.Errorf("its copy is %q, %v", text, ok)
	}
	if s.Bits() != nil || s.Err() == nil {
		t.Errorf("it has elements: %v, %v", s.Bits(), s.Err())
	}
	if _, err := s.Reshape(1); err == nil {
		t.Error("it can be reshaped")
	}
	if err := tensorfile.WriteNpy(&b, s); err == nil {
		t.Error("it can be written as .npy")
	}
	if _, ok := (&tensor.Tensor{}).Text(); ok {
		t.Error("a tensor is a string")
	}
	s.Close()
}
