// Package abi is the contract between generated code and the runtime: how a kernel is called, what it
// reports, and the description of a compiled program (plan.go). It imports only lang/types.
package abi

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// A kernel is a C function
//
//	void k(void **bufs, const int64_t *dims, int64_t begin, int64_t end, Error *err)
//
// bufs holds the address of element 0 of each kernel parameter, in order; dims the values of the
// program's free shape parameters, in order (none when the program was specialised); [begin, end) is the
// part of the outermost parallel axis to do (0 and 1 for a kernel without parallel axes), or of the tasks that
// Launch.Tasks counts. Kernels are reentrant, allocate nothing and touch nothing else, so that one can be left at any
// instruction (Note [Stopping] in package runtime/objload). A kernel that finds a failing check fills in *err, when its
// Site is still 0, and returns at once.

// Error is what a kernel reports; the layout is fixed (32 bytes).
type Error struct {
	Site int64    // 1 + index into Program.Sites, 0 for none
	Info [2]int64 // the details of the check: the index and the bound
	Own  uintptr  // of who calls the kernel
}

// ErrorBytes is the size of Error.
const ErrorBytes = 32

// MaxCallDepth bounds the recursion of scalar functions, on every backend.
const MaxCallDepth = 10000

// Site is a place that can fail while the program runs.
type Site struct {
	Kind string // "divide by zero", ...: the name of the scalar.CheckKind
	File string
	Line int
	Col  int
	Text string // the source line
	Op   string // what the message is about: the operation, or the text of a KindRequire, with {} for each detail

	Shows []types.Dim // what stands for {} in place of details: numbers that follow from the shape parameters

	Caller *Site // the call in another file, of which the function there is this code's: a place alone; nil for none
}

// Locate is a message with the place in front, and the calls that led to it from other files after it.
func (s *Site) Locate(message string) string {
	if s.Line == 0 {
		return message
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", s.File, s.Line, s.Col, message)
	for c := s.Caller; c != nil; c = c.Caller {
		fmt.Fprintf(&b, " (called at %s:%d:%d)", c.File, c.Line, c.Col)
	}
	return b.String()
}

// Extent is a symbolic extent: ceil(Dim / Div); Div 0 or 1 is the plain dim. Below zero it is that of nothing: the
// program stops before it uses what has such an extent.
type Extent struct {
	Dim types.Dim
	Div int64
	// Guarded says that the program stops before it uses what has this extent above types.MaxExtent, too.
	Guarded bool
}
