package machine

import "healc/codegen/gpu/ptx"

// pendingCopy is a cp.async whose bytes did not arrive yet. They arrive when the thread waits for them, as late as the
// hardware may deliver them, and until then every access to the place is a race.
type pendingCopy struct {
	dst, src *Region
	to, from int
	n, size  int // bytes that are copied, and bytes that are written: the rest is zero
	group    int
}

// asyncCopies are those of one lane.
type asyncCopies struct {
	group   int // the one that the next commit closes
	pending []pendingCopy
}

// notWaited is the stamp of a place that a cp.async will write: no access is ordered after it.
const notWaited stamp = severalWarps<<29 | maxClock

// CopyAsync begins a copy of n bytes of global memory to shared memory by a lane. What is left of size bytes becomes
// zero.
func (w *Warp) CopyAsync(lane int, to, from uint64, n, size int) {
	write := Access{Space: ptx.Shared, Bytes: size, Write: true}
	dst, at := w.find(&write, to, lane)
	k := &w.copies[lane]
	p := pendingCopy{dst: dst, to: at, n: n, size: size, group: k.group}
	if n > 0 {
		if from%uint64(size) != 0 {
			w.Fault(Misaligned, lane, "a copy of %d bytes from address %#x", size, from)
		}
		// what is read may be less than what is aligned
		read := Access{Space: ptx.Global, Bytes: 1, Read: true}
		for 2*read.Bytes <= n && n%(2*read.Bytes) == 0 {
			read.Bytes *= 2
		}
		p.src, p.from = w.find(&read, from, lane)
		if p.from+n > len(p.src.Data) {
			w.Fault(OutOfBounds, lane, "a copy of %d bytes from byte %d of %s, which has %d", n, p.from, p.src.name,
				len(p.src.Data))
		}
		for b := 0; b < n; b += read.Bytes {
			w.check(&read, p.src, p.from+b, lane)
		}
	}
	if w.block.races {
		w.raceWrite(dst, at, size, lane, w.first(dst), false)
		w.restamp(dst, at, size, stamp(w.block.run)<<32|notWaited)
	}
	k.pending = append(k.pending, p)
}

// CommitCopies closes the group of copies that a lane began.
func (w *Warp) CommitCopies(lane int) { w.copies[lane].group++ }

// WaitForCopies makes the copies of a lane arrive, all but those of the last groups, which are so many; -1 leaves none,
// not even the copies of the group that is not closed.
func (w *Warp) WaitForCopies(lane, groups int) { w.deliver(lane, w.copies[lane].group-groups) }

// restamp sets the last write of a place.
func (w *Warp) restamp(r *Region, off, n int, s stamp) {
	cells := r.cells(off, n)
	for i := range cells {
		cells[i].write = s
	}
}

// deliver makes the copies of a lane arrive that are in groups before one.
func (w *Warp) deliver(i, group int) {
	k := &w.copies[i]
	rest := k.pending[:0]
	for _, p := range k.pending {
		if p.group >= group {
			rest = append(rest, p)
			continue
		}
		dst := p.dst.Data[p.to : p.to+p.size]
		clear(dst)
		if p.n > 0 {
			copy(dst[:p.n], p.src.Data[p.from:])
		}
		p.dst.wrote(p.to, p.size)
		if w.block.races {
			w.restamp(p.dst, p.to, p.size, w.stamp(i))
		}
	}
	k.pending = rest
}
