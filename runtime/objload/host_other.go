//go:build !linux || !(amd64 || arm64)

package objload

import (
	"debug/elf"
	"errors"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/runtime/abi"
)

// hostMachine matches no object, so Load refuses all of them on this system.
const hostMachine = elf.EM_NONE

var errHost = errors.New("unsupported: machine code runs on linux/amd64 and linux/arm64, not on " + runtime.GOOS + "/" +
	runtime.GOARCH)

func pageSize() uint64 { return maxAlign }

func mapMemory(int) ([]byte, uint64, error) { return nil, 0, errHost }

func unmapMemory([]byte) error { return errHost }

func (l *layout) protect() error { return errHost }

// MaxArgs is the largest number of arguments of Call.
const MaxArgs = 6

// Call calls the C function at fn. On this system nothing can be loaded; other C functions can be called.
func Call(fn uintptr, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(fn, args...)
	return result
}

// CallKernel calls the kernel at fn with the arguments that package abi describes.
func CallKernel(fn uintptr, bufs *unsafe.Pointer, dims *int64, begin, end int64, err *abi.Error) {
	purego.SyscallN(fn, uintptr(unsafe.Pointer(bufs)), uintptr(unsafe.Pointer(dims)), uintptr(begin), uintptr(end),
		uintptr(unsafe.Pointer(err)))
	runtime.KeepAlive(bufs)
}

// Stack is memory for the stack of a kernel, of which there is none on this system.
type Stack struct{}

// TakeStack is a stack for a kernel whose functions take some bytes; nil is that of the thread.
func TakeStack(int64) (*Stack, error) { return nil, nil }

// Give gives a stack back.
func (s *Stack) Give() {}

// On is what CallKernel calls for fn to run on the stack.
func (s *Stack) On(fn uintptr, _ *abi.Error) uintptr { return fn }

// Stop stops the kernels of a call, which on this system never begin.
type Stop struct{ stopped atomic.Bool }

// Stopped says whether Now was called.
func (s *Stop) Stopped() bool { return s.stopped.Load() }

// Now lets no kernel begin.
func (s *Stop) Now() { s.stopped.Store(true) }

// Close says that no kernel of s runs any more or will.
func (s *Stop) Close() {}

// CallKernel is CallKernel where s is not stopped; it reports whether the kernel ran.
func (s *Stop) CallKernel(_ *Image, fn uintptr, bufs *unsafe.Pointer, dims *int64, begin, end int64,
	err *abi.Error) (finished bool) {
	if s.Stopped() {
		return false
	}
	CallKernel(fn, bufs, dims, begin, end, err)
	return true
}

func askForTiles() {}
