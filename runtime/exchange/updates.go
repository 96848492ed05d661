package exchange

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"healc/runtime/cluster"
)

// Note [Updates in rounds]
//
// What is added at positions of an axis that is cut goes to the ranks that have them: to each from all ranks in order,
// and of each rank in its order, so that every element gets its additions in the order that is prescribed. How many a
// rank gets is known at run time, and may be all. So they come in rounds, of so many at most, which is little more than
// what a rank sends: one round does where they are spread, and as many as there are ranks where all go to one, and no
// rank ever has more than that. A rank keeps nothing between rounds: what has been sent follows from the number of the
// round, and from how many each rank has for each other.

// UpdateRounds is how many rounds it takes to send the updates at positions of an axis to the ranks that have them,
// size of them to each rank in a round.
func UpdateRounds(c cluster.Comm, b Blocks, at []int64, size int64) (int64, error) {
	sent, err := owners(c, b, at)
	if err != nil {
		return 0, err
	}
	got, err := exchangeWords(c, sent)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, k := range got {
		total += k
	}
	n, me := c.Size(), c.Rank()
	totals := make([]byte, 8*n)
	binary.LittleEndian.PutUint64(totals[8*me:], uint64(total))
	if err := c.AllGather(totals, slices.Repeat([]int{8}, n)); err != nil {
		return 0, err
	}
	most := int64(0)
	for r := range n {
		most = max(most, int64(binary.LittleEndian.Uint64(totals[8*r:])))
	}
	return (most + size - 1) / size, nil
}

// owners is how many of the positions each rank has.
func owners(c cluster.Comm, b Blocks, at []int64) ([]int64, error) {
	counts, owner := make([]int64, c.Size()), b.owner()
	for _, p := range at {
		if p < 0 || p >= b.Extent {
			return nil, fmt.Errorf("BUG: something is added at position %d of an axis of %d", p, b.Extent)
		}
		r, _ := owner.of(uint64(p))
		counts[r]++
	}
	return counts, nil
}

// exchangeWords sends as many words to each rank, and gives those of each.
func exchangeWords(c cluster.Comm, to []int64) ([]int64, error) {
	send := make([]byte, 0, 8*len(to))
	for _, k := range to {
		send = binary.LittleEndian.AppendUint64(send, uint64(k))
	}
	n := c.Size()
	recv, each := make([]byte, len(send)), slices.Repeat([]int{len(send) / n}, n)
	if err := c.AllToAll(send, each, recv, each); err != nil {
		return nil, err
	}
	from := make([]int64, len(to))
	for i := range from {
		from[i] = int64(binary.LittleEndian.Uint64(recv[8*i:]))
	}
	return from, nil
}

// Updates sends those of a round: values of so many bytes, for positions of an axis. This rank gets the positions in
// its part, in toAt, and the values, in to; behind those of this round come zeros for the position behind its part.
// They go in pieces, as requests do (Note [Requests in rounds]).
func Updates(c cluster.Comm, b Blocks, at []int64, values []byte, width, round int64, toAt []int64, to []byte) error {
	if b.RequestBytes() == 4 {
		return updates[uint32](c, b, at, values, width, round, toAt, to)
	}
	return updates[uint64](c, b, at, values, width, round, toAt, to)
}

