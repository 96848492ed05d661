package exchange

import (
	"encoding/binary"
	"fmt"
	"slices"

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
func Updates(c cluster.Comm, b Blocks, at []int64, values []byte, width, round int64, toAt []int64, to []byte) error {
	me, n := c.Rank(), c.Size()
	have, err := owners(c, b, at)
	if err != nil {
		return err
	}
	theirs, err := exchangeWords(c, have)
	if err != nil {
		return err
	}
	// Of those that a rank has for this one, in its order, this one gets a run in this round.
	size, before := int64(len(toAt)), int64(0)
	firsts, ends := make([]int64, n), make([]int64, n)
	for r, k := range theirs {
		firsts[r] = min(max(round*size-before, 0), k)
		ends[r] = min(max((round+1)*size-before, 0), k)
		before += k
	}
	from, err := exchangeWords(c, firsts)
	if err != nil {
		return err
	}
	until, err := exchangeWords(c, ends)
	if err != nil {
		return err
	}
	sends, receives := make([]int, n), make([]int, n)
	starts, all, total := make([]int, n), 0, 0
	for r := range n {
		sends[r], receives[r] = int((until[r]-from[r])*(8+width)), int((ends[r]-firsts[r])*(8+width))
		starts[r], all, total = all, all+sends[r], total+receives[r]
	}
	send, seen, owner := make([]byte, all), make([]int64, n), b.owner()
	for i, p := range at {
		r, _ := owner.of(uint64(p))
		if k := seen[r]; k >= from[r] && k < until[r] {
			binary.LittleEndian.PutUint64(send[starts[r]:], uint64(p))
			copy(send[starts[r]+8:][:width], values[int64(i)*width:])
			starts[r] += int(8 + width)
		}
		seen[r]++
	}
	recv := make([]byte, total)
	if err := c.AllToAll(send, sends, recv, receives); err != nil {
		return err
	}
	first, end := b.Of(me)
	for i := range toAt {
		if len(recv) == 0 {
			toAt[i] = end - first
			clear(to[int64(i)*width:][:width])
			continue
		}
		toAt[i] = int64(binary.LittleEndian.Uint64(recv)) - first
		copy(to[int64(i)*width:][:width], recv[8:])
		recv = recv[8+width:]
	}
	return nil
}
