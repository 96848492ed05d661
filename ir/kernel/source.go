package kernel

import (
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// Source is where in the source the operations stand that scalars are part of, by Ref. It may end before the scalars
// do.
type Source []diag.Span

// At is where r comes from, an invalid span when that is not known.
func (s Source) At(r Ref) diag.Span {
	if r < 0 || int(r) >= len(s) {
		return diag.Span{}
	}
	return s[r]
}

// Of is where a statement comes from: the operation that its scalar is part of, of a store that of the value, of a
// check that of what is checked.
func (s Source) Of(st Stmt) diag.Span {
	r := scalar.None
	either := func(ids []Ref, or Ref) {
		if r = or; len(ids) > 0 {
			r = ids[0]
		}
	}
	switch st := st.(type) {
	case *Let:
		if r = st.ID; r < 0 {
			r = st.In.Args[0]
		}
	case *DimValue:
		r = st.ID
	case *Load:
		r = st.ID
	case *Store:
		r = st.Val
	case *Reduce:
		r = st.ID
	case *Loop:
		either(st.IDs, st.Axis.Var)
	case *Iterate:
		either(st.IDs, st.Var)
	case *If:
		either(st.IDs, st.Cond)
	case *Call:
		either(st.IDs, scalar.None)
	case *Transform:
		r = st.ID
	}
	return s.At(r)
}

// Product is the place of the matrix product that a kernel is, an invalid span where it is none.
func (k *Kernel) Product() (at diag.Span) {
	if k.Contract == nil {
		return at
	}
	Each(k.Body, func(l *Loop) {
		if l.Axis.Var == k.Contract.Along {
			at = k.Source.Of(l)
		}
	})
	return at
}

// Places numbers places of the source from 1, for code that has a number where debugging information has a line: a
// line and a column do not tell an expression from another one that begins there. Number 1 is no place.
type Places struct {
	at     []diag.Span
	number map[diag.Span]int
}

// Number is that of a place.
func (p *Places) Number(at diag.Span) int {
	if p.number == nil {
		p.number = map[diag.Span]int{{}: 1}
		p.at = []diag.Span{{}}
	}
	n := p.number[at]
	if n == 0 {
		p.at = append(p.at, at)
		n = len(p.at)
		p.number[at] = n
	}
	return n
}

// At is the place with a number, an invalid span where there is none.
func (p *Places) At(n int) diag.Span {
	if n < 1 || n > len(p.at) {
		return diag.Span{}
	}
	return p.at[n-1]
}

// SiteAt is the place of a span; Kind and Op are left to fill in.
func SiteAt(at diag.Span) abi.Site {
	if !at.Valid() {
		return abi.Site{}
	}
	pos := at.Pos()
	s := abi.Site{File: pos.File, Line: pos.Line, Col: pos.Col, Text: at.File.Line(pos.Line)}
	if at.Caller != nil {
		caller := SiteAt(*at.Caller)
		s.Caller = &caller
	}
	return s
}
