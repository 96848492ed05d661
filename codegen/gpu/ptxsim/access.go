package ptxsim

import (
	"encoding/binary"

	"healc/codegen/gpu/ptx"
)

// access is what a memory instruction does besides the value.
type access struct {
	space  ptx.Space
	bytes  int // all together
	atomic bool
	write  bool
	read   bool
	cached bool // ld.global.nc
}

// find is the region and offset of the bytes that a lane accesses at addr. It stops when there is no such memory.
// last is the region that the lane before it accessed.
func (w *warp) find(a *access, addr uint64, lane int, last *region) (*region, int) {
	n := uint64(a.bytes)
	if last != nil && !last.races.private {
		if off := addr - last.base; off < uint64(len(last.data)) && off+n <= uint64(len(last.data)) && addr%n == 0 &&
			a.space != ptx.Generic {
			return last, int(off)
		}
	}
	space, at := a.space, addr
	if space == ptx.Generic {
		switch {
		case addr-sharedWindow < windowSize:
			space, at = ptx.Shared, addr-sharedWindow
		case addr-localWindow < windowSize:
			space, at = ptx.Local, addr-localWindow
		default:
			space = ptx.Global
		}
	}
	if addr%n != 0 {
		w.fault(Misaligned, lane, "an access of %d bytes at address %#x, which is not a multiple of %d", n, addr, n)
	}
	var regions []*region
	switch space {
	case ptx.Shared:
		regions = w.block.shared
	case ptx.Local:
		return w.localRegion(a, at, lane)
	default:
		regions = w.block.dev.regions
	}
	i := search(regions, at)
	if i >= 0 {
		r := regions[i]
		if off := at - r.base; off < uint64(len(r.data)) && off+n <= uint64(len(r.data)) {
			if r.readOnly && a.write {
				w.fault(ReadOnly, lane, "a write to %s", r.name)
			}
			if space == ptx.Const && !r.readOnly {
				w.fault(OutOfBounds, lane, "an access of %d bytes to constant memory at %#x, where %s is", n, addr,
					r.name)
			}
			return r, int(off)
		}
	}
	kind, what := OutOfBounds, nearest(regions, at)
	if space != ptx.Shared {
		what = w.block.dev.explain(at)
		for _, s := range w.block.dev.freed {
			if at-s.base < s.size {
				kind = UseAfterFree
			}
		}
	}
	w.fault(kind, lane, "an access of %d bytes of %s memory at address %#x: %s", n, space, addr, what)
	return nil, 0
}

// first is the first run that is not over for memory of the region: other blocks do not see shared memory.
func (w *warp) first(r *region) uint32 {
	if r.base < sharedWindow {
		return w.block.run
	}
	return w.block.firstRun
}

// check does all checks of an access of a lane but the bounds, and notes it. Region r is locked if several workers run.
func (w *warp) check(a *access, r *region, off, lane int) {
	if r.races.private {
		// local memory: nobody else is there
		if a.read && !r.isWritten(off, a.bytes) {
			w.uninitialised(a, r, off, lane)
		}
		if a.write {
			r.wrote(off, a.bytes)
		}
		return
	}
	if w.block.races && !r.readOnly {
		first := w.first(r)
		if a.cached {
			if s := r.cells(off, a.bytes)[0].write; s.run() >= first {
				w.fault(Race, lane, "ld.global.nc reads byte %d of %s, which this launch writes", off, r.name)
			}
		}
		if a.write {
			w.raceWrite(r, off, a.bytes, lane, first, a.atomic)
		} else {
			w.raceRead(r, off, a.bytes, lane, first, a.atomic)
		}
	}
	// after the races: that nothing is there yet may be because of one
	if a.read && r.written != nil && !r.isWritten(off, a.bytes) {
		w.uninitialised(a, r, off, lane)
	}
	if a.write {
		r.wrote(off, a.bytes)
	}
}

func (w *warp) uninitialised(a *access, r *region, off, lane int) {
	n := 0
	for n < a.bytes && r.isWritten(off+n, 1) {
		n++
	}
	w.fault(Uninitialised, lane, "a read of %d bytes at byte %d of %s (%d bytes), where byte %d was never written",
		a.bytes, off, r.name, len(r.data), off+n)
}

// localRegion is the local memory of a lane, from its first byte to what its frames use.
func (w *warp) localRegion(a *access, at uint64, lane int) (*region, int) {
	r := w.local[lane]
	if r == nil || at+uint64(a.bytes) > uint64(len(r.data)) || at > uint64(len(r.data)) {
		size := 0
		if r != nil {
			size = len(r.data)
		}
		w.fault(OutOfBounds, lane, "an access of %d bytes of local memory at byte %d of %d that are in use", a.bytes,
			at, size)
	}
	return r, int(at)
}

// growLocal gives the lanes of m local memory up to size bytes, of which those from base on have no values.
func (w *warp) growLocal(base, size int, m uint32) {
	if size == base {
		return
	}
	each(m, func(i int) {
		r := w.local[i]
		if r == nil {
			r = &region{name: "local memory"}
			r.races.private = true
			w.local[i] = r
		}
		for len(r.written)*64 < size {
			r.written = append(r.written, 0)
		}
		if size > cap(r.data) {
			r.data = append(make([]byte, 0, 2*size), r.data...)
		}
		r.data = r.data[:size]
		for j := base; j < size; j++ {
			r.written[j/64] &^= 1 << (j % 64)
		}
	})
}

// load reads a value of up to 8 bytes.
func load(b []byte, n int) uint64 {
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// store writes one.
func store(b []byte, n int, v uint64) {
	switch n {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}
