package exchange

import (
	"fmt"
	"math/bits"
	"unsafe"

	"healc/runtime/cluster"
)

// Note [Requests in rounds]
//
// Rows at positions are asked of the ranks that have them: a rank says how many it asks each for, then which, and gets
// them. So that what is on its way is little, a rank asks for a run of its positions at a time, whose rows are so many
// bytes: the memory of all rounds is that of one, which is near the processor still when it is used. All ranks make as
// many rounds as the one with most positions needs. The positions of a round are counted, and put in order by rank, and
// walked a third time when the rows are there: those of a rank come in the order in which they were asked for, so that
// nothing is kept of which belongs where. A position is sent as one of the part of the rank that has it, in four bytes
// where that is not too long.

// mostRequested is how many bytes of rows a rank asks for in a round, and of values it sends in a piece of updates
// (docs/tuning/exchanges.md).
const mostRequested = 1 << 20

// RequestRounds is in how many rounds a rank asks for n rows of so many bytes.
func RequestRounds(n, inner int64) int64 {
	run := RequestRun(inner)
	return max((n+run-1)/run, 1)
}

// RequestRun is how many rows of so many bytes a rank asks for in a round.
func RequestRun(inner int64) int64 { return max(mostRequested/max(inner, 4), 1) }

// before is how many elements at the begin of a rank's whole block are not of the axis.
func (b Blocks) before(rank int) int64 {
	first, _ := b.Of(rank)
	return first + b.Origin - int64(rank)*b.Block
}

// RequestBytes is how many bytes a position has that is sent.
func (b Blocks) RequestBytes() int64 {
	if b.Block <= 1<<32 {
		return 4
	}
	return 8
}

// owner says which rank has an element of an axis.
type owner struct{ origin, block, inverse uint64 }

func (b Blocks) owner() owner {
	return owner{uint64(b.Origin), uint64(b.Block), ^uint64(0) / uint64(b.Block)}
}

// of is the rank that has element p, and how many elements after the first of a whole block it is. The product with the
// inverse is the quotient, or one less.
func (o owner) of(p uint64) (rank int, at uint64) {
	p += o.origin
	r, _ := bits.Mul64(p, o.inverse)
	at = p - r*o.block
	if at >= o.block {
		r, at = r+1, at-o.block
	}
	return int(r), at
}

// Take gives a rank the rows at these positions of a tensor that is cut along its first axis; they are there.
func Take[P int32 | int64](c cluster.Comm, l Layout, part []byte, at []P, out []byte) error {
	if l.RequestBytes() == 4 {
		return take[P, uint32](c, l, part, at, out)
	}
	return take[P, uint64](c, l, part, at, out)
}

func take[P int32 | int64, W word](c cluster.Comm, l Layout, part []byte, at []P, out []byte) error {
	q := requests[P, W]{c: c, l: l, owner: l.owner(), part: part}
	if err := q.count(at); err != nil {
		return err
	}
	q.reserve()
	for k := range q.asks {
		lo, hi := q.run(k, at)
		got, err := q.round(k, at[lo:hi])
		if err != nil {
			return err
		}
		q.place(k, at[lo:hi], got, out[lo*int(l.Inner):hi*int(l.Inner)])
	}
	return nil
}

// word is a position that is sent.
type word interface{ uint32 | uint64 }

// requests is an exchange of rows at positions.
type requests[P int32 | int64, W word] struct {
	c     cluster.Comm
	l     Layout
	owner owner
	part  []byte

	asks, hears [][]int // of each round, how many rows this rank asks each for, and each asks it for

	positions, heard []W // by rank
	reply, got       []byte
}

// run is which of the positions are asked for in a round.
func (q *requests[P, W]) run(round int, at []P) (lo, hi int) {
	n := int(RequestRun(q.l.Inner))
	return min(round*n, len(at)), min((round+1)*n, len(at))
}

// count exchanges how many rows are asked for: first in all, from which follows how many rounds there are.
func (q *requests[P, W]) count(at []P) error {
	n := q.c.Size()
	for _, p := range at {
		if uint64(p) >= uint64(q.l.Extent) {
			return fmt.Errorf("BUG: position %d of an axis of %d is asked for", p, q.l.Extent)
		}
	}
	total := q.owned(at)
	words := make([]int64, 0, 2*n)
	for _, k := range total {
		words = append(words, int64(k), int64(len(at)))
	}
	theirs, err := exchangeWords(q.c, words)
	if err != nil {
		return err
	}
	most := int64(len(at))
	hears := make([]int, n)
	for r := range n {
		hears[r], most = int(theirs[2*r]), max(most, theirs[2*r+1])
	}
	rounds := int(RequestRounds(most, q.l.Inner))
	if rounds == 1 {
		q.asks, q.hears = [][]int{total}, [][]int{hears}
		return nil
	}
	words = make([]int64, n*rounds)
	for k := range rounds {
		lo, hi := q.run(k, at)
		asks := q.owned(at[lo:hi])
		for r, m := range asks {
			words[r*rounds+k] = int64(m)
		}
		q.asks = append(q.asks, asks)
	}
	if theirs, err = exchangeWords(q.c, words); err != nil {
		return err
	}
	for k := range rounds {
		hears := make([]int, n)
		for r := range n {
			hears[r] = int(theirs[r*rounds+k])
		}
		q.hears = append(q.hears, hears)
	}
	return nil
}

