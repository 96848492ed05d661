//go:build linux && (amd64 || arm64)

package objload

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"healc/runtime/abi"
)

// Note [Stacks]: functions of numbers nest abi.MaxCallDepth deep, and what that takes of a stack, abi.Launch.Stack, is
// known when they are compiled; what a thread has is up to the system (ulimit -s). So a kernel that calls such
// functions runs on memory of its own. The system gives it pages where they are touched, and below it some cannot be
// accessed. Nothing that Go does looks at the stack of a thread while that is in a kernel; signals have a stack of
// their own.

// anyStack is what a kernel may take on the stack of any thread.
const anyStack = 64 << 10

// besidesStack is what a kernel takes on its stack besides its functions: copies of operands, and what is spilled.
const besidesStack = 4 << 20

const fence = 64 << 10

// Stack is memory for the stack of a kernel.
type Stack struct {
	mem  []byte
	call deepCall
}

// deepCall is a kernel and the end of the stack that it gets. The assembly knows the layout.
type deepCall struct {
	fn  uintptr
	top uintptr
}

var stacks struct {
	sync.Mutex
	free []*Stack
}

// keptStack is how many bytes of a stack stay with the process when it is not used.
const keptStack = 16 << 20

// TakeStack is a stack for a kernel whose functions take some bytes; nil where any thread has that. It has to be given
// back.
func TakeStack(bytes int64) (*Stack, error) {
	if bytes <= anyStack {
		return nil, nil
	}
	page := int64(pageSize())
	size := (bytes + besidesStack + fence + page - 1) &^ (page - 1)
	stacks.Lock()
	for i, s := range stacks.free {
		if int64(len(s.mem)) >= size {
			last := len(stacks.free) - 1
			stacks.free[i] = stacks.free[last]
			stacks.free = stacks.free[:last]
			stacks.Unlock()
			return s, nil
		}
	}
	stacks.Unlock()
	mem, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE|syscall.MAP_STACK)
	if err != nil {
		return nil, fmt.Errorf("%d bytes for the stack of functions that call themselves: %w", size, err)
	}
	if err := syscall.Mprotect(mem[:fence], syscall.PROT_NONE); err != nil {
		_ = syscall.Munmap(mem)
		return nil, fmt.Errorf("the end of a stack: %w", err)
	}
	return &Stack{mem: mem, call: deepCall{top: uintptr(unsafe.Pointer(&mem[0])) + uintptr(len(mem))}}, nil
}

// Give gives a stack back.
func (s *Stack) Give() {
	if s == nil {
		return
	}
	if n := len(s.mem); n > keptStack {
		_ = syscall.Madvise(s.mem[fence:n-keptStack], syscall.MADV_DONTNEED)
	}
	if s = keep(s); s != nil {
		_ = syscall.Munmap(s.mem)
	}
}

// keep keeps a stack for later, and gives one that is too many: the smallest, since a larger one does for all.
func keep(s *Stack) *Stack {
	stacks.Lock()
	defer stacks.Unlock()
	if len(stacks.free) < runtime.GOMAXPROCS(0) {
		stacks.free = append(stacks.free, s)
		return nil
	}
	for i, other := range stacks.free {
		if len(other.mem) < len(s.mem) {
			stacks.free[i], s = s, other
		}
	}
	return s
}

// onStackAddr is the address of the assembly that calls a kernel on another stack, as C sees it.
var onStackAddr uintptr

// On is what CallKernel calls for fn to run on the stack, which is the thread's for nil. It uses err until fn returns.
func (s *Stack) On(fn uintptr, err *abi.Error) uintptr {
	if s == nil {
		return fn
	}
	s.call.fn = fn
	err.Own = uintptr(unsafe.Pointer(&s.call))
	return onStackAddr
}
