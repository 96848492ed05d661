package engine

import (
	"fmt"

	"healc/ir"
	"healc/runtime"
	"healc/runtime/tensor"
)

// updatable checks the arguments of `&mut` parameters, which the call writes: none shares memory with
// another argument, nor are two of its elements the same place.
func (f *Func) updatable(args []*tensor.Tensor) error {
	params := f.ir.Params()
	for _, k := range f.ir.Updates {
		t := args[k]
		fail := func(format string, a ...any) error {
			return &runtime.ArgumentError{Func: f.Signature(), Message: fmt.Sprintf("argument `%s` is `&mut`, and ",
				params[k].Name) + fmt.Sprintf(format, a...)}
		}
		if err := t.WriteErr(); err != nil {
			return fail("%v", err)
		}
		for i, n := range t.Shape {
			if n > 1 && t.Strides[i] == 0 {
				return fail("its elements along axis %d are one place in memory; clone the tensor", i)
			}
		}
		for i, o := range args {
			if int64(i) != k && t.Overlaps(o) {
				return fail("shares memory with argument `%s`; clone one of them", params[i].Name)
			}
		}
	}
	return nil
}

// update writes what the interpreter says the `&mut` parameters hold in the end into their arguments, and
// returns the results proper.
func (f *Func) update(args []*tensor.Tensor, out []*ir.Array) ([]*ir.Array, error) {
	n := len(out) - len(f.ir.Updates)
	for i, k := range f.ir.Updates {
		a := out[n+i]
		t, err := tensor.FromBits(a.DType, a.Shape, a.Bits)
		if err != nil {
			return nil, err
		}
		err = t.CopyTo(args[k])
		t.Close()
		if err != nil {
			return nil, err
		}
	}
	return out[:n], nil
}
