package device

import (
	"errors"
	"sync"
)

// Pool hands out memory of a device and keeps what is given back for later: an allocation of the driver waits for all
// work on the device. What is given back must not be in use any more, on any stream.
//
// Requests are rounded up, to a power of 2 up to 1 MiB and to a multiple of 2 MiB from there on, and are met by the
// smallest block that was given back and is at most a quarter too large. When the device has nothing left, the blocks
// that are kept go back to it, and it is asked once more.
type Pool struct {
	dev Device

	mu    sync.Mutex
	free  map[int64][]Ptr // by size
	sizes map[Ptr]int64   // of what is handed out
	kept  int64           // bytes in free
	live  int64           // bytes handed out
}

const (
	minBlock   = 512
	smallBlock = 1 << 20
	largeStep  = 2 << 20
)

// NewPool returns a pool for the memory of a device.
func NewPool(dev Device) *Pool {
	return &Pool{dev: dev, free: map[int64][]Ptr{}, sizes: map[Ptr]int64{}}
}

// Device is the device that the memory is of.
func (p *Pool) Device() Device { return p.dev }

// blockSize is the size of the block for a request.
func blockSize(bytes int64) int64 {
	if bytes > smallBlock {
		return (bytes + largeStep - 1) / largeStep * largeStep
	}
	size := int64(minBlock)
	for size < bytes {
		size *= 2
	}
	return size
}

// Get returns memory of at least that many bytes, and of one byte at least.
func (p *Pool) Get(bytes int64) (Ptr, error) {
	if p.dev.Info().Checked {
		return p.fresh(max(bytes, 1), false) // what is allocated anew is checked best
	}
	if bytes > 1<<62 {
		return 0, p.outOfMemory(bytes)
	}
	if at, ok := p.Take(bytes); ok {
		return at, nil
	}
	return p.fresh(blockSize(bytes), true)
}

// Take is Get of memory that was given back, if there is some: the device is not asked.
func (p *Pool) Take(bytes int64) (Ptr, bool) {
	if p.dev.Info().Checked || bytes > 1<<62 {
		return 0, false
	}
	size := blockSize(bytes)
	p.mu.Lock()
	defer p.mu.Unlock()
	best := int64(-1)
	for have, list := range p.free {
		if len(list) > 0 && have >= size && have <= size+size/4 && (best < 0 || have < best) {
			best = have
		}
	}
	if best < 0 {
		return 0, false
	}
	list := p.free[best]
	at := list[len(list)-1]
	p.free[best] = list[:len(list)-1]
	p.kept -= best
	p.handOut(at, best)
	return at, true
}

func (p *Pool) handOut(at Ptr, size int64) {
	p.sizes[at] = size
	p.live += size
}

// fresh asks the device for a block.
func (p *Pool) fresh(size int64, again bool) (Ptr, error) {
	at, err := p.dev.Alloc(size)
	var full *OutOfMemoryError
	if errors.As(err, &full) && again && p.Trim() == nil {
		at, err = p.dev.Alloc(size)
	}
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handOut(at, size)
	return at, nil
}

func (p *Pool) outOfMemory(bytes int64) error {
	free, err := p.dev.Available()
	if err != nil {
		free = -1
	}
	return &OutOfMemoryError{Device: p.dev.Info().Name, Bytes: bytes, Available: free}
}

// Put takes memory back.
func (p *Pool) Put(at Ptr) error {
	p.mu.Lock()
	size, ok := p.sizes[at]
	if !ok {
		p.mu.Unlock()
		panic("BUG: device: memory is given back that is not handed out")
	}
	delete(p.sizes, at)
	p.live -= size
	if !p.dev.Info().Checked {
		p.free[size] = append(p.free[size], at)
		p.kept += size
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	return p.dev.Free(at)
}

// Trim gives the memory that is kept back to the device. Others get memory meanwhile, as the driver may wait.
func (p *Pool) Trim() error {
	p.mu.Lock()
	free := p.free
	p.free, p.kept = map[int64][]Ptr{}, 0
	p.mu.Unlock()
	var first error
	for size, list := range free {
		for _, at := range list {
			err := p.dev.Free(at)
			if err == nil {
				continue
			}
			if first == nil {
				first = err
			}
			p.mu.Lock()
			p.free[size] = append(p.free[size], at)
			p.kept += size
			p.mu.Unlock()
		}
	}
	return first
}

// Live is how many bytes are handed out.
func (p *Pool) Live() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live
}

// Kept is how many bytes were given back and not yet to the device.
func (p *Pool) Kept() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}
