package transform

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Collapsed axes]
//
// Lattice cryptography keeps one modulus for each position of a short last axis: i64[reps, n, 4] modulo i64[4]. Vectors
// along four elements are no vectors, and the reciprocal of a modulus is a hundred times the work of a product by it.
// So the last two axes are made one, c = i*4 + j, where memory is contiguous along it. All that depends on j alone (the
// moduli, values computed from them, and the checks of them) is computed before the loops, for each j once, into rows
// on the stack that go on from the beginning for one more vector: the values for the elements from c on are then those
// from c modulo 4 on, neighbours as any others.
//
// A branch on such a value, as between ways to multiply by the size of the modulus, is no branch within a vector where
// all j agree: an arm that none of them takes is jumped over.

// MaxPeriod is how many elements a last axis has at most that is collapsed, PeriodTail how many more its rows have, the
// elements of the longest vector.
const (
	MaxPeriod  = 128
	PeriodTail = 128
)

// Collapsed is a kernel with rows for its last axis, which may be one with the axis before.
type Collapsed struct {
	K       *kernel.Kernel // after the change; Axes end with the joined one
	N       int64          // elements of the last axis before it
	Joined  bool           // the last two axes became one
	Scaled  bool           // the joined axis is the one that the runtime splits
	J       kernel.Ref     // the last axis
	Before  []kernel.Stmt  // the same for all elements
	Rows    []kernel.Stmt  // the same for all with the same J
	Kept    []KeptRow
	Phase   kernel.Ref // c modulo N; None when the axes are as they were
	Work    int        // instructions of Rows
	Divides bool       // one of them divides
}

// KeptRow is a value of the statements in Rows that the rest reads, by way of a parameter that is memory on the stack.
type KeptRow struct {
	Ref   kernel.Ref
	Param int
}

// Collapse computes what depends on the last axis alone before the loops, and makes the last two axes one when joined
// says so. For a kernel without a short last axis, and
// where that cannot be done, it says why.
func Collapse(k *kernel.Kernel, joined bool) (p *Collapsed, why string) {
	last := len(k.Axes) - 1
	if last < 1 {
		return nil, "it has one axis"
	}
	n, ok := k.Axes[last].Extent.Dim.Const()
	if !ok || n < 2 || n > MaxPeriod {
		return nil, "the last axis is not one of 2 to 128"
	}
	for i, a := range k.Axes {
		size, known := a.Extent.Dim.Const()
		if a.Begin != 0 || a.Extent.Div > 1 || i > 0 && (!known || size < 1) {
			return nil, "the extents are not known, or an axis begins elsewhere"
		}
	}
	for _, p := range k.Params {
		if p.Local || p.Work {
			return nil, "it has work memory"
		}
	}
	p = &Collapsed{N: n, Joined: joined, Scaled: joined && last == 1, J: k.Axes[last].Var, Phase: scalar.None}
	ts := slices.Clone(k.Types)
	newRef := func(t types.DType) kernel.Ref {
		ts = append(ts, t)
		return kernel.Ref(len(ts) - 1)
	}
	outer := k.Axes[last-1]
	split := &collapser{p: p, params: k.Params, joined: joined, i: outer.Var,
		of: map[kernel.Ref]dependence{p.J: ofLast}}
	for _, a := range k.Axes[:last] {
		split.of[a.Var] = ofOthers
	}
	if joined {
		split.c = newRef(types.I64)
	}
	rest, ok := split.block(k.Body, false)
	if ok && joined { // the axes themselves are no values any more
		kernel.Visitor{Read: func(r *kernel.Ref) { ok = ok && *r != outer.Var && *r != p.J }}.All(rest)
	}
	if !ok {
		return nil, "a place, a check or a loop cannot be said with the joined axis"
	}
	p.Work, p.Divides = split.work, split.divides
	p.K = &kernel.Kernel{Name: k.Name, Params: slices.Clone(k.Params), Axes: k.Axes, Notes: k.Notes}
	var head []kernel.Stmt
	at := p.J
	if joined {
		extent, err := outer.Extent.Dim.Mul(types.Lit(n))
		if err != nil {
			return nil, "the axes together are too long"
		}
		p.K.Axes = append(slices.Clone(k.Axes[:last-1]), kernel.Axis{Var: split.c, Extent: abi.Extent{Dim: extent}})
		size := newRef(types.I64)
		p.Phase = newRef(types.I64)
		at = p.Phase
		head = []kernel.Stmt{
			&kernel.Let{ID: size, In: scalar.Instr{Op: scalar.Const, Type: types.I64,
				Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}, Imm: uint64(n)}},
			&kernel.Let{ID: p.Phase, In: scalar.Instr{Op: scalar.Rem, Type: types.I64,
				Args: [3]kernel.Ref{split.c, size, scalar.None}}},
		}
	}
	for _, st := range append(slices.Clone(p.Before), p.Rows...) {
		if let, ok := st.(*kernel.Let); ok && let.In.Op == scalar.Const {
			head = append(head, let)
		}
	}
	for _, r := range split.read(rest) {
		p.Kept = append(p.Kept, KeptRow{r, len(p.K.Params)})
		head = append(head, &kernel.Load{ID: r, Param: len(p.K.Params),
			At: kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: at}}}})
		p.K.Params = append(p.K.Params, kernel.Param{Name: "row", DType: analysis.ArithmeticType(k.Types[r]),
			Local: true,
			Shape: []abi.Extent{{Dim: types.Lit(n + PeriodTail)}}})
	}
	p.K.Types, p.K.Source = ts, k.Source
	p.K.Body = &kernel.Block{Stmts: append(head, rest.Stmts...)}
	return p, ""
}

