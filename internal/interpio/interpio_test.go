package interpio

import (
	"testing"

	"healc/ir"
	"healc/lang/types"
)

// TestFormat: what cannot be shown is an error, and never a text in the place of a value.
func TestFormat(t *testing.T) {
	one := &ir.Array{DType: types.F32, Shape: []int64{1}, Bits: []uint64{0x40400000}}
	if text, err := (System{}).Format(one); err != nil || text != "[3.]" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := (System{}).Format(&ir.Array{DType: types.F32, Shape: []int64{1 << 60}}); err == nil || text != "" {
		t.Errorf("a tensor that no memory has is shown as %q", text)
	}
}
