// Package lower writes the bodies of kernels: from the values of a block of tensor operations, and the buffers that
// they lie in, to loops over scalars.
//
// In: a Nest, which says what one kernel computes, and a Plan, which says where values are. Out: *kernel.Kernel, by way
// of Plan.Launch, and scalar functions (*kernel.Func). The package never decides what is in one kernel, nor where its
// results lie.
//
// A body is written backwards, from the outputs of the nest: pull.go asks for the element of a value at an index, and
// the entry of its operation in the table (Element, Scalar) asks for the elements of its operands. body.go puts each
// instruction where it belongs (Note [Placement]), simplify.go simplifies it by what affine.go and interval.go know of
// integers, access.go makes loads and stores, loops.go and iterate.go loops, reductions and branches. nest.go makes a
// kernel of the body; scan.go, rows.go and splitreduce.go are the kernels that write more than an element for each
// index of their axes, rows in memory, and parts of long reductions.
package lower

import (
	"fmt"

	"healc/lang/diag"
)

// An Error says that a legal program asks for something that cannot be lowered, and where.
type Error struct {
	Span diag.Span
	Msg  string
}

func (e *Error) Error() string {
	if e.Span.Valid() {
		return fmt.Sprintf("%s: unsupported: %s", e.Span.Pos(), e.Msg)
	}
	return "unsupported: " + e.Msg
}

// failure carries an error out of the callbacks of the op table, as a panic.
type failure struct{ err *Error }

// Fail gives up, with an *Error for Catch.
func Fail(at diag.Span, format string, args ...any) {
	panic(failure{&Error{at, fmt.Sprintf(format, args...)}})
}

// Catch, deferred, sets err to what Fail was called with.
func Catch(err *error) {
	if r := recover(); r != nil {
		f, ok := r.(failure)
		if !ok {
			panic(r)
		}
		*err = f.err
	}
}
