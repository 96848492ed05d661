package keval

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/ops"
)

// sort sorts a part of a buffer, and leaves nothing in the spare memory that anybody may look at.
func (e *exec) sort(st *kernel.Sort) {
	data, at, n := e.bufs[st.Data.Param], e.offset(st.Data.At), e.r.dim(st.Size)
	source, origin := e.bufs[st.Source.Param], e.offset(st.Source.At)
	spare, from := e.bufs[st.Spare.Param], e.offset(st.Spare.At)
	t := e.params[st.Data.Param].DType
	row := make([]uint64, n)
	for i := range n {
		row[i] = source.get(origin + i)
		spare.set(from+i, 1)
	}
	slices.SortStableFunc(row, func(x, y uint64) int {
		switch {
		case ops.SortsBefore(t, x, y):
			return -1
		case ops.SortsBefore(t, y, x):
			return 1
		}
		return 0
	})
	for i, x := range row {
		data.set(at+int64(i), x)
	}
}
