package pool

import (
	"math/bits"
	goruntime "runtime"
	"syscall"
	"unsafe"
)

// getcpu is the number of that system call, which package syscall lacks; 0 where nobody has looked it up.
var getcpu = map[string]uintptr{"amd64": 309, "arm64": 168}[goruntime.GOARCH]

// processors is a set as the system knows them.
type processors [16]uint64

// processor is the one that runs the caller, or -1.
func processor() int32 {
	var n uint32
	if getcpu == 0 {
		return -1
	}
	if _, _, err := syscall.RawSyscall(getcpu, uintptr(unsafe.Pointer(&n)), 0, 0); err != 0 {
		return -1
	}
	return int32(n)
}

// affinity asks for the processors of a thread of the system, or sets them.
func affinity(call uintptr, thread int, set *processors) bool {
	_, _, err := syscall.RawSyscall(call, uintptr(thread), unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set)))
	return err == 0
}

// leave moves the caller to another processor when it is on this one and there are as many as threads. Afterwards it
// may run where it could before.
func leave(this int32, threads int) {
	if this < 0 || processor() != this {
		return
	}
	// Go may continue on another thread in between, and what is set has to be restored where it was: the thread has a
	// name. (To lock it makes Go start threads for the goroutines that it keeps out, which allocates.)
	thread := syscall.Gettid()
	var may processors
	if !affinity(syscall.SYS_SCHED_GETAFFINITY, thread, &may) {
		return
	}
	others, n := may, 0
	for _, w := range may {
		n += bits.OnesCount64(w)
	}
	if n < max(threads, 2) || int(this) >= 64*len(others) {
		return
	}
	others[this/64] &^= 1 << (this % 64)
	if affinity(syscall.SYS_SCHED_SETAFFINITY, thread, &others) {
		affinity(syscall.SYS_SCHED_SETAFFINITY, thread, &may)
	}
}
