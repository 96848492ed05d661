package transform

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Index-set splitting]
//
// A concat or a pad along the vectorised axis chooses by position what to read:
//
//	%3: f32 = if j < 1000 { load a[i, j] } else { load b[i, j - 1000] }
//
// A vector cannot take both arms, since that would read outside of the tensors, and one by one is slow. So the range is
// cut where such conditions change, and in each piece they are constants: plain vector code of one arm. A flipped or
// shifted concat has conditions on 1999 - j or j + 5, whose places follow as well.
//
// Where the inner part of a matrix is replaced, the condition asks about the row, too, which is the same for all
// positions: in the pieces it is left alone, and in those where the rest does not hold the whole does not.

// AffineConditions finds out which conditions depend on a loop variable and constants alone.
type AffineConditions struct {
	V          kernel.Ref
	Lets       map[kernel.Ref]*scalar.Instr // of the body
	Outside    map[kernel.Ref]*scalar.Instr // of what comes before it
	Conditions []kernel.Ref
	Cuts       []int64 // each of them is the same for all positions between two of these

	mixed map[kernel.Ref]mixed // those of Conditions that ask about something else, too
}

// mixed is a condition that holds where all of some affine ones do and another one, which was computed before the loop.
type mixed struct {
	affine []kernel.Ref
	fixed  kernel.Ref
}

// AffineConditionsOf looks through the branches of a loop over v, before which outside was computed. The cuts are in
// order, each of them once.
func AffineConditionsOf(v kernel.Ref, outside map[kernel.Ref]*scalar.Instr, body *kernel.Block) *AffineConditions {
	p := &AffineConditions{V: v, Lets: map[kernel.Ref]*scalar.Instr{}, Outside: outside,
		mixed: map[kernel.Ref]mixed{}}
	p.block(body)
	slices.Sort(p.Cuts)
	p.Cuts = slices.Compact(p.Cuts)
	return p
}

// Pieces are the bodies of the parts of the range that begins at first, if that is known, and is cut at cuts.
func (p *AffineConditions) Pieces(body *kernel.Block, cuts []int64, first int64, known bool) []*kernel.Block {
	pieces := make([]*kernel.Block, len(cuts)+1)
	for i := range pieces {
		at := first
		if i > 0 {
			at = cuts[i-1]
		} else if !known && len(cuts) > 0 {
			at = cuts[0] - 1
		}
		pieces[i] = p.at(at, body)
	}
	return pieces
}

func (p *AffineConditions) let(r kernel.Ref) *scalar.Instr {
	if in := p.Lets[r]; in != nil {
		return in
	}
	return p.Outside[r]
}

// block looks at the branches of b, those in branches included, in order.
func (p *AffineConditions) block(b *kernel.Block) {
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Let:
			if st.ID != scalar.None {
				p.Lets[st.ID] = &st.In
			}
		case *kernel.If:
			if cuts, ok := p.changes(st.Cond); ok && len(cuts) > 0 {
				p.Conditions = append(p.Conditions, st.Cond)
				p.Cuts = append(p.Cuts, cuts...)
			} else if !ok {
				p.conjunction(st.Cond)
			}
			p.block(st.Then)
			p.block(st.Else)
		}
	}
}

// conjunction looks at a condition that is affine ones and one that is the same for all positions.
func (p *AffineConditions) conjunction(cond kernel.Ref) {
	m := mixed{fixed: scalar.None}
	var cuts []int64
	var look func(r kernel.Ref) bool
	look = func(r kernel.Ref) bool {
		if at, ok := p.changes(r); ok {
			m.affine, cuts = append(m.affine, r), append(cuts, at...)
			return true
		}
		if in := p.Lets[r]; in != nil {
			return in.Op == scalar.And && in.Type == types.Bool && look(in.Args[0]) && look(in.Args[1])
		}
		if p.Outside[r] == nil || m.fixed != scalar.None && m.fixed != r {
			return false
		}
		m.fixed = r
		return true
	}
	if look(cond) && len(cuts) > 0 && m.fixed != scalar.None {
		p.Conditions, p.Cuts, p.mixed[cond] = append(p.Conditions, cond), append(p.Cuts, cuts...), m
	}
}