// owned is how many of the positions each rank has.
func (q *requests[P, W]) owned(at []P) []int {
	counts := make([]int, q.c.Size())
	for _, p := range at {
		r, _ := q.owner.of(uint64(p))
		counts[r]++
	}
	return counts
}

// reserve takes the memory of a round, that of the longest.
func (q *requests[P, W]) reserve() {
	asks, hears := 0, 0
	for k := range q.asks {
		asks, hears = max(asks, sum(q.asks[k])), max(hears, sum(q.hears[k]))
	}
	inner := int(q.l.Inner)
	q.positions, q.got = make([]W, asks), make([]byte, asks*inner)
	q.heard, q.reply = make([]W, hears), make([]byte, hears*inner)
}

func sum(counts []int) int {
	n := 0
	for _, k := range counts {
		n += k
	}
	return n
}

// starts is where what each rank has begins, of which it has so much.
func starts(counts []int) []int {
	out, at := make([]int, len(counts)), 0
	for r, k := range counts {
		out[r] = at
		at += k
	}
	return out
}

// times is counts of so many bytes each.
func times(counts []int, bytes int) []int {
	out := make([]int, len(counts))
	for r, k := range counts {
		out[r] = k * bytes
	}
	return out
}

// round asks for the rows at these positions, and gives them, by rank.
func (q *requests[P, W]) round(k int, at []P) ([]byte, error) {
	asks, hears, inner := q.asks[k], q.hears[k], int(q.l.Inner)
	send, heard := q.positions[:len(at)], q.heard[:sum(hears)]
	next := starts(asks)
	for _, p := range at {
		r, i := q.owner.of(uint64(p))
		send[next[r]] = W(i)
		next[r]++
	}
	size := int(unsafe.Sizeof(W(0)))
	if err := q.c.AllToAll(wordBytes(send), times(asks, size), wordBytes(heard), times(hears, size)); err != nil {
		return nil, err
	}
	reply, got := q.reply[:len(heard)*inner], q.got[:len(at)*inner]
	if err := q.answer(heard, reply); err != nil {
		return nil, err
	}
	return got, q.c.AllToAll(reply, times(hears, inner), got, times(asks, inner))
}

// answer gives the rows of this rank that others have asked for.
func (q *requests[P, W]) answer(heard []W, reply []byte) error {
	me := q.c.Rank()
	first, end := q.l.Of(me)
	before := W(q.l.before(me))
	for k, i := range heard {
		if heard[k] = i - before; uint64(heard[k]) >= uint64(end-first) {
			return fmt.Errorf("BUG: rank %d is asked for element %d of %d", me, int64(i)-int64(before), end-first)
		}
	}
	switch inner := q.l.Inner; {
	case isOf[uint8](inner, q.part, reply):
		pick(heard, q.part, reply)
	case isOf[uint16](inner, q.part, reply):
		pick(heard, numbers[uint16](q.part), numbers[uint16](reply))
	case isOf[uint32](inner, q.part, reply):
		pick(heard, numbers[uint32](q.part), numbers[uint32](reply))
	case isOf[uint64](inner, q.part, reply):
		pick(heard, numbers[uint64](q.part), numbers[uint64](reply))
	default:
		for k, i := range heard {
			copy(reply[int64(k)*inner:][:inner], q.part[int64(i)*inner:])
		}
	}
	return nil
}

func pick[W word, T number](at []W, from, to []T) {
	to = to[:len(at)]
	for k, i := range at {
		to[k] = from[i]
	}
}

// place brings the rows that have come, by rank, to their places.
func (q *requests[P, W]) place(k int, at []P, got, out []byte) {
	switch inner, next := int(q.l.Inner), starts(q.asks[k]); {
	case isOf[uint8](q.l.Inner, got, out):
		put(q.owner, at, next, got, out)
	case isOf[uint16](q.l.Inner, got, out):
		put(q.owner, at, next, numbers[uint16](got), numbers[uint16](out))
	case isOf[uint32](q.l.Inner, got, out):
		put(q.owner, at, next, numbers[uint32](got), numbers[uint32](out))
	case isOf[uint64](q.l.Inner, got, out):
		put(q.owner, at, next, numbers[uint64](got), numbers[uint64](out))
	default:
		for i, p := range at {
			r, _ := q.owner.of(uint64(p))
			copy(out[i*inner:][:inner], got[next[r]*inner:])
			next[r]++
		}
	}
}

func put[P int32 | int64, T number](o owner, at []P, next []int, from, to []T) {
	to = to[:len(at)]
	for i, p := range at {
		r, _ := o.of(uint64(p))
		to[i] = from[next[r]]
		next[r]++
	}
}

// number is a row that is moved at once.
type number interface {
	uint8 | uint16 | uint32 | uint64
}

// isOf reports whether rows of so many bytes are numbers of a type, and lie as these do in memory.
func isOf[T number](inner int64, memory ...[]byte) bool {
	var x T
	for _, b := range memory {
		if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(x) != 0 {
			return false
		}
	}
	return inner == int64(unsafe.Sizeof(x))
}

// numbers are rows, each of which is one.
func numbers[T number](b []byte) []T {
	var x T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(x)))
}

// wordBytes is the memory of words.
func wordBytes[W word](w []W) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*int(unsafe.Sizeof(W(0))))
}