// dependence says with which axes a value changes.
type dependence uint8

const (
	ofNone   dependence = iota
	ofLast              // with j
	ofOthers            // with others
)

// collapser takes the statements of a body apart.
type collapser struct {
	p       *Collapsed
	params  []kernel.Param
	joined  bool // i and j become c
	i, c    kernel.Ref
	of      map[kernel.Ref]dependence // of what was defined; refs of loops inside are ofOthers
	checked bool                      // a check stays where it is
	rowFail bool                      // a check went into the rows
	work    int                       // instructions of the rows
	divides bool
}

func (s *collapser) args(refs ...kernel.Ref) dependence {
	d := ofNone
	for _, r := range refs {
		if r != scalar.None {
			d = max(d, s.of[r])
		}
	}
	return d
}

// take moves a statement before the loops.
func (s *collapser) take(st kernel.Stmt, d dependence) {
	if d == ofNone && !s.rowFail {
		s.p.Before = append(s.p.Before, st)
	} else {
		s.p.Rows = append(s.p.Rows, st)
	}
}

// access gives the place after the two axes became one; ok is false when it cannot be said with the new one.
func (s *collapser) access(at kernel.Access) (out kernel.Access, d dependence, ok bool) {
	if !s.joined {
		for _, t := range at.Terms {
			d = max(d, s.of[t.Var])
		}
		return at, d, true
	}
	var outer, last types.Dim
	out.Offset = at.Offset
	var rest []kernel.Term
	for _, t := range at.Terms {
		switch {
		case t.Var == s.i && outer.IsConst(0):
			outer = t.Coef
		case t.Var == s.p.J && last.IsConst(0):
			last = t.Coef
		case t.Var == s.i || t.Var == s.p.J:
			return at, ofOthers, false
		default:
			rest = append(rest, t)
			d = max(d, s.of[t.Var])
		}
	}
	switch {
	case outer.IsConst(0) && last.IsConst(0):
		out.Terms = rest
		return out, d, true
	case outer.IsConst(0):
		return at, max(d, ofLast), d != ofOthers // j is no value any more where it would have to be read again
	}
	whole, err := last.Mul(types.Lit(s.p.N))
	if err != nil || !whole.Equal(outer) {
		return at, ofOthers, false
	}
	out.Terms = append(rest, kernel.Term{Coef: last, Var: s.c})
	return out, ofOthers, true
}

// block moves statements of b before the loops where it can, and returns the rest, with the new axis. Out of an arm
// only statements may go that can neither fail nor read.
func (s *collapser) block(b *kernel.Block, arm bool) (*kernel.Block, bool) {
	out := &kernel.Block{}
	for _, st := range b.Stmts {
		next, ok := s.stmt(st, arm)
		if !ok {
			return nil, false
		}
		if next != nil {
			out.Stmts = append(out.Stmts, next)
		}
	}
	return out, true
}

