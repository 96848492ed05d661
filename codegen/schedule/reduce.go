package schedule

import (
	"fmt"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Along is how many elements of a reduction can be evaluated at once along its last axis, 0 for one by one. A vector
// never crosses the end of a row.
func (c Code) Along(r *kernel.Reduce) (w int, sh analysis.Shape) {
	w, sh = c.along(r)
	if len(r.Axes) > 1 {
		b := axisBounds(r.Axes[len(r.Axes)-1])
		if w == 0 || !b.hiKnown || (b.hi-b.lo)%int64(w) != 0 {
			return 0, sh
		}
	}
	return w, sh
}

// along is Along for vectors of which the last of a row need not be whole.
func (c Code) along(r *kernel.Reduce) (w int, sh analysis.Shape) {
	if len(r.Axes) == 0 {
		return 0, sh
	}
	last := r.Axes[len(r.Axes)-1]
	a := &analysis.Analysis{Types: c.Types, Wide: map[kernel.Ref]bool{last.Var: true}, Checks: true}
	sh, ok := a.Block(r.Body)
	if !ok || sh.Long {
		return 0, sh
	}
	w = 16
	if max(sh.MaxBytes, r.Type.Bytes()) > 4 {
		w = 8
	}
	return w, sh
}

// raggedRows is how many elements of a reduction over several axes are evaluated at once where rows of the last axis
// end in vectors under a mask, 0 where they do not.
func (s *scope) raggedRows(r *kernel.Reduce) (w int, sh analysis.Shape) {
	w, sh = s.along(r)
	if len(r.Axes) < 2 || r.Order == kernel.Columns || analysis.IsArgument(r) ||
		sh.Instrs >= s.Machine.Profile.Reduce.LongBody || w > 0 && !s.Maskable(r.Axes[len(r.Axes)-1].Var, r.Body) {
		return 0, sh
	}
	return w, sh
}

// reduction decides a reduction in code that is no vector, and the loops inside of its body.
func (s *scope) reduction(r *kernel.Reduce) []*kernel.Directive {
	w, sh := s.Along(r)
	ragged := false
	if w == 0 {
		w, sh = s.raggedRows(r)
		ragged = w > 0
	}
	var out []*kernel.Directive
	if w > 0 {
		last := r.Axes[len(r.Axes)-1].Var
		d := kernel.NewDirective("vector", last, int64(w)).Add(s.insideVector(last, r.Body, w)...).
			Because(fmt.Sprintf("instructions for an element of the reduction: %d", sh.Instrs))
		d.Add(s.readAhead(r.Body)...)
		if s.Maskable(last, r.Body) {
			d.Add(kernel.NewDirective("mask", scalar.None))
		}
		if ragged {
			d.Add(kernel.NewDirective("ragged", scalar.None))
		}
		out = append(out, d)
	}
	return append(out, s.inside(r.Body)...) // of elements that fill no vector
}
