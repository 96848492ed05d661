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
	def  *abi.Launch
	from int64 // where the part of the axis begins that pieces are of

	mu    sync.Mutex
	full  error // no memory for the stack of a piece
	begin int64 // of the piece that failed, -1 for none
	err   abi.Error
}

// region runs a part of a kernel on the threads of the pool.
func (r *run) region(fr *frame, s *boundStep, part span, bufs *unsafe.Pointer, dims *int64) error {
	g := &fr.region
	if g.piece == nil {
		g.piece = g.run
	}
	g.def, g.from = s.def.Launch, part.begin
	n := part.end - part.begin
	g.code, g.stop, g.long, g.bufs, g.dims, g.begin = s.code, r.stopper(s), s.long, bufs, dims, -1
	piece := g.piece
	if r.trace != nil {
		piece = r.trace.piece(g.def.Kernel, piece)
	}
	if now := r.env.Now; now != nil {
		now.Share(n)
		whole := piece
		piece = func(begin, end int64) {
			whole(begin, end)
			now.Did(end - begin)
		}
	}
	if err := r.env.Pool.Run(n, r.env.Pool.Grain(s.grain), s.align, n >= s.rouse, piece); err != nil {
		return err
	}
	if g.stop != nil && g.stop.Stopped() {
		return Ended(r.env.Ctx)
	}
	if err := g.full; err != nil {
		g.full = nil
		return err
	}
	if g.begin >= 0 {
		return r.failure(&g.err)
	}
	return nil
}

// run is one piece of the kernel. Of several failures the one counts that one thread would have met first.
func (g *region) run(begin, end int64) {
	stack, err := takeStack(g.def)
	if err != nil {
		g.mu.Lock()
		g.full = err
		g.mu.Unlock()
		return
	}
	defer stack.Give()
	begin, end = g.from+begin, g.from+end
	var e abi.Error
	fn := stack.On(g.code.fn, &e)
	if g.stop == nil || end-begin < g.long && !g.stop.Stopped() {
		objload.CallKernel(fn, g.bufs, g.dims, begin, end, &e)
	} else if !g.stop.CallKernel(g.code.image, fn, g.bufs, g.dims, begin, end, &e) {
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
