package runtime

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

func affinity(call uintptr, set *processors) bool {
	_, _, err := syscall.RawSyscall(call, 0, unsafe.Sizeof(*set), uintptr(unsafe.Pointer(set)))
	return err == 0
}

// leave moves the caller to another processor when it is on this one and there are as many as threads. Afterwards it may run where
// it could before.
func leave(this int32, threads int) {
	if this < 0 || processor() != this {
		return
	}
	goruntime.LockOSThread() // what follows is about one thread of the system
	defer goruntime.UnlockOSThread()
	var may processors
	if !affinity(syscall.SYS_SCHED_GETAFFINITY, &may) {
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
	if affinity(syscall.SYS_SCHED_SETAFFINITY, &others) {
		affinity(syscall.SYS_SCHED_SETAFFINITY, &may)
	}
}
