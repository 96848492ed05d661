package scalartest

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Record builds the Func of one expansion.
func Record(emit func(e scalar.Emitter, p []scalar.Ref) scalar.Ref, params ...types.DType) *scalar.Func {
	r, refs := scalar.NewRecorder(params...)
	r.Func.Results = []scalar.Ref{emit(scalar.Emitter{Sink: r}, refs)}
	if err := scalar.Verify(&r.Func); err != nil {
		panic(err)
	}
	return &r.Func
}
