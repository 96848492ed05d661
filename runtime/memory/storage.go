package memory

import (
	goruntime "runtime"
	"sync/atomic"
	"unsafe"

	"healc/runtime/device"
)

// Alignment is the alignment in bytes of memory that this package allocates: a cache line, and a
// vector of AVX-512. Wrapped memory has whatever alignment its owner gave it.
const Alignment = 64

// Storage is a piece of memory with a reference count; tensors are views of it. Its memory lies outside
// the Go heap, so compiled code may hold its address, unless it wraps memory of somebody else.
//
// A Storage is born with one reference. Release drops one; with the last the memory goes back to the
// allocator at once, and the Storage must not be touched again.
type Storage struct {
	block
	refs    atomic.Int32
	cleanup goruntime.Cleanup

	owner   any    // wrapped memory: keeps it reachable
	release func() // wrapped memory: ends the loan

	readOnly bool // wrapped memory: a write would end the process

	dev  *Device    // of memory on a device, which has a ptr only when it is unified
	addr device.Ptr // its address there
}

// block is a piece of memory of the allocator: all that the safety net may know of a Storage, which must
// not be reachable from its own cleanup.
type block struct {
	ptr    unsafe.Pointer
	bytes  int64        // usable, at least what was asked for
	class  int          // size class, or largeClass, wrappedClass, deviceClass or unifiedClass
	mapped []byte       // largeClass: the mapping
	pinned *atomic.Bool // the address escaped to Go code, so only an explicit Release may free
}

// New returns memory for at least bytes bytes, with unspecified contents. The error is an
// *OutOfMemoryError when the machine does not have that much.
func New(bytes int64) (*Storage, error) {
	if bytes < 0 {
		return nil, errTooManyBytes
	}
	s, err := heap.get(bytes)
	if err != nil {
		return nil, err
	}
	s.refs.Store(1)
	notePeak(liveBytes.Add(s.bytes))
	return s, nil
}

// Wrap returns a Storage over bytes bytes at ptr that somebody else owns. Owner, which may be nil,
// is kept reachable as long as the Storage; release, which may be nil, is called once, with the last
// reference. Wrapped memory does not count as LiveBytes, and is not released by the garbage collector.
func Wrap(ptr unsafe.Pointer, bytes int64, owner any, release func()) *Storage {
	s := &Storage{block: block{ptr: ptr, bytes: bytes, class: wrappedClass}, owner: owner, release: release}
	s.refs.Store(1)
	return s
}

// Rewrap makes s a Storage over as many bytes at ptr, which is of the Go heap or outlives s. It does nothing and
// reports false unless s wraps memory that may be written and has no release, and has one reference, the caller's.
func (s *Storage) Rewrap(ptr unsafe.Pointer) bool {
	if s.class != wrappedClass || s.readOnly || s.release != nil || s.refs.Load() != 1 {
		return false
	}
	s.ptr, s.owner = ptr, nil // ptr keeps memory of the Go heap reachable
	return true
}

// WrapReadOnly is Wrap for memory that nobody may write.
func WrapReadOnly(ptr unsafe.Pointer, bytes int64, owner any, release func()) *Storage {
	s := Wrap(ptr, bytes, owner, release)
	s.readOnly = true
	return s
}

// Ptr is the address of the first byte; nil for memory that only a device reaches.
func (s *Storage) Ptr() unsafe.Pointer { return s.ptr }

// ReadOnly reports whether nobody may write the memory.
func (s *Storage) ReadOnly() bool { return s.readOnly }

// IsOwn reports whether the memory is a piece of this package's allocator for the host, which no other Storage shares.
func (s *Storage) IsOwn() bool { return s != nil && s.class >= largeClass }

// Bytes is the usable size.
func (s *Storage) Bytes() int64 { return s.bytes }

// Retain adds a reference.
func (s *Storage) Retain() {
	if s.refs.Add(1) <= 1 {
		panic("BUG: runtime: Retain of a released storage")
	}
}

// Release drops a reference and frees the memory with the last.
func (s *Storage) Release() {
	switch n := s.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("BUG: runtime: Release of a released storage")
	}
	if s.class == deviceClass {
		s.cleanup.Stop()
		s.dev.free(s.addr)
		return
	}
	if s.class == unifiedClass {
		s.cleanup.Stop()
		s.ptr = nil
		s.dev.freeUnified(s.addr, s.bytes)
		return
	}
	if s.class == wrappedClass {
		release := s.release
		s.ptr, s.owner, s.release = nil, nil, nil
		if release != nil {
			release()
		}
		return
	}
	liveBytes.Add(-s.bytes)
	s.pinned.Store(false)
	heap.put(s)
}

// Pin turns the safety net off: Go code has a slice of the memory, and the garbage collector cannot see
// whether it is still in use.
func (s *Storage) Pin() {
	if s.pinned != nil {
		s.pinned.Store(true)
	}
}

// adopt makes the Storage of a block and arms the safety net. A Storage keeps its net through all the
// lives that it has by way of the free lists, which keeps its cost off a warm allocation.
func adopt(b block) *Storage {
	b.pinned = new(atomic.Bool)
	s := &Storage{block: b}
	s.cleanup = goruntime.AddCleanup(s, reclaim, b)
	return s
}

// reclaim is the safety net: the last tensor on a block was forgotten. (A Storage on a free list is
// reachable, and one that the allocator gives up has its net removed.)
func reclaim(b block) {
	if b.pinned.Load() {
		return // a leak, which LiveBytes shows, is better than memory that vanishes under a slice
	}
	liveBytes.Add(-b.bytes)
	heap.put(adopt(b))
}

var liveBytes atomic.Int64

// LiveBytes is the memory of all storages that hold a reference, in bytes, rounded up to size classes:
// what a test compares before and after to find a tensor that nobody closed.
func LiveBytes() int64 { return liveBytes.Load() }

var peakBytes atomic.Int64

// notePeak remembers the most that live memory has been.
func notePeak(live int64) {
	for {
		peak := peakBytes.Load()
		if live <= peak || peakBytes.CompareAndSwap(peak, live) {
			return
		}
	}
}

// PeakBytes is the largest that LiveBytes has been since the start or the last ResetPeak.
func PeakBytes() int64 { return peakBytes.Load() }

// ResetPeak sets PeakBytes to LiveBytes.
func ResetPeak() { peakBytes.Store(liveBytes.Load()) }
