package heal

import (
	"strings"

	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
)

// interpSystem lets the interpreter use the runtime's input and output.
type interpSystem struct{ sys runtime.System }

func (s interpSystem) Print(text string) error { return s.sys.Print(text) }

func (s interpSystem) Format(a *ir.Array) string {
	t, err := fromArray(a)
	if err != nil {
		return err.Error()
	}
	defer t.Close()
	var b strings.Builder
	if err := runtime.Format(&b, t); err != nil {
		return err.Error()
	}
	return b.String()
}

func (s interpSystem) LoadNpy(path string) (*ir.Array, error) {
	t, err := s.sys.LoadNpy(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return toArray(t), nil
}

func (s interpSystem) SaveNpy(path string, a *ir.Array) error {
	t, err := runtime.FromBits(a.DType, a.Shape, a.Bits)
	if err != nil {
		return err
	}
	defer t.Close()
	return s.sys.SaveNpy(path, t)
}

// toArray copies a tensor, or a string, for the interpreter.
func toArray(t *runtime.Tensor) *ir.Array {
	if s, ok := t.Text(); ok {
		return &ir.Array{DType: types.String, Str: s}
	}
	return &ir.Array{DType: t.DType, Shape: append([]int64{}, t.Shape...), Bits: t.Bits()}
}

// fromArray is the opposite of toArray.
func fromArray(a *ir.Array) (*runtime.Tensor, error) {
	if a.DType == types.String {
		return runtime.Text(a.Str), nil
	}
	return runtime.FromBits(a.DType, a.Shape, a.Bits)
}
