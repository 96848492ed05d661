package keval

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/ops"
)

// sort sorts a part of a buffer, and leaves nothing in the spare memory, or at ranks that nobody asks for, that anybody
// may look at.
func (e *exec) sort(st *kernel.Sort) {
	data, at, n := e.bufs[st.Data.Param], e.offset(st.Data.At), e.r.dim(st.Size)
	source, origin := e.bufs[st.Source.Param], e.offset(st.Source.At)
	spare, from := e.bufs[st.Spare.Param], e.offset(st.Spare.At)
	t := e.params[st.Data.Param].DType
	row, order := make([]uint64, n), make([]int64, n)
	for i := range n {
		row[i], order[i] = source.get(origin+i), i
		spare.set(from+i, 1)
	}
	slices.SortStableFunc(order, func(i, j int64) int {
		switch x, y := row[i], row[j]; {
		case ops.SortsBefore(t, x, y):
			return -1
		case ops.SortsBefore(t, y, x):
			return 1
		}
		return 0
	})
	for i, from := range order {
		x := row[from]
		if !e.wanted(st.Ranks, int64(i)) {
			data.set(at+int64(i), 1)
			continue
		}
		if st.Positions {
			x = x<<32 | uint64(from)
		}
		data.set(at+int64(i), x)
	}
}

// wanted reports that a rank is one of some, or that these are all.
func (e *exec) wanted(ranks []kernel.Ranks, i int64) bool {
	return len(ranks) == 0 || slices.ContainsFunc(ranks, func(r kernel.Ranks) bool {
		return int64(e.vals[r.First]) <= i && i < int64(e.vals[r.End])
	})
}
