package memory

import (
	"math/bits"
	goruntime "runtime"
	"sync"
	"unsafe"
)

// Small blocks are powers of two, cut from chunks that stay mapped, so a warm call on small tensors never
// enters the kernel. Larger ones are mappings of their own; some freed ones are kept for the next
// request of about that size, because fresh pages cost as much as a pass over the data: each is a fault and a memset.
const (
	minBlock     = Alignment
	maxSmall     = 64 << 10
	smallClasses = 11 // 64 << 0 to 64 << 10
	chunkBytes   = 1 << 20
	largeClass   = -1
	wrappedClass = -2
	deviceClass  = -3
	unifiedClass = -4

	pageBytes     = 4096
	minKept       = 256 << 20 // bytes of freed large blocks, on a machine of up to 2 GiB
	mostKept      = 2 << 30   // on one of 16 GiB and more
	maxKeptBlocks = 32
	hugeBytes     = 2 << 20 // of a huge page; mappings from this size on begin at one and ask for them
)

// maxKept is the most that freed large blocks may hold: an eighth of the machine's memory, within bounds.
var maxKept = sync.OnceValue(func() int64 {
	_, total := availableMemory()
	return min(max(total/8, minKept), mostKept)
})

// Allocated is the size of the block that a request gets.
func Allocated(bytes int64) int64 {
	if bytes > maxSmall {
		return (bytes + pageBytes - 1) &^ (pageBytes - 1)
	}
	return minBlock << classOf(bytes)
}

// allocator hands out blocks; the zero value is ready.
type allocator struct {
	mu    sync.Mutex
	free  [smallClasses][]*Storage
	chunk []byte // rest of the current chunk

	chunks int // that were mapped

	kept      []*Storage // freed large blocks, oldest first
	keptBytes int64
}

var heap allocator

func classOf(bytes int64) int {
	if bytes <= minBlock {
		return 0
	}
	return bits.Len64(uint64(bytes-1)) - bits.TrailingZeros64(minBlock)
}

// get returns a Storage without a reference.
func (a *allocator) get(bytes int64) (*Storage, error) {
	if bytes > maxSmall {
		return a.getLarge(bytes)
	}
	class := classOf(bytes)
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.free[class]; len(f) > 0 {
		s := f[len(f)-1]
		f[len(f)-1] = nil
		a.free[class] = f[:len(f)-1]
		return s, nil
	}
	size := int64(minBlock) << class
	if int64(len(a.chunk)) < size {
		if a.chunks > 0 { // the first is small beside the process, and most programs need no other
			if err := checkMemory(chunkBytes); err != nil {
				return nil, err
			}
		}
		chunk, err := mapPages(chunkBytes)
		if err != nil {
			return nil, &OutOfMemoryError{Bytes: bytes, Err: err}
		}
		a.retireChunk()
		a.chunk = chunk
		a.chunks++
	}
	s := adopt(block{ptr: unsafe.Pointer(&a.chunk[0]), bytes: size, class: class})
	a.chunk = a.chunk[size:]
	return s, nil
}

// retireChunk puts what is left of the current chunk on the free lists.
func (a *allocator) retireChunk() {
	for class := smallClasses - 1; class >= 0; class-- {
		size := int64(minBlock) << class
		for int64(len(a.chunk)) >= size {
			s := adopt(block{ptr: unsafe.Pointer(&a.chunk[0]), bytes: size, class: class})
			a.free[class] = append(a.free[class], s)
			a.chunk = a.chunk[size:]
		}
	}
}

func (a *allocator) getLarge(bytes int64) (*Storage, error) {
	if bytes > maxInt64-pageBytes {
		return nil, errTooManyBytes
	}
	size := Allocated(bytes)
	if s := a.takeKept(size); s != nil {
		return s, nil
	}
	err := checkMemory(size)
	if err != nil {
		// What is kept counts as used by this process.
		a.trim(0)
		err = checkMemory(size)
	}
	if err != nil {
		err.(*OutOfMemoryError).Bytes = bytes
		return nil, err
	}
	room := size
	if size >= hugeBytes {
		room += hugeBytes // to begin at a huge page; what is left over is never touched
	}
	mapped, err := mapPages(room)
	if err != nil {
		return nil, &OutOfMemoryError{Bytes: bytes, Err: err}
	}
	at := unsafe.Pointer(&mapped[0])
	if size >= hugeBytes {
		skip := -uintptr(at) & (hugeBytes - 1)
		adviseHuge(mapped[skip : int64(skip)+size])
		at = unsafe.Add(at, skip)
	}
	mappedBytes.Add(size)
	return adopt(block{ptr: at, bytes: size, class: largeClass, mapped: mapped}), nil
}

// takeKept returns the best fitting kept block that wastes at most a quarter, or nil.
func (a *allocator) takeKept(size int64) *Storage {
	a.mu.Lock()
	defer a.mu.Unlock()
	best := -1
	for i, s := range a.kept {
		if s.bytes >= size && s.bytes <= size+size/4 && (best < 0 || s.bytes < a.kept[best].bytes) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return a.dropKept(best)
}

// dropKept takes block i out of the list.
func (a *allocator) dropKept(i int) *Storage {
	s := a.kept[i]
	a.kept = append(a.kept[:i], a.kept[i+1:]...)
	a.kept[:len(a.kept)+1][len(a.kept)] = nil
	a.keptBytes -= s.bytes
	return s
}

// put takes back a block that no tensor uses.
func (a *allocator) put(s *Storage) {
	if s.class != largeClass {
		a.mu.Lock()
		a.free[s.class] = append(a.free[s.class], s)
		a.mu.Unlock()
		return
	}
	if s.bytes > maxKept()/2 {
		unmap(s)
		return
	}
	a.mu.Lock()
	a.kept = append(a.kept, s)
	a.keptBytes += s.bytes
	a.mu.Unlock()
	a.trim(maxKept())
}

// trim unmaps the oldest kept blocks until they hold at most limit bytes.
func (a *allocator) trim(limit int64) {
	for {
		a.mu.Lock()
		if a.keptBytes <= limit && len(a.kept) <= maxKeptBlocks {
			a.mu.Unlock()
			return
		}
		s := a.dropKept(0)
		a.mu.Unlock()
		unmap(s)
	}
}

// ReleaseUnused gives the memory of closed large tensors, of which some is kept for the next ones, back
// to the operating system.
func ReleaseUnused() { heap.trim(0) }

// unmap ends a large block. Its safety net goes first, so that it cannot fire for memory that is gone.
func unmap(s *Storage) {
	s.cleanup.Stop()
	mapped := s.mapped
	s.ptr, s.mapped = nil, nil
	mappedBytes.Add(-s.bytes)
	if err := unmapPages(mapped); err != nil {
		panic("BUG: runtime: giving memory back: " + err.Error())
	}
	goruntime.KeepAlive(s)
}
