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

	code kernelCode
	stop *objload.Stop // nil: it is not stopped
	long int64         // indices of a piece that can be stopped before its end
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
	g.code, g.stop, g.long, g.bufs, g.dims, g.begin = s.code, r.stopper(s), s.long, bufs, dims, -1
	if err := r.env.Pool.Run(s.outer, r.env.Pool.Grain(s.grain), s.align, g.piece); err != nil {
		return err
	}
	if g.stop != nil && g.stop.Stopped() {
		return Ended(r.env.Ctx)
	}
	if g.begin >= 0 {
		return r.failure(&g.err)
	}
	return nil
}

// run is one piece of the kernel. Of several failures the one counts that one thread would have met first.
func (g *region) run(begin, end int64) {
	var e abi.Error
	if g.stop == nil || end-begin < g.long && !g.stop.Stopped() {
		objload.CallKernel(g.code.fn, g.bufs, g.dims, begin, end, &e)
	} else if !g.stop.CallKernel(g.code.image, g.code.fn, g.bufs, g.dims, begin, end, &e) {
		return
	}
	if e.Site != 0 {
		g.mu.Lock()
		if g.begin < 0 || begin < g.begin {
			g.begin, g.err = begin, e
		}
		g.mu.Unlock()
	}
}
