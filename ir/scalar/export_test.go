package scalar

import "healc/lang/types"

// What tests see of the package beside its API.

const (
	BlockLen = blockLen
	NumOps   = numOps
)

// Emit writes any instruction.
func Emit(e Emitter, op Op, t types.DType, args ...Ref) Ref { return e.emit(op, t, args...) }

// Accepts reports whether there is an instruction of this type.
func Accepts(op Op, t types.DType) bool { return accepts(op, t) }
