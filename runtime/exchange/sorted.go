package exchange

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"healc/runtime/cluster"
)

// Note [Sorting by splitters]
//
// Rows that are cut are sorted in three steps: each rank sorts its part, the parts are exchanged so that every rank
// gets what belongs into its block of the sorted row, and each rank sorts that. The blocks of the result are as long as
// all others are, whatever the elements are, since the splitters are exact. A splitter is how many elements of the part
// of each rank come before a block, and is found as in a sample sort: each rank sends samples of the elements that may
// be next to it, from which follows for each part which elements may still be. That is repeated until one place is
// left, with a small part of the elements each time. Elements that are equal come in the order of the ranks and,
// within a part, in that of the part: so it is the order of a stable sort, and equal elements are cut as any others.
//
// Splitter d, that before the block of rank d, is found by rank d: no rank sees the samples for all of them.

// Column is values of rows, those of this rank and, when they are exchanged, those that belong into its block: so many
// bytes an element, one row after the other.
type Column struct {
	Part, Out []byte
	Bytes     int64
}

// Sorted gives every rank the elements that belong into its block of rows that are sorted: of each row those of rank 0,
// then those of rank 1, and so on. The parts are sorted, by keys: element i of this rank, of all rows one after the
// other, has key(i). The columns are moved by them.
func Sorted(c cluster.Comm, rows int64, b Blocks, key func(i int64) uint64, columns []Column) error {
	me, n := c.Rank(), c.Size()
	s := splitters{c: c, rows: rows, b: b, key: key}
	if err := s.find(); err != nil {
		return err
	}
	to, from := s.counts(me), make([]byte, 8*rows*int64(n))
	each := slices.Repeat([]int{int(8 * rows)}, n)
	send := make([]byte, 0, len(from))
	for _, k := range to {
		send = binary.LittleEndian.AppendUint64(send, uint64(k))
	}
	if err := c.AllToAll(send, each, from, each); err != nil {
		return err
	}
	gets := make([]int64, int64(n)*rows) // of each rank, of each row
	for row := range rows {
		sum := int64(0)
		for r := range int64(n) {
			gets[r*rows+row] = int64(binary.LittleEndian.Uint64(from[8*(r*rows+row):]))
			sum += gets[r*rows+row]
		}
		if sum != b.Len(me) {
			return fmt.Errorf("BUG: rank %d gets %d elements of a sorted row, and its block has %d", me, sum, b.Len(me))
		}
	}
	for _, col := range columns {
		if err := col.move(c, rows, b.Len(me), to, gets); err != nil {
			return err
		}
	}
	return nil
}

// move exchanges a column, of which this rank sends and gets so many elements: of each rank, of each row.
func (col Column) move(c cluster.Comm, rows, mine int64, to, gets []int64) error {
	n := int64(c.Size())
	sends, receives := make([]int, n), make([]int, n)
	for r := range n {
		for row := range rows {
			sends[r] += int(to[r*rows+row] * col.Bytes)
			receives[r] += int(gets[r*rows+row] * col.Bytes)
		}
	}
	send, recv := col.Part, col.Out
	if rows > 1 { // what goes to a rank is a run of each row
		send, recv = make([]byte, 0, len(col.Part)), make([]byte, len(col.Out))
		at := make([]int64, rows)
		for r := range n {
			for row := range rows {
				k := to[r*rows+row]
				send = append(send, col.Part[(row*mine+at[row])*col.Bytes:][:k*col.Bytes]...)
				at[row] += k
			}
		}
	}
	if err := c.AllToAll(send, sends, recv, receives); err != nil || rows <= 1 {
		return err
	}
	at := make([]int64, rows)
	for r := range n {
		for row := range rows {
			k := gets[r*rows+row]
			copy(col.Out[(row*mine+at[row])*col.Bytes:], recv[:k*col.Bytes])
			recv, at[row] = recv[k*col.Bytes:], at[row]+k
		}
	}
	return nil
}

// span is where a splitter may be in a row of a part: it has at least lo and at most hi elements before it.
type span struct{ lo, hi int64 }

// MostSamples is how many elements of a span are sent at most.
const MostSamples = 32

// samples calls f with elements of a span, in order, all of them if they are few.
func (s span) samples(f func(i int64)) {
	n := s.hi - s.lo
	if n <= MostSamples {
		for i := range n {
			f(s.lo + i)
		}
		return
	}
	for k := range int64(MostSamples) {
		f(s.lo + (k+1)*n/(MostSamples+1))
	}
}

func (s span) bytes() int { return 8 * int(min(s.hi-s.lo, MostSamples)) }

// splitters finds where the blocks of sorted rows begin.
type splitters struct {
	c    cluster.Comm
	rows int64
	b    Blocks
	key  func(i int64) uint64

	mine   [][]span // of splitter d and a row, where it is in the part of this rank
	theirs [][]span // of rank r and a row, where the splitter of this rank is in the part of that one
}

// begins is the span of splitter d in the part of rank r of which nothing is known yet but how many elements there are.
func (s *splitters) begins(d, r int) []span {
	first, _ := s.b.Of(d)
	all := span{0, s.b.Len(r)}
	switch first {
	case 0:
		all.hi = 0
	case s.b.Extent:
		all.lo = all.hi
	}
	return slices.Repeat([]span{all}, int(s.rows))
}

