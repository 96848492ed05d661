package ptxsim

import "healc/codegen/gpu/ptx"

// pendingCopy is a cp.async whose bytes did not arrive yet. They arrive when the thread waits for them, as late as the
// hardware may deliver them, and until then every access to the place is a race.
type pendingCopy struct {
	dst, src *region
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

// cp is cp.async with its groups. Its other forms, for bulks and tensors, are not there.
func (c *compiler) cp() {
	if !c.has("async") {
		c.errorf("cp is .async")
	}
	switch c.mod("commit_group", "wait_group", "wait_all") {
	case "commit_group":
		c.operands(0)
		c.o.run = func(w *warp, m uint32) { each(m, func(i int) { w.copies[i].group++ }) }
	case "wait_group":
		c.operands(1)
		n := c.in.Operands[0]
		if n.Kind != ptx.IntegerOperand || n.Bits > 1<<20 {
			c.errorf("cp.async.wait_group needs a number of groups")
		}
		c.o.run = func(w *warp, m uint32) {
			each(m, func(i int) { w.deliver(i, w.copies[i].group-int(n.Bits)) })
		}
	case "wait_all":
		c.operands(0)
		c.o.run = func(w *warp, m uint32) {
			each(m, func(i int) { w.deliver(i, w.copies[i].group+1) })
		}
	default:
		c.copyAsync()
	}
}

func (c *compiler) copyAsync() {
	cache := c.mod("ca", "cg")
	if cache == "" || c.mod("shared", "shared::cta") == "" || !c.has("global") {
		c.errorf("cp.async is .ca.shared.global or .cg.shared.global")
	}
	c.mod("L2::64B", "L2::128B", "L2::256B")
	if n := len(c.in.Operands); n != 3 && n != 4 {
		c.errorf("cp.async has 3 or 4 operands, not %d", n)
	}
	size := c.in.Operands[2]
	if size.Kind != ptx.IntegerOperand || size.Bits != 16 && (cache == "cg" || size.Bits != 4 && size.Bits != 8) {
		c.errorf("cp.async.%s does not copy %d bytes", cache, size.Bits)
	}
	to, addTo := c.address(c.in.Operands[0])
	from, addFrom := c.address(c.in.Operands[1])
	count := int32(-1)
	if len(c.in.Operands) == 4 {
		count = c.src(3, ptx.U32)
	}
	c.o.effect = true
	write := access{space: ptx.Shared, bytes: int(size.Bits), write: true}
	aligned := access{space: ptx.Global, bytes: int(size.Bits), read: true}
	c.o.run = func(w *warp, m uint32) {
		each(m, func(i int) {
			dst, at := w.find(&write, w.vals[to][i]+addTo, i, nil)
			n := write.bytes
			if count >= 0 {
				n = int(min(w.vals[count][i], uint64(n)))
			}
			k := &w.copies[i]
			p := pendingCopy{dst: dst, to: at, n: n, size: write.bytes, group: k.group}
			if n > 0 {
				src := w.vals[from][i] + addFrom
				if src%uint64(write.bytes) != 0 {
					w.fault(Misaligned, i, "a copy of %d bytes from address %#x", write.bytes, src)
				}
				// what is read may be less than what is aligned
				read := aligned
				for read.bytes = 1; 2*read.bytes <= n && n%(2*read.bytes) == 0; {
					read.bytes *= 2
				}
				p.src, p.from = w.find(&read, src, i, nil)
				if p.from+n > len(p.src.data) {
					w.fault(OutOfBounds, i, "a copy of %d bytes from byte %d of %s, which has %d", n, p.from,
						p.src.name, len(p.src.data))
				}
				for b := 0; b < n; b += read.bytes {
					w.check(&read, p.src, p.from+b, i)
				}
			}
			if w.block.races {
				w.raceWrite(dst, at, write.bytes, i, w.first(dst), false)
				w.restamp(dst, at, write.bytes, stamp(w.block.run)<<32|notWaited)
			}
			k.pending = append(k.pending, p)
		})
	}
}

// restamp sets the last write of a place.
func (w *warp) restamp(r *region, off, n int, s stamp) {
	cells := r.cells(off, n)
	for i := range cells {
		cells[i].write = s
	}
}

// deliver makes the copies of a lane arrive that are in groups before one.
func (w *warp) deliver(i, group int) {
	k := &w.copies[i]
	rest := k.pending[:0]
	for _, p := range k.pending {
		if p.group >= group {
			rest = append(rest, p)
			continue
		}
		dst := p.dst.data[p.to : p.to+p.size]
		clear(dst)
		if p.n > 0 {
			copy(dst[:p.n], p.src.data[p.from:])
		}
		p.dst.wrote(p.to, p.size)
		if w.block.races {
			w.restamp(p.dst, p.to, p.size, w.stamp(i))
		}
	}
	k.pending = rest
}