// changes returns the positions at which a condition may become another one.
func (p *AffineConditions) changes(cond kernel.Ref) ([]int64, bool) {
	in := p.let(cond)
	if in == nil {
		return nil, false
	}
	switch in.Op {
	case scalar.And, scalar.Or:
		if in.Type != types.Bool {
			return nil, false
		}
		x, ok1 := p.changes(in.Args[0])
		y, ok2 := p.changes(in.Args[1])
		return append(x, y...), ok1 && ok2
	case scalar.Lt, scalar.Le, scalar.Eq, scalar.Ne:
		x, ok1 := p.affineOf(in.Args[0])
		y, ok2 := p.affineOf(in.Args[1])
		slope, at := x.slope-y.slope, y.start-x.start // slope*v against at
		if !ok1 || !ok2 {
			return nil, false
		}
		if slope == 0 {
			return nil, true
		}
		zero := floorDiv(at, slope) // the last position that is not beyond the place where both are equal
		var cuts []int64
		for _, c := range []int64{zero, zero + 1} {
			if p.holds(cond, c-1) != p.holds(cond, c) {
				cuts = append(cuts, c)
			}
		}
		return cuts, true
	}
	return nil, false
}

// affine is slope*v + start.
type affine struct{ slope, start int64 }

// maxAffine bounds the numbers of a line, so that none overflows where positions are below 2^31.
const maxAffine = 1 << 31

func (p *AffineConditions) affineOf(r kernel.Ref) (affine, bool) {
	if r == p.V {
		return affine{1, 0}, true
	}
	in := p.let(r)
	if in == nil || in.Type != types.I64 {
		return affine{}, false
	}
	if in.Op == scalar.Const {
		c := int64(in.Imm)
		return affine{0, c}, -maxAffine <= c && c <= maxAffine
	}
	var x, y affine
	ok := true
	switch in.Op {
	case scalar.Add, scalar.Sub, scalar.Mul:
		var ok2 bool
		x, ok = p.affineOf(in.Args[0])
		y, ok2 = p.affineOf(in.Args[1])
		ok = ok && ok2
	case scalar.Neg:
		y, ok = p.affineOf(in.Args[0])
	default:
		return affine{}, false
	}
	var out affine
	switch in.Op {
	case scalar.Add:
		out = affine{x.slope + y.slope, x.start + y.start}
	case scalar.Mul:
		if x.slope != 0 {
			x, y = y, x
		}
		ok = ok && x.slope == 0
		out = affine{x.start * y.slope, x.start * y.start}
	default:
		out = affine{x.slope - y.slope, x.start - y.start}
	}
	small := func(n int64) bool { return -maxAffine <= n && n <= maxAffine }
	return out, ok && small(out.slope) && small(out.start)
}

// floorDiv is a/b, rounded down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// holds is the condition at a position.
func (p *AffineConditions) holds(cond kernel.Ref, at int64) bool {
	in := p.let(cond)
	switch in.Op {
	case scalar.And:
		return p.holds(in.Args[0], at) && p.holds(in.Args[1], at)
	case scalar.Or:
		return p.holds(in.Args[0], at) || p.holds(in.Args[1], at)
	}
	x, _ := p.affineOf(in.Args[0])
	y, _ := p.affineOf(in.Args[1])
	a, b := x.slope*at+x.start, y.slope*at+y.start
	switch in.Op {
	case scalar.Lt:
		return a < b
	case scalar.Le:
		return a <= b
	case scalar.Eq:
		return a == b
	}
	return a != b
}

// all reports whether all of these conditions hold at a position.
func (p *AffineConditions) all(conds []kernel.Ref, at int64) bool {
	return !slices.ContainsFunc(conds, func(r kernel.Ref) bool { return !p.holds(r, at) })
}

// at is the body with the conditions as they are at a position. Of their branches the arm that is not taken is empty.
func (p *AffineConditions) at(at int64, b *kernel.Block) *kernel.Block {
	out := &kernel.Block{Stmts: slices.Clone(b.Stmts)}
	for i, st := range out.Stmts {
		switch st := st.(type) {
		case *kernel.Let:
			if slices.Contains(p.Conditions, st.ID) {
				if m := p.mixed[st.ID]; m.affine == nil {
					out.Stmts[i] = boolConst(st.ID, p.holds(st.ID, at))
				} else if !p.all(m.affine, at) {
					out.Stmts[i] = boolConst(st.ID, false)
				}
			}
		case *kernel.Load: // of a row of conditions, which are the same in all rows
			if slices.Contains(p.Conditions, st.ID) {
				out.Stmts[i] = boolConst(st.ID, p.holds(st.ID, at))
			}
		case *kernel.If:
			c := *st
			c.Then, c.Else = p.at(at, st.Then), p.at(at, st.Else)
			if m := p.mixed[st.Cond]; m.affine != nil {
				if p.all(m.affine, at) {
					c.Cond = m.fixed
				} else {
					c.Then, c.ThenVals = &kernel.Block{}, c.ElseVals
				}
			} else if slices.Contains(p.Conditions, st.Cond) {
				if p.holds(st.Cond, at) {
					c.Else, c.ElseVals = &kernel.Block{}, c.ThenVals
				} else {
					c.Then, c.ThenVals = &kernel.Block{}, c.ElseVals
				}
			}
			out.Stmts[i] = &c
		}
	}
	return out
}