func (s *collapser) set(d dependence, refs ...kernel.Ref) {
	for _, r := range refs {
		if r != scalar.None {
			s.of[r] = d
		}
	}
}

func (s *collapser) stmt(st kernel.Stmt, arm bool) (rest kernel.Stmt, ok bool) {
	switch st := st.(type) {
	case *kernel.Let:
		d := s.args(st.In.Args[:]...)
		switch {
		case st.In.Op == scalar.Check:
			if d == ofOthers || arm || s.checked {
				s.checked = true
				return st, true
			}
			s.take(st, d)
			s.rowFail = s.rowFail || d == ofLast
			return nil, true
		case d == ofOthers || arm && (st.In.Op == scalar.Div || st.In.Op == scalar.Rem):
			s.set(ofOthers, st.ID)
			return st, true
		}
		if d == ofLast {
			s.work++
			s.divides = s.divides || st.In.Op == scalar.Div
		}
		s.set(d, st.ID)
		s.take(st, d)
		return nil, true
	case *kernel.DimValue:
		s.take(st, ofNone)
		return nil, true
	case *kernel.Load:
		at, d, ok := s.access(st.At)
		if !ok {
			return nil, false
		}
		if d != ofOthers && !arm && !s.checked && !s.params[st.Param].Out {
			s.set(d, st.ID)
			s.take(st, d)
			return nil, true
		}
		s.set(ofOthers, st.ID)
		return &kernel.Load{ID: st.ID, Param: st.Param, At: at}, d != ofLast || !s.joined
	case *kernel.Store:
		at, d, ok := s.access(st.At)
		return &kernel.Store{Param: st.Param, At: at, Val: st.Val}, ok && d == ofOthers
	case *kernel.Loop:
		if st.Parallel {
			return nil, false
		}
		return s.loop(st, arm)
	case *kernel.Reduce:
		return s.reduce(st, arm)
	case *kernel.If:
		then, ok1 := s.block(st.Then, true)
		other, ok2 := s.block(st.Else, true)
		s.set(ofOthers, st.IDs...)
		return &kernel.If{Cond: st.Cond, Then: then, Else: other, ThenVals: st.ThenVals, ElseVals: st.ElseVals,
			IDs: st.IDs, Choices: st.Choices}, ok1 && ok2
	}
	return nil, false // calls and loops of unknown length
}

// nonEmpty says that a loop runs at least once, so that its statements may be computed before it.
func nonEmpty(axes ...kernel.Axis) bool {
	for _, a := range axes {
		if n, ok := a.Extent.Dim.Const(); !ok || n <= a.Begin {
			return false
		}
	}
	return true
}

func (s *collapser) loop(st *kernel.Loop, arm bool) (kernel.Stmt, bool) {
	s.set(ofOthers, append([]kernel.Ref{st.Axis.Var}, st.Vars...)...)
	body, ok := s.block(st.Body, arm || !nonEmpty(st.Axis))
	s.set(ofOthers, st.IDs...)
	l := *st
	l.Body = body
	return &l, ok
}

func (s *collapser) reduce(st *kernel.Reduce, arm bool) (kernel.Stmt, bool) {
	if st.Chunk != scalar.None {
		return nil, false
	}
	for _, a := range st.Axes {
		s.set(ofOthers, a.Var)
	}
	body, ok := s.block(st.Body, arm || !nonEmpty(st.Axes...))
	s.set(ofOthers, st.ID)
	r := *st
	r.Body = body
	return &r, ok && s.of[st.Val] == ofOthers // else the reduction is of j alone, and there are none
}

// read lists the values of the rows that the statements of b read.
func (s *collapser) read(b *kernel.Block) []kernel.Ref {
	rows := map[kernel.Ref]bool{}
	for _, st := range s.p.Rows {
		if let, ok := st.(*kernel.Let); !ok || let.In.Op != scalar.Const {
			analysis.Define(rows, st)
		}
	}
	delete(rows, scalar.None)
	var out []kernel.Ref
	kernel.Visitor{Read: func(r *kernel.Ref) {
		if rows[*r] {
			out = append(out, *r)
			delete(rows, *r)
		}
	}}.All(b)
	return out
}
