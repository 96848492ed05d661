package machine

import (
	"encoding/binary"

	"healc/codegen/gpu/ptx"
)

// Access is what a memory instruction does besides the value.
type Access struct {
	Space  ptx.Space
	Bytes  int // all together
	Atomic bool
	Write  bool
	Read   bool
	Cached bool // ld.global.nc
}

// Access is the region and offset of the bytes that a lane accesses at addr, after all checks. The region is locked
// until Unlock. last is the region that the lane before it accessed.
func (w *Warp) Access(a *Access, addr uint64, lane int, last *Region) (*Region, int) {
	r, off := last, 0
	if n := uint64(a.Bytes); last != nil && last.holds(addr, n) && addr%n == 0 && a.Space != ptx.Generic {
		off = int(addr - last.base)
	} else {
		r, off = w.find(a, addr, lane)
	}
	if w.block.parallel && r != w.block.worker.locked {
		w.lock(r)
	}
	w.check(a, r, off, lane)
	return r, off
}

// ReadAgain says whether another lane may read, without a check, what two lanes read and were checked for: they left
// the stamp of several, and one more changes nothing.
func (w *Warp) ReadAgain(r *Region) bool { return w.known == nil && !r.races.private }

// lock keeps other workers away from a region of global memory until Unlock, or until another region is locked.
func (w *Warp) lock(r *Region) {
	w.Unlock()
	if r.base >= globalBase && !r.readOnly {
		r.mu.Lock()
		w.block.worker.locked = r
	}
}

// Unlock ends the accesses of an instruction: other workers may have the region.
func (w *Warp) Unlock() {
	if r := w.block.worker.locked; r != nil {
		w.block.worker.locked = nil
		r.mu.Unlock()
	}
}

// holds says whether n bytes at addr are in a region that has an address, as local memory has none.
func (r *Region) holds(addr, n uint64) bool {
	off := addr - r.base
	return off < uint64(len(r.Data)) && off+n <= uint64(len(r.Data)) && !r.races.private
}

// find is the region and offset of the bytes that a lane accesses at addr. It stops when there is no such memory.
func (w *Warp) find(a *Access, addr uint64, lane int) (*Region, int) {
	n := uint64(a.Bytes)
	space, at := a.Space, addr
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
		w.Fault(Misaligned, lane, "an access of %d bytes at address %#x, which is not a multiple of %d", n, addr, n)
	}
	var regions []*Region
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
		if off := at - r.base; off < uint64(len(r.Data)) && off+n <= uint64(len(r.Data)) {
			if r.readOnly && a.Write {
				w.Fault(ReadOnly, lane, "a write to %s", r.name)
			}
			if space == ptx.Const && !r.readOnly {
				w.Fault(OutOfBounds, lane, "an access of %d bytes to constant memory at %#x, where %s is", n, addr,
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
	w.Fault(kind, lane, "an access of %d bytes of %s memory at address %#x: %s", n, space, addr, what)
	return nil, 0
}

// first is the first run that is not over for memory of the region: other blocks do not see shared memory.
func (w *Warp) first(r *Region) uint32 {
	if r.base < sharedWindow {
		return w.block.run
	}
	return w.block.firstRun
}

// check does all checks of an access of a lane but the bounds, and notes it. Region r is locked if several workers run.
func (w *Warp) check(a *Access, r *Region, off, lane int) {
	if r.races.private {
		// local memory: nobody else is there
		if a.Read && !r.isWritten(off, a.Bytes) {
			w.uninitialised(a, r, off, lane)
		}
		if a.Write {
			r.wrote(off, a.Bytes)
		}
		return
	}
	if w.block.races && !r.readOnly {
		first := w.first(r)
		if a.Cached {
			if s := r.cells(off, a.Bytes)[0].write; s.run() >= first {
				w.Fault(Race, lane, "ld.global.nc reads byte %d of %s, which this launch writes", off, r.name)
			}
		}
		if a.Write {
			w.raceWrite(r, off, a.Bytes, lane, first, a.Atomic)
		} else {
			w.raceRead(r, off, a.Bytes, lane, first, a.Atomic)
		}
	}
	// after the races: that nothing is there yet may be because of one
	if a.Read && r.written != nil && !r.isWritten(off, a.Bytes) {
		w.uninitialised(a, r, off, lane)
	}
	if a.Write {
		r.wrote(off, a.Bytes)
	}
}

func (w *Warp) uninitialised(a *Access, r *Region, off, lane int) {
	n := 0
	for n < a.Bytes && r.isWritten(off+n, 1) {
		n++
	}
	w.Fault(Uninitialised, lane, "a read of %d bytes at byte %d of %s (%d bytes), where byte %d was never written",
		a.Bytes, off, r.name, len(r.Data), off+n)
}

// localRegion is the local memory of a lane, from its first byte to what its frames use.
func (w *Warp) localRegion(a *Access, at uint64, lane int) (*Region, int) {
	r := w.local[lane]
	if r == nil || at+uint64(a.Bytes) > uint64(len(r.Data)) || at > uint64(len(r.Data)) {
		size := 0
		if r != nil {
			size = len(r.Data)
		}
		w.Fault(OutOfBounds, lane, "an access of %d bytes of local memory at byte %d of %d that are in use", a.Bytes,
			at, size)
	}
	return r, int(at)
}

// growLocal gives the lanes of m local memory up to size bytes, of which those from base on have no values.
func (w *Warp) growLocal(base, size int, m uint32) {
	if size == base {
		return
	}
	EachLane(m, func(i int) {
		r := w.local[i]
		if r == nil {
			r = &Region{name: "local memory"}
			r.races.private = true
			w.local[i] = r
		}
		for len(r.written)*64 < size {
			r.written = append(r.written, 0)
		}
		if size > cap(r.Data) {
			r.Data = append(make([]byte, 0, 2*size), r.Data...)
		}
		r.Data = r.Data[:size]
		for j := base; j < size; j++ {
			r.written[j/64] &^= 1 << (j % 64)
		}
	})
}

// GenericBase is what is added to an address in a state space to make it a generic one.
func GenericBase(s ptx.Space) uint64 {
	switch s {
	case ptx.Shared:
		return sharedWindow
	case ptx.Local:
		return localWindow
	}
	return 0
}

// InSpace says whether a generic address is in a state space.
func (w *Warp) InSpace(s ptx.Space, addr uint64) bool {
	switch s {
	case ptx.Shared:
		return addr-sharedWindow < windowSize
	case ptx.Local:
		return addr-localWindow < windowSize
	case ptx.Global:
		return addr >= globalBase
	}
	k := search(w.block.dev.regions, addr)
	return k >= 0 && w.block.dev.regions[k].readOnly
}

// Load reads a value of up to 8 bytes.
func Load(b []byte, n int) uint64 {
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

// Store writes one.
func Store(b []byte, n int, v uint64) {
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
