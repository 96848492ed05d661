package schedule

import (
	"fmt"
	"maps"
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// nest decides the loops of a kernel that is no product in tiles, no transposition and no interleaved store.
func (s *scope) nest() []*kernel.Directive {
	if len(s.k.Axes) == 0 {
		return s.inside(s.k.Body)
	}
	before, body := transform.HoistInvariants(s.k)
	out := append(s.windows(before, body), s.inside(&kernel.Block{Stmts: before})...)
	s.define(before)
	known := map[kernel.Ref]bool{}
	for _, st := range before {
		analysis.Define(known, st)
	}
	return append(out, s.unswitch(body, known, maxUnswitched)...)
}

// windows are the directives for axes along which a part of the elements changes (Note [Windows] in
// ir/kernel/analysis).
func (s *scope) windows(before []kernel.Stmt, body *kernel.Block) []*kernel.Directive {
	if s.least {
		return nil
	}
	var out []*kernel.Directive
	for _, a := range analysis.ParallelAxes(s.k, body) {
		if analysis.WindowOf(s.k, before, body, a.Var).Bounded() {
			out = append(out, kernel.NewDirective("window", a.Var).Because("elsewhere all elements stay what they are"))
		}
	}
	return out
}

// at is s with a condition that is a constant, without what is noted in the loops behind it.
func (s *scope) at(c kernel.Ref, x bool) *scope {
	o := *s
	o.settled, o.Lets = maps.Clone(s.settled), maps.Clone(s.Lets)
	o.settled[c] = x
	return &o
}

// unswitch decides which branches are taken before the loops, left more at most, and the loops behind them.
func (s *scope) unswitch(body *kernel.Block, known map[kernel.Ref]bool, left int) []*kernel.Directive {
	c := scalar.None
	if n := analysis.Statements(body); left > 0 && !s.brief {
		if c = s.unswitchable(body, known); c != scalar.None && n > maxUnswitchedCode {
			s.reject("unswitch", fmt.Sprintf("the body of %d statements would stand in the code twice (at most %d)", n,
				maxUnswitchedCode))
			c = scalar.None
		}
	}
	arm := func(taken bool, left int) []*kernel.Directive {
		return s.at(c, taken).unswitch(transform.TakeArm(body, c, taken), known, left)
	}
	if c == scalar.None {
		if c = s.partsAt(body); c != scalar.None {
			return []*kernel.Directive{kernel.NewDirective("unswitch", c).Add(
				kernel.NewDirective("else", scalar.None).Add(arm(false, left)...)).
				Because("all of what the branch takes apart may go the second way")}
		}
		return s.axes(body)
	}
	d := kernel.NewDirective("unswitch", c).Because("the branch goes one way for all iterations")
	d.Add(kernel.NewDirective("then", scalar.None).Add(arm(true, left-1)...))
	if s.agreed[c] && !s.TakesApart(body, c) {
		o := s.at(c, false)
		delete(o.settled, c)
		d.Add(kernel.NewDirective("mixed", scalar.None).Add(o.axes(body)...))
	}
	return []*kernel.Directive{d.Add(kernel.NewDirective("else", scalar.None).Add(arm(false, left-1)...))}
}

// axes decides the loops over the axes of the kernel around a body.
func (s *scope) axes(body *kernel.Block) []*kernel.Directive {
	if s.least {
		return nil
	}
	last := len(s.k.Axes) - 1
	s.outer = 0
	if n, known := s.k.Axes[0].Extent.Dim.Const(); known {
		d := max(s.k.Axes[0].Extent.Div, 1)
		s.outer = (n + d - 1) / d
	}
	var out []*kernel.Directive
	rows := *s
	rows.Lets = maps.Clone(s.Lets)
	if d, r, code := rows.jam(body); d != nil {
		rows.Types = code.Types
		rows.define(code.Before)
		out = append(out, d.Add(rows.parallel(r.Axis.Var, axisBounds(r.Axis), code.Body)...))
	}
	b := axisBounds(s.k.Axes[last])
	if last == 0 {
		b = bounds{split: true}
	}
	return append(out, s.parallel(s.k.Axes[last].Var, b, body)...)
}

// parallel decides a loop whose iterations are independent.
func (s *scope) parallel(v kernel.Ref, b bounds, body *kernel.Block) []*kernel.Directive {
	if d := s.split(v, b, body); d != nil {
		return []*kernel.Directive{d}
	}
	var out []*kernel.Directive
	strip := s.strip(v, b, body)
	if strip != nil {
		out = append(out, strip)
		b = bounds{hi: b.hi, hiKnown: b.hiKnown, split: true}
	}
	w, why := s.vectorWidth(v, body)
	if strip != nil {
		w = min(w, 16)
	}
	if w == 0 {
		s.reject(fmt.Sprintf("vector %%%d", v), why)
		if d := s.batch(v, body); d != nil {
			out = append(out, d)
		} else if d := s.readStreams(v, body); d != nil {
			out = append(out, d)
		}
		return append(out, s.inside(body)...)
	}
	for b.split && s.outer > 0 && int64(w) > s.outer && w > 4 {
		w /= 2
	}
	if n := b.hi - b.lo; b.loKnown && b.hiKnown && !b.split {
		for ; int64(w) > n && w > 4; w /= 2 {
		}
		if n < int64(w) {
			s.reject(fmt.Sprintf("vector %%%d", v), fmt.Sprintf("%d iterations do not fill a vector of %d", n, w))
			return append(out, s.inside(body)...)
		}
	}
	d := kernel.NewDirective("vector", v, int64(w)).Because(why)
	streams := s.streams(v, body, b, w)
	d.Add(streams...)
	if !s.tiled && s.jammed == 0 {
		d.Add(s.prefetches(v, body, len(streams) == 0 && !s.InPlace())...)
	}
	d.Add(s.speculation(body))
	d.Add(s.tails(v, body, w)...)
	d.Add(s.insideVector(v, body, w)...)
	if !s.Maskable(v, body) { // the rest goes one by one
		d.Add(s.inside(body)...)
	}
	return append(out, d)
}

// split is the directive for a range that is cut where conditions in body change (Note [Index-set splitting]). It is
// nil where vectors take the whole body as it is, or not even one of the pieces.
func (s *scope) split(v kernel.Ref, b bounds, body *kernel.Block) *kernel.Directive {
	if s.vector {
		return nil
	}
	if w, _ := s.vectorWidth(v, body); w > 0 {
		return nil
	}
	p := transform.AffineConditionsOf(v, s.Lets, body)
	cuts := slices.DeleteFunc(slices.Clone(p.Cuts), func(c int64) bool {
		return c <= b.lo && b.loKnown || c <= 0 && !b.loKnown || b.hiKnown && c >= b.hi
	})
	if n := len(cuts) + 1; len(p.Conditions) == 0 || n > maxSubranges || n*analysis.Statements(body) > maxSubrangeCode {
		if len(p.Conditions) > 0 {
			s.reject("split", fmt.Sprintf("%d pieces of %d statements are too much code", n, analysis.Statements(body)))
		}
		return nil
	}
	bodies := p.Pieces(body, cuts, b.lo, b.loKnown)
	vectors := false
	for _, piece := range bodies {
		w, _ := s.vectorWidth(v, piece)
		vectors = vectors || w > 0
	}
	if !vectors {
		s.reject("split", "no piece could be vectors")
		return nil
	}
	d := kernel.NewDirective("split", v, cuts...).Because("conditions on the position are constants in each piece")
	for i, piece := range bodies {
		part := b
		if i > 0 {
			part.lo, part.loKnown = cuts[i-1], true
		}
		if i < len(cuts) {
			part.hi, part.hiKnown = cuts[i], true
		}
		if !b.loKnown { // both ends are clamped to the range
			part.loKnown, part.hiKnown = false, false
		} else if !b.hiKnown && i < len(cuts) {
			part.hiKnown = false
		}
		if !b.hiKnown && i > 0 {
			part.loKnown = false
		}
		d.Add(kernel.NewDirective("part", scalar.None).Add(s.parallel(v, part, piece)...))
	}
	return d
}

// inside decides the loops that stand in a body which runs one iteration after the other.
func (s *scope) inside(body *kernel.Block) []*kernel.Directive {
	if s.least {
		return nil
	}
	var out []*kernel.Directive
	for _, st := range body.Stmts {
		switch st := st.(type) {
		case *kernel.Loop:
			if st.Parallel {
				out = append(out, s.parallel(st.Axis.Var, axisBounds(st.Axis), st.Body)...)
			} else {
				out = append(out, s.inside(st.Body)...)
			}
		case *kernel.Iterate:
			out = append(out, s.inside(st.Body)...)
		case *kernel.Reduce:
			out = append(out, s.reduction(st)...)
		case *kernel.If:
			switch x, known := s.constant(st.Cond); {
			case known && x:
				out = append(out, s.inside(st.Then)...)
			case known:
				out = append(out, s.inside(st.Else)...)
			default:
				out = append(out, s.inside(st.Then)...)
				out = append(out, s.inside(st.Else)...)
			}
		}
		s.define([]kernel.Stmt{st})
	}
	return unique(out)
}

// unique leaves out directives for a loop that has one of the kind already: bodies that stand in the code twice.
func unique(ds []*kernel.Directive) []*kernel.Directive {
	var out []*kernel.Directive
	for _, d := range ds {
		if d.On == scalar.None || kernel.Directives(out).Find(d.Kind, d.On) == nil {
			out = append(out, d)
		}
	}
	return out
}
