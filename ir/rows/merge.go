package rows

import (
	"math/bits"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// SortByMerging is a merge sort from the bottom up: pass number k merges neighbouring sorted runs of 2^k elements
// from one half of the work memory into the other. Each step takes the head of one of the two runs, without
// a branch; the right one only when it is strictly before the left, so the sort is stable. For argsort the
// positions move along with the elements.
//
// Each of the threads that share the row merges a few elements of every pass; Note [Shared merges] says how it finds
// the heads. arg is element i of the row, of type t.
func SortByMerging(p ir.RowPull, t types.DType, n types.Dim, positions bool, arg func(i scalar.Ref) scalar.Ref) {
	e := p.E()
	int64s := func(v int64) scalar.Ref { return e.Int(types.I64, v) }
	m := &merger{p: p, e: e, n: n, positions: positions}
	m.vals = p.Work(t, n, true)
	m.pos = m.vals
	if positions {
		m.pos = p.Work(types.I32, n, true)
	}
	each := mergePiece(n)
	shared := each > 0
	all := func(body func(i scalar.Ref)) {
		if shared {
			p.Apart(n, 1, body)
			return
		}
		p.Each(n, nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref { body(i); return nil })
	}
	all(func(i scalar.Ref) {
		p.Write(m.vals, i, arg(i))
		if positions {
			p.Write(m.pos, i, e.Cast(types.I32, i))
		}
	})
	size := p.Extent(n)
	m.size, m.last = size, e.Sub(size, int64s(1))
	merge := func(pass, width, src scalar.Ref) {
		r := m.runs(width, src)
		if shared {
			m.pieces(r, pass, each)
			return
		}
		p.Each(n, []scalar.Ref{int64s(0), int64s(0)}, func(k scalar.Ref, heads []scalar.Ref) []scalar.Ref {
			return m.step(r, k, heads, always)
		})
	}
	passes, literal := int64(31), false // an extent is below 2^31
	if c, ok := n.Const(); ok {
		passes, literal = int64(bits.Len64(uint64(max(c-1, 0)))), true
	}
	state := p.Each(types.Lit(passes), []scalar.Ref{int64s(1), int64s(0)},
		func(pass scalar.Ref, state []scalar.Ref) []scalar.Ref {
			width, src := state[0], state[1]
			other := e.Sub(size, src)
			if literal {
				merge(pass, width, src)
				return []scalar.Ref{e.Add(width, width), other}
			}
			more := e.Lt(width, size)
			p.When(more, func() { merge(pass, width, src) })
			return []scalar.Ref{e.Select(more, e.Add(width, width), width), e.Select(more, other, src)}
		})
	all(func(i scalar.Ref) { p.Write(ir.ResultRow, i, p.Read(m.pos, e.Add(state[1], i))) })
}

// merger merges the runs of a row.
type merger struct {
	p          ir.RowPull
	e          scalar.Emitter
	n          types.Dim
	size, last scalar.Ref // n, and the index of the last element
	vals, pos  ir.Memory  // two halves of n elements; the positions are those of argsort
	positions  bool
}

// runs are the sorted runs of a pass: width elements each, in the half of the memory that begins at src. The other half
// begins at size - src.
type runs struct{ width, src, double, mask scalar.Ref }

func (m *merger) runs(width, src scalar.Ref) runs {
	double := m.e.Add(width, width)
	return runs{width, src, double, m.e.Sub(double, m.int(1))}
}

func (m *merger) int(v int64) scalar.Ref { return m.e.Int(types.I64, v) }

// pair is where the two runs begin and end to which element k of the result belongs.
func (m *merger) pair(r runs, k scalar.Ref) (begin, mid, end scalar.Ref) {
	e := m.e
	begin = e.Sub(k, e.And(k, r.mask))
	return begin, e.Min(e.Add(begin, r.width), m.size), e.Min(e.Add(begin, r.double), m.size)
}

// step writes element k of a pass, by way of write, and gives the heads behind it.
func (m *merger) step(r runs, k scalar.Ref, heads []scalar.Ref, write func(f func())) []scalar.Ref {
	p, e := m.p, m.e
	begin, mid, end := m.pair(r, k)
	fresh := e.Eq(k, begin)
	i, j := e.Select(fresh, begin, heads[0]), e.Select(fresh, mid, heads[1])
	// A run that is used up has no head: what is read for it is any element.
	left, right := e.Add(r.src, e.Min(i, m.last)), e.Add(r.src, e.Min(j, m.last))
	x, y := p.Read(m.vals, left), p.Read(m.vals, right)
	takeRight := e.Or(e.Le(mid, i), e.And(e.Lt(j, end), Before(e, y, x)))
	write(func() {
		to := e.Add(e.Sub(m.size, r.src), k)
		p.Write(m.vals, to, e.Select(takeRight, y, x))
		if m.positions {
			p.Write(m.pos, to, p.Read(m.pos, e.Select(takeRight, right, left)))
		}
	})
	step := e.Cast(types.I64, takeRight)
	return []scalar.Ref{e.Add(i, e.Sub(m.int(1), step)), e.Add(j, step)}
}

// always is the write of a step whose element there is.
func always(f func()) { f() }

// Note [Shared merges]
//
// Elements d and following of the merge of two sorted runs can be had without those before them: of the first d, some
// number i comes from the left run and d-i from the right one. An element m of the left run is among them unless the
// right run's element d-1-m is strictly before it, which is so from some m on, so a search by halves finds i. So a pass
// is done by pieces of a few elements, each by itself: a search in at most 2^k elements, k+1 reads of both, and then
// steps as everywhere.

// mergePiece is how many elements of a row of n are merged at a time, so that there are as many pieces as threads,
// where that is possible and a search pays; 0 when the row is too short to be shared.
func mergePiece(n types.Dim) int64 {
	const least, most, threads = 33, 16, 32
	c, literal := n.Const()
	switch {
	case !literal:
		return most / 2
	case c < least:
		return 0
	}
	each := int64(2)
	for ; each < most && each*threads < c; each *= 2 {
	}
	return each
}

// pieces does pass number `pass` by pieces of so many elements.
func (m *merger) pieces(r runs, pass scalar.Ref, each int64) {
	p, e := m.p, m.e
	p.Apart(m.n, each, func(piece scalar.Ref) {
		first := e.Mul(piece, m.int(each))
		begin, mid, end := m.pair(r, first)
		d := e.Sub(first, begin)
		least := e.Max(m.int(0), e.Sub(d, e.Sub(end, mid)))
		most := e.Min(d, e.Sub(mid, begin))
		found := p.Iterate(e.Add(pass, m.int(1)), []scalar.Ref{least, most},
			func(_ scalar.Ref, state []scalar.Ref) ([]scalar.Ref, scalar.Ref) {
				lo, hi := state[0], state[1]
				half := e.Shr(e.Add(lo, hi), m.int(1))
				x := p.Read(m.vals, e.Add(r.src, e.Min(e.Add(begin, half), m.last)))
				y := p.Read(m.vals, e.Add(r.src, e.Min(e.Add(mid, e.Sub(e.Sub(d, m.int(1)), half)), m.last)))
				later := Before(e, y, x)
				open := e.Lt(lo, hi)
				return []scalar.Ref{
					e.Select(e.And(open, e.Not(later)), e.Add(half, m.int(1)), lo),
					e.Select(e.And(open, later), half, hi),
				}, scalar.None
			})
		heads := []scalar.Ref{e.Add(begin, found[0]), e.Add(mid, e.Sub(d, found[0]))}
		c, literal := m.n.Const()
		p.Each(types.Lit(each), heads, func(s scalar.Ref, heads []scalar.Ref) []scalar.Ref {
			k := e.Add(first, s)
			if literal && c%each == 0 {
				return m.step(r, k, heads, always)
			}
			return m.step(r, k, heads, func(f func()) { p.When(e.Lt(k, m.size), f) })
		})
	})
}

// Before reports whether a row sorts x strictly before y: NaN comes last, false before true, and zeros are
// equal.
func Before(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	switch t := e.TypeOf(x); {
	case t == types.Bool:
		return e.And(e.Not(x), y)
	case t.IsFloat():
		return e.Or(e.Lt(x, y), e.And(e.Eq(x, x), e.Ne(y, y)))
	}
	return e.Lt(x, y)
}
