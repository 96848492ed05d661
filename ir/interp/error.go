package interp

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// RuntimeError stops a program.
type RuntimeError struct {
	Span    diag.Span        // the operation that failed, the zero Span when there is none
	Kind    scalar.CheckKind // 0 for a failure that is no check: input and output, memory, shapes
	Message string           // one lower-case clause
	Err     error            // what caused it, for input and output
	Step    int64            // how many steps had been taken
}

// Unwrap returns the cause.
func (e *RuntimeError) Unwrap() error { return e.Err }

func (e *RuntimeError) Error() string {
	if !e.Span.Valid() {
		return e.Message
	}
	return e.Span.Pos().String() + ": " + e.Message
}

// message says what failed; every backend says the same (abi.Message).
func message(kind scalar.CheckKind, op *ir.Op, details []int64) string {
	var info [2]int64
	copy(info[:], details)
	return abi.Message(abi.Site{Kind: kind.String(), Op: ops.Subject(op)}, info)
}
