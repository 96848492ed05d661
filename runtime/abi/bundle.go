package abi

// Bundle is a set of compiled functions that a Go program carries with it (runtime.Compiled).
type Bundle struct {
	Levels []string // the kinds of processor that there is code for, from the plainest; "" is any
	CPU    string   // the processor that all of it is for, by LLVM's name; "" where Levels say so
	Needs  string   // the kind of processor that all of it needs; "" is any
	Funcs  []BundleFunc
}

// BundleFunc is one function, compiled for any shape.
type BundleFunc struct {
	Name      string
	Signature string   // as source, for messages
	Params    []string // names
	Packed    Code     // for row-major arguments
	Strided   *Code    // for any strides, which are the last of its Dims; nil when no parameter has an axis
}

// Code is a plan with its kernels for every level; there are no objects when it has no kernels. An empty object says
// that a level has that of the one before.
type Code struct {
	Plan    *Program
	Objects [][]byte
}
