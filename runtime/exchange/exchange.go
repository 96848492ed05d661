// Package exchange moves the parts of tensors between ranks. A tensor is cut into blocks along one axis, block r for
// rank r; every function is called by all ranks alike, with the bytes of their own parts, in row-major order.
//
// In: bytes and how they lie. Out: bytes, moved by a cluster.Comm. Nothing here knows numbers: no sum is made here, so
// no result depends on the number of ranks.
package exchange

import (
	"fmt"
	"math/bits"
	"slices"

	"healc/runtime/cluster"
)

// Blocks says which ranks have what of an axis: rank r has the elements from r * Block - Origin on, Block of them,
// those of which that are from 0 on and before Extent. The origin is not 0 for the inner part of an axis, of which each
// rank has what it has of the whole.
type Blocks struct{ Extent, Block, Origin int64 }

// CutFor is how an axis of this extent is cut for so many ranks: into blocks of equal length, the last ones shorter or
// empty. The length is a multiple of the largest power of two, 4096 at most, of which there are 16 in it: so that the
// blocks begin where chunks of a reduction do, where that leaves no rank with much less than others.
func CutFor(extent int64, ranks int) Blocks {
	n := (extent + int64(ranks) - 1) / int64(ranks)
	unit := int64(1)
	for unit < 4096 && 32*unit <= n {
		unit *= 2
	}
	return Blocks{Extent: extent, Block: max((n+unit-1)/unit*unit, 1)}
}

// Of is what rank r has: the elements from lo on and before hi.
func (b Blocks) Of(rank int) (lo, hi int64) {
	lo = int64(rank)*b.Block - b.Origin
	within := func(n int64) int64 { return min(max(n, 0), b.Extent) }
	return within(lo), within(lo + b.Block)
}

// Len is how many elements rank r has.
func (b Blocks) Len(rank int) int64 {
	lo, hi := b.Of(rank)
	return hi - lo
}

// Layout is how a tensor lies that is cut along one axis: Outer times Extent times Inner bytes.
type Layout struct {
	Outer int64
	Blocks
	Inner int64
}

// box is a part of a tensor of bytes.
type box struct {
	bytes      []byte
	dims, from [5]int64
}

