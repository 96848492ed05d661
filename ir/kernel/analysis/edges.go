package analysis

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Edges]
//
// A kernel that has the elements of other ranks in parameters of their own reads those at the edges of its outermost
// axis alone, as its conditions tell:
//
//	over i { if i < 1 { load before[i, j] } else { load x[i - 1, j] } }
//
// What is between the edges can be computed before those elements have come.

// Edge is at how many of the first and of the last indices of the outermost axis a kernel may read a parameter.
type Edge struct{ First, Last int64 }

// EdgesOf has an edge for each parameter of a kernel; nil where that is not known. Those that are read everywhere have
// edges that are all of the axis.
func EdgesOf(k *kernel.Kernel) []Edge {
	if len(k.Axes) == 0 || k.Axes[0].Begin != 0 || k.Axes[0].Extent.Div > 1 {
		return nil
	}
	n, literal := k.Axes[0].Extent.Dim.Const()
	if !literal || n > maxIndex {
		return nil
	}
	e := &edges{k: k, axis: k.Axes[0].Var, all: indices{0, n}, defs: map[kernel.Ref]*scalar.Instr{},
		lines: map[kernel.Ref]line{}, found: map[holding]indices{}}
	k.Body.Walk(func(st kernel.Stmt) {
		if let, ok := st.(*kernel.Let); ok && let.ID != scalar.None {
			e.defs[let.ID] = &let.In
		}
	})
	e.of = make([]Edge, len(k.Params))
	e.reads(k.Body, e.all)
	return e.of
}

// maxIndex bounds indices, and what is added to them, so that their sum is an i32.
const maxIndex = 1 << 30

// indices are those from lo on and before hi.
type indices struct{ lo, hi int64 }

func (x indices) none() bool { return x.lo >= x.hi }

// both are those that x and y have.
func (x indices) both(y indices) indices { return indices{max(x.lo, y.lo), min(x.hi, y.hi)} }

// either has those of x and of y.
func (x indices) either(y indices) indices {
	switch {
	case x.none():
		return y
	case y.none():
		return x
	}
	return indices{min(x.lo, y.lo), max(x.hi, y.hi)}
}

// line is slope times the index plus at, and perhaps a number of which nothing is known, such as where the part of this
// rank begins. Where that goes away again, what is left is right even if something between has overflowed.
type line struct {
	slope, at int64
	of        kernel.Ref
	times     int64
	ok        bool
}

// holding is where a condition may hold, or fail.
type holding struct {
	ref   kernel.Ref
	holds bool
}

type edges struct {
	k     *kernel.Kernel
	axis  kernel.Ref
	all   indices
	defs  map[kernel.Ref]*scalar.Instr
	lines map[kernel.Ref]line
	found map[holding]indices // a condition is looked at once, however many read it
	of    []Edge
}

// reads notes where a block, which is executed at these indices, reads parameters.
func (e *edges) reads(b *kernel.Block, at indices) {
	if at.none() {
		return
	}
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Load:
			of := &e.of[st.Param]
			if first, last := at.hi, e.all.hi-at.lo; first <= last {
				of.First = max(of.First, first)
			} else {
				of.Last = max(of.Last, last)
			}
		case *kernel.If:
			e.reads(st.Then, at.both(e.where(st.Cond, true)))
			e.reads(st.Else, at.both(e.where(st.Cond, false)))
		case *kernel.Loop:
			e.reads(st.Body, at)
		case *kernel.Iterate:
			e.reads(st.Body, at)
		case *kernel.Reduce:
			e.reads(st.Body, at)
		}
	}
}

// where is where a condition may hold, or fail.
func (e *edges) where(ref kernel.Ref, holds bool) indices {
	at, known := e.found[holding{ref, holds}]
	if !known {
		at = e.findWhere(ref, holds)
		e.found[holding{ref, holds}] = at
	}
	return at
}

func (e *edges) findWhere(ref kernel.Ref, holds bool) indices {
	in := e.defs[ref]
	if in == nil {
		return e.all
	}
	switch in.Op {
	case scalar.Not:
		return e.where(in.Args[0], !holds)
	case scalar.And, scalar.Or:
		x, y := e.where(in.Args[0], holds), e.where(in.Args[1], holds)
		if (in.Op == scalar.And) == holds {
			return x.both(y)
		}
		return x.either(y)
	case scalar.Lt:
		return e.below(in.Args[0], in.Args[1], 0, holds)
	case scalar.Le:
		return e.below(in.Args[0], in.Args[1], 1, holds)
	}
	return e.all
}

// below is where x < y + more may hold, or fail.
func (e *edges) below(x, y kernel.Ref, more int64, holds bool) indices {
	a, b := e.lineOf(x), e.lineOf(y)
	if !a.ok || !b.ok || a.times != 0 || b.times != 0 {
		return e.all
	}
	slope, at := a.slope-b.slope, b.at+more-a.at // slope * i < at
	if !holds {                                  // slope * i >= at, so -slope * i < 1 - at
		slope, at = -slope, 1-at
	}
	switch {
	case slope == 1:
		return e.all.both(indices{0, at})
	case slope == -1:
		return e.all.both(indices{1 - at, e.all.hi})
	case slope == 0 && at <= 0:
		return indices{}
	}
	return e.all
}

// lineOf is what is known of a number.
func (e *edges) lineOf(ref kernel.Ref) line {
	l, known := e.lines[ref]
	if !known {
		l = e.findLine(ref)
		one := func(n int64) bool { return -1 <= n && n <= 1 }
		l.ok = l.ok && one(l.slope) && one(l.times) && -maxIndex <= l.at && l.at <= maxIndex
		e.lines[ref] = l
	}
	return l
}

func (e *edges) findLine(ref kernel.Ref) line {
	if ref == e.axis {
		return line{slope: 1, ok: true}
	}
	unknown := line{of: ref, times: 1, ok: true}
	in := e.defs[ref]
	if in == nil || in.Type != types.I64 && in.Type != types.I32 {
		return unknown
	}
	var l line
	switch in.Op {
	case scalar.Const:
		l = line{at: int64(in.Imm), ok: true}
		if in.Type == types.I32 {
			l.at = int64(int32(in.Imm))
		}
	case scalar.Add:
		l = e.lineOf(in.Args[0]).plus(e.lineOf(in.Args[1]), 1)
	case scalar.Sub:
		l = e.lineOf(in.Args[0]).plus(e.lineOf(in.Args[1]), -1)
	case scalar.Cast:
		from := e.k.Types[in.Args[0]]
		if l = e.lineOf(in.Args[0]); from != types.I64 && (from != types.I32 || l.times != 0 && in.Type == types.I64) {
			return unknown
		}
	default:
		return unknown
	}
	if !l.ok {
		return unknown
	}
	return l
}

// plus is l and sign times m.
func (l line) plus(m line, sign int64) line {
	if l.times == 0 {
		l.of = m.of
	}
	out := line{l.slope + sign*m.slope, l.at + sign*m.at, l.of, l.times + sign*m.times, l.ok && m.ok}
	out.ok = out.ok && (m.times == 0 || l.of == m.of)
	return out
}
