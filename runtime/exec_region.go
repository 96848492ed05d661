package runtime

import (
	"sync"
	"unsafe"

	"healc/runtime/abi"
	"healc/runtime/objload"
)

// region is a kernel that runs on several threads. A frame has one and uses it again for each of its kernels,
// so that a call allocates none.
type region struct {
	piece func(begin, end int64) // run, as a value that is made once

	fn   uintptr
	bufs *unsafe.Pointer
	dims *int64

	mu    sync.Mutex
	begin int64 // of the piece that failed, -1 for none
	err   abi.Error
}

// region runs a kernel on the threads of the pool.
func (r *run) region(fr *frame, s *boundStep, bufs *unsafe.Pointer, dims *int64) error {
	g := &fr.region
	if g.piece == nil {
		g.piece = g.run
	}
	g.fn, g.bufs, g.dims, g.begin = s.fn, bufs, dims, -1
	if err := r.env.Pool.Run(s.outer, r.env.Pool.Grain(s.grain), s.align, g.piece); err != nil {
		return err
	}
	if g.begin >= 0 {
		return r.failure(&g.err)
	}
	return nil
}

// run is one piece of the kernel. Of several failures the one counts that one thread would have met first.
func (g *region) run(begin, end int64) {
	var e abi.Error
	objload.CallKernel(g.fn, g.bufs, g.dims, begin, end, &e)
	if e.Site != 0 {
		g.mu.Lock()
		if g.begin < 0 || begin < g.begin {
			g.begin, g.err = begin, e
		}
		g.mu.Unlock()
	}
}
