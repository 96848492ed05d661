//go:build linux && (amd64 || arm64)

package objload

import (
	"os"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"healc/runtime/abi"
)

// Note [Stopping]
//
// A kernel is stopped without its help: no loop looks at a flag, so the code is the same and as fast as if nothing
// could stop it. What makes that right is the contract of package abi: a kernel allocates nothing, holds nothing and
// touches nothing but its buffers, so that it can be left at any instruction, as a function that returns. The buffers
// hold whatever they hold then, which is what an error says of them.
//
// A thread that begins a kernel writes its number, and where its stack is, into a slot. Whoever stops the call sends
// a signal to the threads in its slots. The handler (stop_*.s) runs on the thread, looks whether the thread is in the
// code of that kernel, and if so goes on where the kernel would return to, with the registers that a caller expects.
// Where the thread is elsewhere (it has just come back, or is in a function of the C library, such as memset) nothing
// happens, and the signal comes again, every half millisecond, until the call has ended.
//
// The signal is one of the real-time signals, whose handler is this one from the first time that something is stopped.
// A process that never stops a kernel keeps its signals as they are.

// slot is where a thread says that it runs a kernel that may be stopped. The assembly knows the layout.
type slot struct {
	thread uint64  // the system's number of it
	stack  uintptr // where its stack is when the kernel returns; 0: it runs none
	lo, hi uintptr // the code that may be left
	wanted uint64  // 1: leave it; 2: it was left
	owner  *Stop
	_      [16]byte // a cache line each
}

const maxSlots = 1024 // kernels beyond so many at a time are not stopped

var (
	slots     [maxSlots]slot
	slotsUsed int64 // slots[slotsUsed:] was never used; the handler looks no further

	stops struct {
		sync.Mutex
		free []int // of slots[:slotsUsed]
	}
)

// Stop stops the kernels of a call. The zero Stop is ready.
type Stop struct {
	stopped atomic.Bool
	closed  bool // with the lock of stops
}

// Stopped says whether Now was called.
func (s *Stop) Stopped() bool { return s.stopped.Load() }

// Now ends all kernels that run under s, soon, and lets none begin. It returns at once.
func (s *Stop) Now() {
	if !s.stopped.Swap(true) {
		go s.pursue()
	}
}

// Close says that no kernel of s runs any more or will.
func (s *Stop) Close() {
	stops.Lock()
	s.closed = true
	stops.Unlock()
}

// pursue sends signals until s is closed.
func (s *Stop) pursue() {
	for s.signal() {
		time.Sleep(500 * time.Microsecond)
	}
}

func (s *Stop) signal() (more bool) {
	stops.Lock()
	defer stops.Unlock()
	if s.closed {
		return false
	}
	installed := false
	for i := range atomic.LoadInt64(&slotsUsed) {
		t := &slots[i]
		if t.owner != s || atomic.LoadUintptr(&t.stack) == 0 {
			continue
		}
		if installed = installed || catchStops(); !installed {
			return false
		}
		if !atomic.CompareAndSwapUint64(&t.wanted, 0, 1) && atomic.LoadUint64(&t.wanted) != 1 {
			continue // it was left meanwhile
		}
		// A thread that has ended meanwhile runs no kernel.
		_, _, err := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(atomic.LoadUint64(&t.thread)),
			uintptr(stopSignal))
		if err == syscall.EINVAL {
			nextSignal = stopSignal - 1
			stopSignal, installed = 0, false
		}
	}
	return true
}

// begin takes a slot, -1 where there is none.
func (s *Stop) begin(img *Image) int {
	stops.Lock()
	defer stops.Unlock()
	i := int(slotsUsed)
	if n := len(stops.free); n > 0 {
		i = stops.free[n-1]
		stops.free = stops.free[:n-1]
	} else if i == maxSlots {
		return -1
	} else {
		atomic.StoreInt64(&slotsUsed, int64(i)+1)
	}
	t := &slots[i]
	t.owner, t.lo, t.hi, t.wanted = s, img.text[0], img.text[1], 0
	return i
}

// end gives the slot back.
func (s *Stop) end(i int) {
	stops.Lock()
	defer stops.Unlock()
	slots[i].owner = nil
	stops.free = append(stops.free, i)
}

// CallKernel is CallKernel for a kernel of img that s may stop. It reports whether the kernel ran to its end.
func (s *Stop) CallKernel(img *Image, fn uintptr, bufs *unsafe.Pointer, dims *int64, begin, end int64,
	err *abi.Error) (finished bool) {
	if s.Stopped() {
		return false
	}
	i := s.begin(img)
	if i < 0 {
		CallKernel(fn, bufs, dims, begin, end, err)
		return true
	}
	f := stoppableFrame{kernelFrame{fn: fn, bufs: bufs, dims: dims, begin: begin, end: end, err: err}, &slots[i]}
	cgocall(enterStoppableAddr, unsafe.Pointer(&f))
	left := atomic.LoadUint64(&slots[i].wanted) == 2
	s.end(i)
	return !left
}

// stoppableFrame is a kernelFrame with the slot of the call.
type stoppableFrame struct {
	kernelFrame
	slot *slot
}

// enterStoppableAddr is the address of the assembly that takes a *stoppableFrame, stopHandlerAddr of the handler of
// the signal, stopReturnAddr of what it returns to, as C sees them.
var enterStoppableAddr, stopHandlerAddr, stopReturnAddr uintptr

// sigaction is what the system takes. Processors without a restorer ignore it.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	saSiginfo  = 0x4
	saRestorer = 0x04000000
	saOnStack  = 0x08000000
	saRestart  = 0x10000000

	lastSignal  = 64
	firstSignal = 40 // those before are of C libraries
)

var (
	stopSignal int              // 0: none yet
	nextSignal = lastSignal - 2 // the first to look at
)

// catchStops makes the handler that of a signal which nobody else uses: one that has the handler that Go gives to all
// signals, or none. It is asked each time, as a program may have changed all handlers in between. Emulators know some
// signals that cannot be sent, which shows when one is: then another is taken.
func catchStops() bool {
	action := sigaction{handler: stopHandlerAddr, flags: saSiginfo | saOnStack | saRestart, mask: ^uint64(0)}
	if goruntime.GOARCH == "amd64" {
		action.flags |= saRestorer
		action.restorer = stopReturnAddr
	}
	if stopSignal != 0 {
		return setAction(stopSignal, &action, nil)
	}
	var usual, now sigaction
	if !setAction(int(syscall.SIGURG), nil, &usual) {
		return false
	}
	for sig := nextSignal; sig >= firstSignal; sig-- {
		if setAction(sig, nil, &now) && (now.handler == 0 || now.handler == usual.handler) {
			stopSignal = sig
			return setAction(sig, &action, nil)
		}
	}
	return false
}

func setAction(sig int, to, from *sigaction) bool {
	_, _, err := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(to)),
		uintptr(unsafe.Pointer(from)), 8, 0, 0)
	return err == 0
}