// copyBox copies a part of the given extents from one tensor to another.
func copyBox(to, from box, size [5]int64) {
	for _, n := range size {
		if n == 0 {
			return
		}
	}
	// Trailing axes that are whole in both are one run of bytes.
	run, last := size[4], 4
	for last > 0 && size[last] == to.dims[last] && size[last] == from.dims[last] {
		last--
		run *= size[last]
	}
	var at [5]int64
	offset := func(b *box) int64 {
		n := int64(0)
		for k, d := range b.dims {
			i := b.from[k]
			if k < last {
				i += at[k]
			}
			n = n*d + i
		}
		return n
	}
	for {
		copy(to.bytes[offset(&to):][:run], from.bytes[offset(&from):][:run])
		k := last - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < size[k] {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// rows is a tensor of n elements of the axis, from which on a part of it is meant.
func (l Layout) rows(bytes []byte, n, from int64) box {
	return box{bytes, [5]int64{l.Outer, n, 1, 1, l.Inner}, [5]int64{1: from}}
}

func (l Layout) size(n int64) [5]int64 { return [5]int64{l.Outer, n, 1, 1, l.Inner} }

// bytes is how many bytes n elements of the axis have.
func (l Layout) bytes(n int64) int { return int(l.Outer * n * l.Inner) }

// An End is the second half of an exchange: it waits for the data and puts them in their places.
type End func() error

// both makes an exchange in one piece.
func both(end End, err error) error {
	if err != nil {
		return err
	}
	return end()
}

// Gather gives every rank the whole tensor.
func Gather(c cluster.Comm, l Layout, part, whole []byte) error {
	return Fetch(c, l, part, 0, l.Extent, whole)
}

// mostApart is how many ranks gather by a message to each other one. With more, that takes longer than the rounds of a
// library, the logarithm of their number.
const mostApart = 16

// GathersApart reports whether so many ranks gather in halves, between which kernels run. It follows from their number
// and from whether all are asked to, since all have to gather in the same way, and kernels that run meanwhile may
// differ from rank to rank.
func GathersApart(ranks int, asked bool) bool { return ranks <= mostApart || asked }

// GatherRounds is how many messages follow each other until every rank has all parts.
func GatherRounds(ranks int, apart bool) int64 {
	if GathersApart(ranks, apart) {
		return int64(ranks - 1)
	}
	return int64(bits.Len(uint(ranks - 1)))
}

// BeginGather is the first half of Gather. part may change from then on; whole is there after the second.
func BeginGather(c cluster.Comm, l Layout, part, whole []byte) (End, error) {
	n, me := c.Size(), c.Rank()
	all := whole
	if l.Outer > 1 {
		all = make([]byte, len(whole))
	}
	parts := make([][]byte, n)
	for r := range n {
		parts[r], all = all[:l.bytes(l.Len(r))], all[l.bytes(l.Len(r)):]
	}
	copy(parts[me], part)
	mine := slices.Clone(parts[me]) // which may be sent when whole is no more, if the run has failed
	out, in := make([][]byte, n), make([][]byte, n)
	for r := range n {
		if r != me {
			out[r], in[r] = message(mine), message(parts[r])
		}
	}
	if err := c.Begin(out, in); err != nil {
		return nil, err
	}
	return func() error {
		if err := c.Finish(); err != nil || l.Outer <= 1 {
			return err
		}
		for r := range n {
			lo, _ := l.Of(r)
			copyBox(l.rows(whole, l.Extent, lo), l.rows(parts[r], l.Len(r), 0), l.size(l.Len(r)))
		}
		return nil
	}, nil
}

// message is b, or nil where it is empty: both ranks know that there is nothing to send.
func message(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// Fetch gives every rank the elements of the axis from start on, size of them, which are there.
func Fetch(c cluster.Comm, l Layout, part []byte, start, size int64, out []byte) error {
	if start < 0 || size < 0 || start+size > l.Extent {
		return fmt.Errorf("BUG: elements %d to %d are fetched of an axis of %d", start, start+size, l.Extent)
	}
	counts := l.FetchCounts(c.Size(), start, size)
	all := out
	if l.Outer > 1 {
		all = make([]byte, len(out))
	}
	me, at := c.Rank(), 0
	for r, n := range counts {
		if r == me {
			lo, hi := l.common(r, start, start+size)
			first, _ := l.Of(me)
			copyBox(l.rows(all[at:at+n], hi-lo, 0), l.rows(part, l.Len(me), lo-first), l.size(hi-lo))
		}
		at += n
	}
	if err := c.AllGather(all, counts); err != nil || l.Outer <= 1 {
		return err
	}
	at = 0
	for r, n := range counts {
		lo, hi := l.common(r, start, start+size)
		copyBox(l.rows(out, size, lo-start), l.rows(all[at:at+n], hi-lo, 0), l.size(hi-lo))
		at += n
	}
	return nil
}

// common is what rank r has of the elements from lo on and before hi.
func (b Blocks) common(r int, lo, hi int64) (int64, int64) {
	first, end := b.Of(r)
	lo, hi = max(lo, first), min(hi, end)
	return lo, max(lo, hi)
}

// Window is the elements of an axis that a rank wants: from Lo on and before Hi.
type Window struct{ Lo, Hi int64 }

// Halo is how many elements of its window a rank gets from ranks before it, and from those behind it.
func (b Blocks) Halo(rank, ranks int, w Window) (before, after int64) {
	for r := range ranks {
		lo, hi := b.common(r, w.Lo, w.Hi)
		if r < rank {
			before += hi - lo
		} else if r > rank {
			after += hi - lo
		}
	}
	return before, after
}

// Halos gives every rank the elements of its window that others have: in before those of ranks before it, in after
// those of ranks behind it. windows has one for each rank.
func Halos(c cluster.Comm, l Layout, part []byte, windows []Window, before, after []byte) error {
	return both(BeginHalos(c, l, part, windows, before, after))
}

// BeginHalos is the first half of Halos. part may change from then on; before and after are there after the second.
func BeginHalos(c cluster.Comm, l Layout, part []byte, windows []Window, before, after []byte) (End, error) {
	me, n := c.Rank(), c.Size()
	out, in := make([][]byte, n), make([][]byte, n)
	first, _ := l.Of(me)
	counts := l.HaloCounts(me, windows)
	for r := range n {
		if counts.To[r] > 0 {
			lo, hi := l.common(me, windows[r].Lo, windows[r].Hi)
			out[r] = make([]byte, counts.To[r])
			copyBox(l.rows(out[r], hi-lo, 0), l.rows(part, l.Len(me), lo-first), l.size(hi-lo))
		}
		if counts.From[r] > 0 {
			in[r] = make([]byte, counts.From[r])
		}
	}
	if err := c.Begin(out, in); err != nil {
		return nil, err
	}
	return func() error {
		if err := c.Finish(); err != nil {
			return err
		}
		place := func(to []byte, ranks [2]int) {
			total, put := int64(0), int64(0)
			for r := ranks[0]; r < ranks[1]; r++ {
				lo, hi := l.common(r, windows[me].Lo, windows[me].Hi)
				total += hi - lo
			}
			for r := ranks[0]; r < ranks[1]; r++ {
				lo, hi := l.common(r, windows[me].Lo, windows[me].Hi)
				copyBox(l.rows(to, total, put), l.rows(in[r], hi-lo, 0), l.size(hi-lo))
				put += hi - lo
			}
		}
		place(before, [2]int{0, me})
		place(after, [2]int{me + 1, n})
		return nil
	}, nil
}

// Swap is how a tensor lies that is cut along one axis and is to be cut along another: extents are those of the axes
// before the first of the two, of the first, of those between them, of the second, and the bytes of what is behind it.
type Swap struct {
	Dims     [5]int64
	From, To Blocks
	Back     bool // it is cut along the second of the axes, and not along the first
}

// AllToAll cuts a tensor along another axis.
func AllToAll(c cluster.Comm, s Swap, part, out []byte) error {
	me, n := c.Rank(), c.Size()
	f, t := s.axes()
	counts := s.Counts(me, n)
	to, from := counts.To, counts.From
	sends, receives := counts.Total()
	send, recv := make([]byte, sends), make([]byte, receives)
	at := 0
	for r := range n {
		size := s.cut(s.From.Len(me), s.To.Len(r))
		src := box{bytes: part, dims: s.cut(s.From.Len(me), s.To.Extent)}
		src.from[t], _ = s.To.Of(r)
		copyBox(box{bytes: send[at : at+to[r]], dims: size}, src, size)
		at += to[r]
	}
	if err := c.AllToAll(send, to, recv, from); err != nil {
		return err
	}
	at = 0
	for r := range n {
		size := s.cut(s.From.Len(r), s.To.Len(me))
		dst := box{bytes: out, dims: s.cut(s.From.Extent, s.To.Len(me))}
		dst.from[f], _ = s.From.Of(r)
		copyBox(dst, box{bytes: recv[at : at+from[r]], dims: size}, size)
		at += from[r]
	}
	return nil
}

// FromPrevious gives what the rank before this one sent by ToNext; rank 0 gets nothing, and out stays as it is.
func FromPrevious(c cluster.Comm, out []byte) error {
	if c.Rank() == 0 {
		return nil
	}
	return c.SendRecv(nil, cluster.Nobody, out, c.Rank()-1)
}

// ToNext sends to the next rank; the last one sends nothing.
func ToNext(c cluster.Comm, bytes []byte) error {
	if c.Rank() == c.Size()-1 {
		return nil
	}
	return c.SendRecv(bytes, c.Rank()+1, nil, cluster.Nobody)
}

// LayoutOf is how a tensor of this shape lies, whose elements have so many bytes.
func LayoutOf(axis int64, b Blocks, shape []int64, bytes int64) Layout {
	l := Layout{Outer: 1, Blocks: b, Inner: bytes}
	for k, n := range shape {
		if int64(k) < axis {
			l.Outer *= n
		} else if int64(k) > axis {
			l.Inner *= n
		}
	}
	return l
}

// SwapOf is what AllToAll does to a part of this shape.
func SwapOf(axis int64, b Blocks, to, toBlock int64, shape []int64, bytes int64) Swap {
	s := Swap{Dims: [5]int64{1, 1, 1, 1, bytes}, From: b,
		To: Blocks{Extent: shape[to], Block: toBlock}, Back: to < axis}
	first, second := min(axis, to), max(axis, to)
	for k, n := range shape {
		switch k := int64(k); {
		case k < first:
			s.Dims[0] *= n
		case k > first && k < second:
			s.Dims[2] *= n
		case k > second:
			s.Dims[4] *= n
		}
	}
	return s
}

// Windows are those of the attribute.
func Windows(list []int64) []Window {
	out := make([]Window, len(list)/2)
	for i := range out {
		out[i] = Window{Lo: list[2*i], Hi: list[2*i+1]}
	}
	return out
}
