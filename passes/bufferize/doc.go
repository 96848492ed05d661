// Package bufferize turns a fused module into kernels and a plan: every fusion operation becomes loop
// nests (package ir/kernel), every value gets a place (an output, a view, or a range of one arena), and
// what runs between kernels becomes steps of an abi.Program.
//
// In: an *ir.Module in which every computing operation is inside a fusion operation (passes/fusion). A
// computing operation that is outside of one becomes a kernel of its own. Out: a verified *kernel.Module
// whose Plan the runtime walks. The package never decides what is fused, and never changes the module.
//
// The way through the package: lower.go walks the blocks of the functions, place.go says where values live, fuse.go
// builds the kernels of one fusion operation, inplace.go lets results take the buffers of operands, split.go cuts long
// reductions in two. body.go, access.go, loops.go and pull.go write a kernel's body; fold.go, ranges.go and form.go
// know the arithmetic of indices; unit.go has sites and scalar functions. The passes over finished kernels are in package
// ir/kernel/transform.
package bufferize

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
