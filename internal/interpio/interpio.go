// Package interpio lets the reference interpreter, which knows arrays of ir, work on tensors of the runtime, and use
// its input and output.
package interpio

import (
	"strings"

	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
)

// System is input and output for the interpreter, by those of the runtime.
type System struct{ To runtime.System }

func (s System) Print(text string) error { return s.To.Print(text) }

func (s System) Format(a *ir.Array) (string, error) {
	t, err := FromArray(a)
	if err != nil {
		return "", err
	}
	defer t.Close()
	var b strings.Builder
	if err := tensor.Format(&b, t); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (s System) LoadNpy(path string) (*ir.Array, error) {
	t, err := s.To.LoadNpy(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return ToArray(t), nil
}

func (s System) SaveNpy(path string, a *ir.Array) error {
	t, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
	if err != nil {
		return err
	}
	defer t.Close()
	return s.To.SaveNpy(path, t)
}

// ToArray copies a tensor, or a string, for the interpreter.
func ToArray(t *tensor.Tensor) *ir.Array {
	if s, ok := t.Text(); ok {
		return &ir.Array{DType: types.String, Str: s}
	}
	return &ir.Array{DType: t.DType, Shape: append([]int64{}, t.Shape...), Bits: t.Bits()}
}

// FromArray is the opposite of ToArray.
func FromArray(a *ir.Array) (*tensor.Tensor, error) {
	if a.DType == types.String {
		return tensor.Text(a.Str), nil
	}
	return tensor.FromBits(a.DType, a.Shape, a.Bits)
}
