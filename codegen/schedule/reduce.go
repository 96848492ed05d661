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
	if len(r.Axes) > 1 {
		b := axisBounds(last)
		if !b.hiKnown || (b.hi-b.lo)%int64(w) != 0 {
			return 0, sh
		}
	}
	return w, sh
}

// reduction decides a reduction in code that is no vector, and the loops inside of its body.
func (s *scope) reduction(r *kernel.Reduce) []*kernel.Directive {
	w, sh := s.Along(r)
	var out []*kernel.Directive
	if w > 0 {
		last := r.Axes[len(r.Axes)-1].Var
		d := kernel.NewDirective("vector", last, int64(w)).Add(s.insideVector(last, r.Body, w)...).
			Because(fmt.Sprintf("instructions for an element of the reduction: %d", sh.Instrs))
		d.Add(s.readAhead(r.Body)...)
		if s.Maskable(last, r.Body) {
			d.Add(kernel.NewDirective("mask", scalar.None))
		}
		out = append(out, d)
	}
	return append(out, s.inside(r.Body)...) // of elements that fill no vector
}
