//go:build linux && (amd64 || arm64)

package objload

import (
	"unsafe"

	_ "github.com/ebitengine/purego" // provides the C run time that cgocall needs when cgo is off

	"healc/runtime/abi"
)

// A call runs on the thread's system stack (ulimit -s, 8 MB as a rule), not on the goroutine's, and other
// goroutines and the garbage collector go on meanwhile, as with cgo. It uses the runtime's cgocall, as
// purego.SyscallN does, which Go keeps open for that; our own few instructions behind it save what
// SyscallN spends on 32 arguments and the floating-point registers, more than half of the time of an
// empty kernel, and an allocation (BenchmarkCall; docs/tuning/threads.md).

// frame is what the assembly reads and writes. The C function gets args[0..5].
type frame struct {
	fn     uintptr
	args   [6]uintptr
	result uintptr
}

// kernelFrame is a frame for CallKernel. The pointers are typed for Go, so that what they point to is
// kept alive, and is found again when the goroutine's stack moves before the call.
type kernelFrame struct {
	fn         uintptr
	bufs       *unsafe.Pointer
	dims       *int64
	begin, end int64
	err        *abi.Error
	_          uintptr
	result     uintptr
}

// cgocall runs the C function fn(arg) on the system stack.
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn uintptr, arg unsafe.Pointer) int32

// enterAddr is the address of the assembly that takes a *frame, as C sees it.
var enterAddr uintptr

// MaxArgs is the largest number of arguments of Call.
const MaxArgs = len(frame{}.args)

// Call calls the C function at fn with up to MaxArgs integer or pointer arguments and returns its result,
// which means nothing for a void function. It allocates nothing. An argument that is an address must be
// one outside Go's memory, or of a heap object that the caller keeps alive; a goroutine's stack may move
// before the call, so CallKernel takes real pointers.
func Call(fn uintptr, args ...uintptr) uintptr {
	if len(args) > MaxArgs {
		panic("BUG: objload.Call with more than 6 arguments")
	}
	f := frame{fn: fn}
	copy(f.args[:], args)
	cgocall(enterAddr, unsafe.Pointer(&f))
	return f.result
}

// CallKernel calls the kernel at fn with the arguments that package abi describes. It allocates nothing.
// bufs, dims and err may point anywhere, also into the goroutine's stack. The buffers themselves must lie
// outside the Go heap or be pinned or kept alive by the caller.
func CallKernel(fn uintptr, bufs *unsafe.Pointer, dims *int64, begin, end int64, err *abi.Error) {
	f := kernelFrame{fn: fn, bufs: bufs, dims: dims, begin: begin, end: end, err: err}
	cgocall(enterAddr, unsafe.Pointer(&f))
}