// find narrows all spans to one place.
func (s *splitters) find() error {
	me, n := s.c.Rank(), s.c.Size()
	open := false
	for r := range n {
		s.mine, s.theirs = append(s.mine, s.begins(r, me)), append(s.theirs, s.begins(me, r))
		first, _ := s.b.Of(r)
		open = open || s.rows > 0 && 0 < first && first < s.b.Extent
	}
	for round := 0; open; round++ {
		if round == 1000 {
			return fmt.Errorf("BUG: where a sorted row of %d is cut is not found", s.b.Extent)
		}
		var err error
		if open, err = s.round(); err != nil {
			return err
		}
	}
	return nil
}

// round sends samples for every splitter, and says whether one of them is still open.
func (s *splitters) round() (open bool, err error) {
	me, n := s.c.Rank(), s.c.Size()
	to, from := make([]int, n), make([]int, n)
	var send []byte
	received := 0
	for r := range n {
		for row, span := range s.mine[r] {
			to[r] += span.bytes()
			base := int64(row) * s.b.Len(me)
			span.samples(func(i int64) { send = binary.LittleEndian.AppendUint64(send, s.key(base+i)) })
		}
		for _, span := range s.theirs[r] {
			from[r] += span.bytes()
		}
		received += from[r]
	}
	recv := make([]byte, received)
	if err := s.c.AllToAll(send, to, recv, from); err != nil {
		return false, err
	}
	keys := make([][]byte, n) // what is left of those of each rank
	for r, k := range from {
		keys[r], recv = recv[:k], recv[k:]
	}
	settled := byte(1)
	for row := range s.rows {
		if !s.narrow(row, keys) {
			settled = 0
		}
	}
	size := int(16*s.rows + 1)
	each := slices.Repeat([]int{size}, n)
	said := make([]byte, 0, n*size)
	for r := range n {
		said = append(said, settled)
		for _, span := range s.theirs[r] {
			said = binary.LittleEndian.AppendUint64(said, uint64(span.lo))
			said = binary.LittleEndian.AppendUint64(said, uint64(span.hi))
		}
	}
	heard := make([]byte, n*size)
	if err := s.c.AllToAll(said, each, heard, each); err != nil {
		return false, err
	}
	for r := range n {
		open = open || heard[0] == 0
		heard = heard[1:]
		for row := range s.mine[r] {
			lo, hi := binary.LittleEndian.Uint64(heard), binary.LittleEndian.Uint64(heard[8:])
			s.mine[r][row] = span{int64(lo), int64(hi)}
			heard = heard[16:]
		}
	}
	return open, nil
}

// sample is an element of the part of a rank.
type sample struct {
	key  uint64
	rank int
	at   int64
}

// narrow uses the samples of a row for the splitter of this rank, and says whether it is found. The samples go in the
// order of a stable sort. Of each it is known how many elements come before at least, and at most.
func (s *splitters) narrow(row int64, keys [][]byte) bool {
	want, _ := s.b.Of(s.c.Rank())
	var all []sample
	// Of each rank, as far as the samples have come, and where those are that are to come.
	low, high := make([]int64, len(keys)), make([]int64, len(keys))
	next := make([][]int64, len(keys))
	least, most := int64(0), int64(0)
	for r := range keys {
		span := s.theirs[r][row]
		span.samples(func(i int64) {
			all = append(all, sample{binary.LittleEndian.Uint64(keys[r]), r, i})
			keys[r] = keys[r][8:]
			next[r] = append(next[r], i)
		})
		next[r] = append(next[r], span.hi)
		low[r], high[r] = span.lo, next[r][0]
		least, most = least+low[r], most+high[r]
	}
	slices.SortFunc(all, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank), cmp.Compare(a.at, b.at))
	})
	for _, e := range all {
		r := e.rank
		if least-low[r]+e.at+1 > want { // this one is behind the splitter, and so is all that follows
			for q := range keys {
				s.theirs[q][row].hi = high[q]
			}
			break
		}
		within := most-high[r]+e.at+1 <= want // this one is before it, and so is all that precedes
		next[r] = next[r][1:]
		least, most = least-low[r]+e.at+1, most-high[r]+next[r][0]
		low[r], high[r] = e.at+1, next[r][0]
		if within {
			for q := range keys {
				s.theirs[q][row].lo = low[q]
			}
		}
	}
	return s.settle(row, want)
}

// settle says whether the splitter of this rank is found in a row: as many elements come before it as are wanted.
func (s *splitters) settle(row, want int64) bool {
	least, most := int64(0), int64(0)
	for r := range s.theirs {
		least, most = least+s.theirs[r][row].lo, most+s.theirs[r][row].hi
	}
	for r := range s.theirs {
		v := &s.theirs[r][row]
		switch want {
		case least:
			v.hi = v.lo
		case most:
			v.lo = v.hi
		}
	}
	return want == least || want == most
}

// counts is how many elements of its part this rank sends: to each rank, of each row.
func (s *splitters) counts(me int) []int64 {
	n := s.c.Size()
	out := make([]int64, 0, int64(n)*s.rows)
	for r := range n {
		for row := range s.rows {
			end := s.b.Len(me)
			if r+1 < n {
				end = s.mine[r+1][row].lo
			}
			out = append(out, end-s.mine[r][row].lo)
		}
	}
	return out
}
