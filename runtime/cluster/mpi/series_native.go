//go:build linux && (amd64 || arm64)

package mpi

import (
	"unsafe"

	_ "github.com/ebitengine/purego" // provides the C run time that cgocall needs when cgo is off
)

// seriesFrame is what the assembly reads, and how many of the calls it has made.
type seriesFrame struct {
	calls *call
	n     int64
	made  int64
}

// cgocall runs the C function fn(arg) on the system stack, as in package objload.
//
//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn uintptr, arg unsafe.Pointer) int32

// seriesAddr is the address of the assembly that takes a *seriesFrame, as C sees it.
var seriesAddr uintptr

// make makes the calls, up to the first whose result is not 0, and says how many that were.
func (s *series) make() int64 {
	f := seriesFrame{calls: &s.calls[0], n: int64(s.n)}
	cgocall(seriesAddr, unsafe.Pointer(&f))
	return f.made
}
