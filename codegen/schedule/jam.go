package schedule

import (
	"fmt"

	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// jam is the directive for rows that go side by side (Note [Unroll and jam]), and the body of the loop over them; nil
// where they go one by one.
func (s *scope) jam(body *kernel.Block) (*kernel.Directive, *transform.Jammable, *transform.Jammed) {
	const what = "jam"
	p := s.Machine.Profile.Rows
	r, why := transform.JammableOf(s.k, s.Types, body, LineBytes)
	if r == nil {
		s.reject(what, why)
		return nil, nil, nil
	}
	if r.Shared < int64(p.SharedLeast) {
		s.reject(what, fmt.Sprintf("the rows share %d bytes, which the first-level cache keeps below %d", r.Shared,
			p.SharedLeast))
		return nil, nil, nil
	}
	rows, width := int64(p.Many), 4*64/max(r.Shape.MaxBytes, 1)
	switch {
	case r.Shape.Instrs > s.Machine.Profile.Reduce.LongBody:
		s.reject(what, fmt.Sprintf("%d instructions a row are more than the registers of several have room for",
			r.Shape.Instrs))
		return nil, nil, nil
	case r.Shape.Instrs > p.Short:
		rows, width = int64(p.Some), width/2
	}
	if s.Machine.VectorBits < 8*LineBytes {
		rows, width = int64(p.Few), width/2
	}
	n, _ := r.Axis.Extent.Dim.Const()
	if n-r.Axis.Begin < int64(p.LeastVectors*width) {
		s.reject(what, fmt.Sprintf("a row has fewer than %d vectors of %d", p.LeastVectors, width))
		return nil, nil, nil
	}
	out := r.Jam(rows)
	if out == nil {
		return nil, nil, nil
	}
	s.jammed = width
	return kernel.NewDirective("jam", s.k.Axes[r.Row].Var, rows).Because(
		fmt.Sprintf("the rows share %d bytes, which each would take from the second-level cache", r.Shared)), r, out
}
