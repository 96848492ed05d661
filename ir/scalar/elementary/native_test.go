package elementary_test

import (
	"context"
	"fmt"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar/elementary"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// The tests of this package see the compiler only here, and only to measure functions faster than the evaluator can.
func init() { elementary.SetMachineCode(compileOperation) }

func compileOperation(name string, n int) (func(in, out []float32) error, error) {
	d := ir.Lookup(name)
	if d == nil {
		return nil, fmt.Errorf("there is no operation %s", name)
	}
	f := &ir.Func{Name: "f", Public: true, Body: &ir.Block{}}
	b := &ir.Builder{Block: f.Body}
	t := types.Tensor{Elem: types.F32, Shape: types.Shape{types.Lit(int64(n))}}
	f.Body.Yields = []*ir.Value{b.Emit(d, nil, f.Body.Param("x", t, b.Span))}
	f.Results = []types.Tensor{t}
	m, err := engine.CompileIR(&ir.Module{Name: "f", Funcs: []*ir.Func{f}},
		engine.Options{Backend: heal.CPU, Threads: 1})
	if err != nil {
		return nil, err
	}
	code, err := m.Func("f")
	if err != nil {
		return nil, err
	}
	return func(in, out []float32) error {
		x := tensor.Wrap(in)
		defer x.Close()
		y, err := code.Call(context.Background(), x)
		if err != nil {
			return err
		}
		defer y.Close()
		values, err := tensor.Slice[float32](y)
		copy(out, values)
		return err
	}, nil
}
