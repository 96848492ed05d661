// Package interpio lets the reference interpreter, which knows arrays of ir, work on tensors of the runtime, and use
// its input and output.
package interpio

import (
	"strings"

	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/checkpoint"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// System is input and output for the interpreter, by those of the runtime.
type System struct {
	To         runtime.System
	Checkpoint *checkpoint.File // where loops keep their states; nil: they keep none
}

// ResumeLoop implements exchange.Keeper.
func (s System) ResumeLoop(loop int64, want []types.Tensor) (step int64, state []*ir.Array, ok bool, err error) {
	var values []checkpoint.Value
	for _, t := range want {
		v := checkpoint.Value{DType: t.Elem, Shape: []int64{}, Axis: -1}
		for _, d := range t.Shape {
			n, _ := d.Const()
			v.Shape = append(v.Shape, n)
		}
		values = append(values, v)
	}
	step, found, err := s.Checkpoint.Start(loop, values)
	for _, t := range found {
		state = append(state, ToArray(t))
		t.Close()
	}
	return step, state, found != nil, err
}

// KeepLoop implements exchange.Keeper.
func (s System) KeepLoop(loop, step int64, state []*ir.Array) error {
	if s.Checkpoint == nil {
		return nil
	}
	var values []checkpoint.Value
	var parts [][]byte
	for _, a := range state {
		t, err := FromArray(a)
		if err != nil {
			return err
		}
		defer t.Close()
		values = append(values, checkpoint.Value{DType: a.DType, Shape: a.Shape, Axis: -1})
		parts = append(parts, t.Raw())
	}
	return s.Checkpoint.Keep(loop, step, values, parts)
}

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

func (s System) SaveImage(path, form string, a *ir.Array) error {
	t, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
	if err != nil {
		return err
	}
	defer t.Close()
	return runtime.SaveImage(s.To, path, tensorfile.Image(form), t)
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