func updates[W word](c cluster.Comm, b Blocks, at []int64, values []byte, width, round int64, toAt []int64,
	to []byte) error {
	n, size := c.Size(), int64(len(toAt))
	have, err := owners(c, b, at)
	if err != nil {
		return err
	}
	var words []int64
	for _, k := range have {
		words = append(words, k, int64(len(at)))
	}
	theirs, err := exchangeWords(c, words)
	if err != nil {
		return err
	}
	// Of those that a rank has for this one, in its order, this one gets a run in this round.
	before, most := int64(0), int64(len(at))
	firsts, ends := make([]int64, n), make([]int64, n)
	for r := range n {
		k := theirs[2*r]
		firsts[r] = min(max(round*size-before, 0), k)
		ends[r] = min(max((round+1)*size-before, 0), k)
		before, most = before+k, max(most, theirs[2*r+1])
	}
	s := sending[W]{c: c, owner: b.owner(), width: int(width), seen: make([]int64, n)}
	if s.from, err = exchangeWords(c, firsts); err != nil {
		return err
	}
	if s.until, err = exchangeWords(c, ends); err != nil {
		return err
	}
	pieces, run := int(RequestRounds(most, width)), int(RequestRun(width))
	piece := func(k int) (lo, hi int) { return min(k*run, len(at)), min((k+1)*run, len(at)) }
	words = make([]int64, n*pieces)
	for k := range pieces {
		lo, hi := piece(k)
		s.count(at[lo:hi], words[k:], pieces)
	}
	sends := words
	receives := make([]int64, n)
	for r := range n {
		receives[r] = ends[r] - firsts[r]
	}
	places, total := make([]int64, n), int64(0)
	for r, k := range receives {
		places[r] = total
		total += k
	}
	if pieces > 1 {
		if receives, err = exchangeWords(c, words); err != nil {
			return err
		}
	}
	clear(s.seen)
	beforePart := b.before(c.Rank())
	for k := range pieces {
		lo, hi := piece(k)
		out, in := make([]int, n), make([]int, n)
		for r := range n {
			out[r], in[r] = int(sends[r*pieces+k]), int(receives[r*pieces+k])
		}
		gotAt, got, err := s.piece(at[lo:hi], values[lo*int(width):hi*int(width)], out, in)
		if err != nil {
			return err
		}
		for r, m := range in {
			for i, p := range gotAt[:m] {
				toAt[places[r]+int64(i)] = int64(p) - beforePart
			}
			copy(to[places[r]*width:], got[:m*int(width)])
			gotAt, got, places[r] = gotAt[m:], got[m*int(width):], places[r]+int64(m)
		}
	}
	first, end := b.Of(c.Rank())
	for i := total; i < size; i++ {
		toAt[i] = end - first
	}
	clear(to[total*width:])
	return nil
}

// sending is what a rank sends of its updates in a round: of those for each rank a run.
type sending[W word] struct {
	c           cluster.Comm
	owner       owner
	width       int
	from, until []int64 // of each rank, which of those for it
	seen        []int64 // of each rank, how many of those for it came before

	positions, gotAt []W // of a piece, by rank
	values, got      []byte
}

// count adds to the counts, one for each rank at this distance, how many of these positions are sent to each.
func (s *sending[W]) count(at []int64, counts []int64, distance int) {
	for _, p := range at {
		r, _ := s.owner.of(uint64(p))
		if k := s.seen[r]; k >= s.from[r] && k < s.until[r] {
			counts[r*distance]++
		}
		s.seen[r]++
	}
}

// piece sends those of some positions, so many to each rank, and gives what each rank has sent.
func (s *sending[W]) piece(at []int64, values []byte, out, in []int) ([]W, []byte, error) {
	s.positions, s.values = sized(s.positions, sum(out)), sized(s.values, sum(out)*s.width)
	s.gotAt, s.got = sized(s.gotAt, sum(in)), sized(s.got, sum(in)*s.width)
	next, move := starts(out), mover(s.values, values, s.width)
	for i, p := range at {
		r, local := s.owner.of(uint64(p))
		if k := s.seen[r]; k >= s.from[r] && k < s.until[r] {
			s.positions[next[r]] = W(local)
			move(next[r], i)
			next[r]++
		}
		s.seen[r]++
	}
	size := int(unsafe.Sizeof(W(0)))
	err := s.c.AllToAll(wordBytes(s.positions), times(out, size), wordBytes(s.gotAt), times(in, size))
	if err != nil {
		return nil, nil, err
	}
	return s.gotAt, s.got, s.c.AllToAll(s.values, times(out, s.width), s.got, times(in, s.width))
}

// mover copies a row of so many bytes from one place to another.
func mover(to, from []byte, width int) func(i, k int) {
	switch n := int64(width); {
	case isOf[uint32](n, to, from):
		t, f := numbers[uint32](to), numbers[uint32](from)
		return func(i, k int) { t[i] = f[k] }
	case isOf[uint64](n, to, from):
		t, f := numbers[uint64](to), numbers[uint64](from)
		return func(i, k int) { t[i] = f[k] }
	}
	return func(i, k int) { copy(to[i*width:][:width], from[k*width:]) }
}

// sized is a slice of n elements, with the memory of another one where that has room.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
