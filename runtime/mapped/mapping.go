//go:build linux && (amd64 || arm64)

package mapped

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"healc/runtime/memory"
)

// Note [Failing pages]
//
// A page of a mapped file that cannot be read, since the disk fails or the file ends before it, is a SIGBUS for the
// thread that reads it. The handler (fault_*.s) looks for the address in a table of the ranges of this package. Where
// it is in one, the handler marks the range, maps zeros from that page to the range's end, and returns, so that the
// instruction is done again and the thread goes on: a kernel, a function of the C library and Go code alike, on any
// stack. Whoever has the range asks whether it failed before anybody sees what was computed from it.
//
// Every other SIGBUS goes to the handler that was there before, which is that of Go: the handler jumps to it with the
// registers, the stack and the mask that it would have had.
//
// The handler takes no lock. An entry of the table is there when it has a start, which is written last and removed
// first, so that one whose start is the same before and after its end was read is whole.

// entry is a range that the handler knows. The assembly knows the layout.
type entry struct {
	lo, hi uintptr // whole pages; lo is 0 where there is no range
	failed uint64
	_      uint64
}

const (
	maxRanges = 1024    // at a time; more are not mapped
	hugeBytes = 2 << 20 // of a huge page
)

var (
	ranges     [maxRanges]entry
	rangesUsed int64        // ranges[rangesUsed:] was never used; the handler looks no further
	pageMask   = -pageBytes // of addresses
	chained    uintptr      // the handler that was there before

	table sync.Mutex // of those who change the above

	pageBytes = uintptr(os.Getpagesize())
)

// mapping is bytes of a file that are mapped.
type mapping struct {
	entry  *entry
	memory []byte // whole pages but for the end
	skip   int64  // bytes before the first
}

// newMapping maps bytes bytes of f, from an offset on, to be read; the pages come from the file as they are touched.
// The file may be closed. What others write to it may show: see Hold.
func newMapping(f *os.File, offset, bytes int64) (*mapping, error) {
	if bytes <= 0 || offset < 0 {
		return nil, errors.ErrUnsupported
	}
	table.Lock()
	defer table.Unlock()
	e := free()
	if e == nil || !catchFaults() {
		return nil, errors.ErrUnsupported
	}
	skip := offset % int64(pageBytes)
	memory, err := syscall.Mmap(int(f.Fd()), offset-skip, int(skip+bytes), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	lo := uintptr(unsafe.Pointer(&memory[0]))
	atomic.StoreUint64(&e.failed, 0)
	atomic.StoreUintptr(&e.hi, (lo+uintptr(len(memory))+pageBytes-1)&pageMask)
	atomic.StoreUintptr(&e.lo, lo)
	return &mapping{entry: e, memory: memory, skip: skip}, nil
}

// free is an entry of the table without a range, or nil.
func free() *entry {
	used := atomic.LoadInt64(&rangesUsed)
	for i := range used {
		if ranges[i].lo == 0 {
			return &ranges[i]
		}
	}
	if used == maxRanges {
		return nil
	}
	atomic.StoreInt64(&rangesUsed, used+1)
	return &ranges[used]
}

// ptr is the address of the first byte, valid until unmap.
func (r *mapping) ptr() unsafe.Pointer { return unsafe.Pointer(&r.memory[r.skip]) }

// failed reports whether a page could not be read, and zeros stand there and behind it.
func (r *mapping) failed() bool { return atomic.LoadUint64(&r.entry.failed) != 0 }

// own puts a copy of the memory in its place, which is the process's own, while others read the memory. Pages that the
// process has written in a private mapping of the file would not do: they go when the file is shortened.
func (r *mapping) own() error {
	to, size := unsafe.Pointer(&r.memory[0]), uintptr(len(r.memory))
	room, err := unix.MmapPtr(-1, 0, nil, size+hugeBytes, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	// Huge pages are moved whole where the copy lies in them as it will.
	before := (uintptr(to) - uintptr(room)) % hugeBytes
	at := unsafe.Add(room, before)
	copied := unsafe.Slice((*byte)(at), size)
	_ = unix.Madvise(copied, unix.MADV_HUGEPAGE) // advice
	shape, one := []int64{int64(size)}, []int64{1}
	memory.Copy(memory.Array{Ptr: at, Size: 1, Shape: shape, Strides: one},
		memory.Array{Ptr: to, Size: 1, Shape: shape, Strides: one})
	if err = unix.Mprotect(copied, unix.PROT_READ); err == nil {
		// One call: whoever reads meanwhile finds one or the other.
		_, err = unix.MremapPtr(at, size, to, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED)
	}
	if err != nil {
		return errors.Join(err, unix.MunmapPtr(room, size+hugeBytes))
	}
	// What is left of the room before and behind: between them, there may be something of others by now.
	behind := (before + size + pageBytes - 1) & pageMask
	if before > 0 {
		err = unix.MunmapPtr(room, before)
	}
	return errors.Join(err, unix.MunmapPtr(unsafe.Add(room, behind), size+hugeBytes-behind))
}

// clear puts zeros in the place of the memory, while others read it.
func (r *mapping) clear() {
	at := unsafe.Pointer(&r.memory[0])
	if _, err := unix.MmapPtr(-1, 0, at, uintptr(len(r.memory)), unix.PROT_READ,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED); err != nil {
		panic("BUG: mapped: mmap: " + err.Error())
	}
}

// unmap ends the range. Nobody uses the memory any more, nor asks the range.
func (r *mapping) unmap() {
	table.Lock()
	defer table.Unlock()
	atomic.StoreUintptr(&r.entry.lo, 0)
	if err := syscall.Munmap(r.memory); err != nil {
		panic("BUG: mapped: munmap: " + err.Error())
	}
	r.memory = nil
}

// faultHandlerAddr is the address of the handler, as C sees it.
var faultHandlerAddr uintptr

// sigaction is what the system takes.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	saSiginfo = 0x4
	saOnStack = 0x08000000
)

// catchFaults makes the handler that of SIGBUS. It is asked each time, as a program may have put the former one back.
// Where there is none, or one of somebody else's, which may go on to ours, nothing is changed.
func catchFaults() bool {
	var now sigaction
	switch {
	case !setAction(nil, &now) || now.handler <= 1: // none: the default, or ignored
		return false
	case now.handler == faultHandlerAddr:
		return true
	case chained == 0:
		atomic.StoreUintptr(&chained, now.handler)
	case chained != now.handler:
		return false
	}
	now.handler = faultHandlerAddr
	now.flags |= saSiginfo | saOnStack
	return setAction(&now, nil)
}

func setAction(to, from *sigaction) bool {
	_, _, err := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGBUS), uintptr(unsafe.Pointer(to)),
		uintptr(unsafe.Pointer(from)), 8, 0, 0)
	return err == 0
}
