package schedule

import (
	"fmt"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
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
		if s.Maskable(last, r.Body) {
			d.Add(kernel.NewDirective("mask", scalar.None))
		}
		out = append(out, d)
	}
	return append(out, s.inside(r.Body)...) // of elements that fill no vector
}

// Staging is a kernel of chunks of reductions that reads operands from stages: Note [Staged reductions] in
// ir/kernel/transform.
type Staging struct {
	*transform.Staged
	Rows int64 // that go to a stage at a time, at most
}

// StagedOperand is an operand that is read from a stage.
type StagedOperand = transform.StagedOperand

// StageRow is how many elements of a row a stage has room for: two chunks, because a chunk begins anywhere in a row.
const StageRow = 2 * 4096

// Pitch is how many elements of a stage lie between those of a row and of the next: rows a power of two apart would
// share few places of the first-level cache.
func (t *Staging) Pitch(o *StagedOperand) int64 {
	return StageRow + int64(LineBytes/t.Params[o.Stage].DType.Bytes())
}

// StagingOf recognises such a kernel; for any other it says why it is none. The sizes are those of a directive, or
// chosen where it is nil.
func (c Code) StagingOf(k *kernel.Kernel, d *kernel.Directive) (*Staging, string) {
	s, why := transform.StageOperands(k)
	if s == nil {
		return nil, why
	}
	row, narrowest := int64(0), 8
	for _, o := range s.Operands {
		b := s.Params[o.Stage].DType.Bytes()
		row, narrowest = row+(StageRow*int64(b)+LineBytes), min(narrowest, b)
	}
	t := &Staging{Staged: s, Rows: int64(c.Machine.Profile.Stage.RowBytes / narrowest)}
	if d != nil {
		t.Rows = d.Get("rows")
	}
	for t.Rows > leastStaged && t.Rows*row > int64(c.Machine.Profile.Stage.Bytes) {
		t.Rows /= 2
	}
	if t.Rows*row > int64(c.Machine.Profile.Stage.Bytes) {
		return nil, fmt.Sprintf("the stages of %d operands have no room", len(s.Operands))
	}
	return t, ""
}

// leastStaged is the fewest rows that go to a stage: a square of the widest elements.
const leastStaged = 8

// stage is the directive for a kernel of chunks whose operands are brought in order; nil for any other.
func (s *scope) stage() *kernel.Directive {
	if s.brief {
		return nil
	}
	t, why := s.StagingOf(s.k, nil)
	if t == nil {
		s.reject("stage", why)
		return nil
	}
	var axes []kernel.Axis
	for _, st := range s.k.Body.Stmts {
		if r, ok := st.(*kernel.Reduce); ok && axes == nil {
			axes = r.Axes
		}
	}
	d := kernel.NewDirective("stage", axes[t.Across].Var, t.Rows).
		Because(fmt.Sprintf("operands that do not lie in the order of the reduction: %d", len(t.Operands)))
	for _, o := range t.Operands {
		if yes, known := o.Along(t.Across); yes || !known {
			d.Add(prefetch(o.Param, 2).Set("row", int64(s.Machine.Profile.Stage.Ahead)).
				Because("its pieces of a column are too short for the processor's own prefetcher"))
		}
	}
	inner := *s
	inner.Params = t.Params
	return d.Add(inner.inside(t.Body)...)
}
