package exchange

// How many bytes go where is known before anything is sent, of all but Take. The same numbers are what ranks exchange,
// and what `healc explain --ranks` prints.

// Counts is how many bytes a rank sends to each rank, and how many it gets of each.
type Counts struct{ To, From []int }

// Total is how many bytes a rank sends in all, and how many it gets.
func (c Counts) Total() (sends, receives int) {
	for r := range c.To {
		sends, receives = sends+c.To[r], receives+c.From[r]
	}
	return sends, receives
}

// FetchCounts is how many bytes each rank has of the elements of the axis from start on, size of them.
func (l Layout) FetchCounts(ranks int, start, size int64) []int {
	counts := make([]int, ranks)
	for r := range counts {
		lo, hi := l.common(r, start, start+size)
		counts[r] = l.bytes(hi - lo)
	}
	return counts
}

// HaloCounts is what a rank exchanges by Halos.
func (l Layout) HaloCounts(rank int, windows []Window) Counts {
	c := Counts{make([]int, len(windows)), make([]int, len(windows))}
	for r := range windows {
		if r == rank {
			continue
		}
		lo, hi := l.common(rank, windows[r].Lo, windows[r].Hi)
		c.To[r] = l.bytes(hi - lo)
		lo, hi = l.common(r, windows[rank].Lo, windows[rank].Hi)
		c.From[r] = l.bytes(hi - lo)
	}
	return c
}

// Counts is what a rank exchanges by AllToAll, what it keeps among it.
func (s Swap) Counts(rank, ranks int) Counts {
	c := Counts{make([]int, ranks), make([]int, ranks)}
	for r := range ranks {
		c.To[r] = bytesOf(s.cut(s.From.Len(rank), s.To.Len(r)))
		c.From[r] = bytesOf(s.cut(s.From.Len(r), s.To.Len(rank)))
	}
	return c
}

// axes is which of the extents is of the axis that is cut, and which of that which will be.
func (s Swap) axes() (from, to int) {
	if s.Back {
		return 3, 1
	}
	return 1, 3
}

// cut is the extents of what has n elements of the axis that it comes from and m of that it goes to.
func (s Swap) cut(n, m int64) [5]int64 {
	d := s.Dims
	from, to := s.axes()
	d[from], d[to] = n, m
	return d
}

func bytesOf(d [5]int64) int { return int(d[0] * d[1] * d[2] * d[3] * d[4]) }
