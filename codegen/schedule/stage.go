package schedule

import (
	"fmt"
	"maps"
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// Staging is a kernel of chunks of reductions that reads operands from stages: Note [Staged reductions] in
// ir/kernel/transform.
type Staging struct {
	*transform.Staged
	Rows int64 // that go to a stage at a time, at most
}

// StagedOperand is an operand that is read from a stage.
type StagedOperand = transform.StagedOperand

// RowOperand is an operand whose rows go to stages.
type RowOperand = transform.RowOperand

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

// stage is the directive for a kernel whose operands are brought in order; nil for any other.
func (s *scope) stage() *kernel.Directive {
	if s.brief {
		return nil
	}
	t, why := s.StagingOf(s.k, nil)
	if t == nil {
		d, other := s.stageRows()
		if other != "" {
			why = other
		}
		if d == nil {
			s.reject("stage", why)
		}
		return d
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

// RowStaging is a kernel that goes along rows in stages: Note [Staged rows] in ir/kernel/transform.
type RowStaging struct {
	*transform.StagedRows
	Fewest int64 // rows that go to stages at a time, at least; where they have no room they stay where they are
	Rows   int64 // and at most
	Bytes  int64 // that there are for stages
	Known  bool  // that the lengths of all rows are
}

// Counts are the numbers of rows that may go to stages at a time, fewest first. Those that are vectors there have one.
func (t *RowStaging) Counts() (out []int64) {
	if t.Down {
		return []int64{t.Rows}
	}
	for n := t.Fewest; n <= t.Rows; n *= 2 {
		out = append(out, n)
	}
	return out
}

// RowBytes is how many bytes a row of an operand takes in its stage, for so many columns. Where it is in one place that
// is an odd number of lines, because rows a power of two apart would share few places of the first-level cache.
func (t *RowStaging) RowBytes(o *RowOperand, columns int64) int64 {
	bytes := columns * int64(t.Kernel.Params[o.Stage].DType.Bytes())
	if t.Down {
		return bytes
	}
	return (bytes+2*LineBytes-1)/(2*LineBytes)*(2*LineBytes) + LineBytes
}

// RowStagingOf recognises such a kernel; for any other it says why it is none. The sizes are those of a directive, or
// chosen where it is nil.
func (c Code) RowStagingOf(k *kernel.Kernel, d *kernel.Directive) (*RowStaging, string) {
	s, why := transform.StageRows(k)
	if s == nil {
		return nil, why
	}
	p := c.Machine.Profile.Stage
	t := &RowStaging{StagedRows: s, Bytes: int64(p.Bytes), Fewest: int64(p.Fewest), Known: true}
	row, narrowest := int64(0), 8
	for i := range s.Operands {
		o := &s.Operands[i]
		n, known := o.Columns()
		t.Known = t.Known && known
		row, narrowest = row+t.RowBytes(o, n), min(narrowest, s.Kernel.Params[o.Stage].DType.Bytes())
	}
	t.Rows = int64(p.RowBytes / narrowest)
	if t.Down {
		t.Rows = c.columnsSideBySide(s)
	}
	switch {
	case d != nil && t.Down: // more may have no room
		t.Rows = min(t.Rows, d.Get("rows"))
	case d != nil:
		t.Rows = d.Get("rows")
	}
	if t.Rows == 0 {
		return nil, "columns are no vectors in stages, either"
	}
	if t.Fewest = min(t.Fewest, t.Rows); t.Down {
		t.Fewest = t.Rows
		s.Rewrite(t.Rows)
	}
	if t.Known && t.Fewest*row > t.Bytes {
		return nil, fmt.Sprintf("%d rows of %d bytes have no room", t.Fewest, row)
	}
	return t, ""
}

// columnsSideBySide is how many columns are a vector once they lie side by side in stages, 0 where they are none.
func (c Code) columnsSideBySide(s *transform.StagedRows) int64 {
	tried := *s
	copied := *s.Kernel
	copied.Body = copied.Body.Clone()
	tried.Kernel = &copied
	tried.Rewrite(LineBytes)
	in := scope{Code: c, k: &copied, settled: map[kernel.Ref]bool{}, phase: scalar.None}
	in.rejected = &[]kernel.Rejection{}
	in.Types, in.Params, in.Lets = copied.Types, copied.Params, map[kernel.Ref]*scalar.Instr{}
	in.define(s.Before)
	n := int64(0)
	for _, d := range in.parallel(copied.Axes[s.Across].Var, bounds{split: true}, copied.Body) {
		if d.On == copied.Axes[s.Across].Var && (d.Kind == "strip" || d.Kind == "vector") {
			n = max(n, d.Get("width"))
		}
	}
	return n
}

// inRows is the code of a row in stages, which are memory of the kernel.
func (s *scope) inRows(t *RowStaging) *scope {
	inner := *s
	inner.k, inner.Types, inner.Params = t.Kernel, t.Kernel.Types, slices.Clone(t.Kernel.Params)
	for _, o := range t.Operands {
		inner.Params[o.Stage].Local = true
	}
	inner.Lets = maps.Clone(s.Lets)
	return &inner
}

// stageRows is the directive for a kernel that goes along rows in stages; for any other it is nil, and says why, "" for
// one that has no such rows.
func (s *scope) stageRows() (d *kernel.Directive, why string) {
	t, why := s.RowStagingOf(s.k, nil)
	if t == nil {
		return nil, why
	}
	inner := s.inRows(t)
	v := s.k.Axes[t.Across].Var
	if w, _ := inner.vectorWidth(v, t.Kernel.Body); w > 0 && !t.Down {
		return nil, "neighbouring rows would be vectors in stages, too"
	}
	d = kernel.NewDirective("stage", v, t.Rows).
		Because(fmt.Sprintf("rows that lie along this axis: %d", len(t.Operands)))
	for _, o := range t.Operands {
		if n, known := o.Across.Const(); !t.Down && (!known || n == 1 || n == -1) &&
			kernel.Directives(d.Sub).OfBuffer("prefetch", o.Param) == nil {
			d.Add(prefetch(o.Param, 2).Set("row", int64(s.Machine.Profile.Stage.Ahead)).
				Because("its pieces of a column are too short for the processor's own prefetcher"))
		}
	}
	d.Add(inner.inside(&kernel.Block{Stmts: t.Before})...)
	inner.define(t.Before)
	if t.Down {
		d.Add(inner.parallel(v, bounds{split: true}, t.Kernel.Body)...)
	} else {
		d.Add(inner.inside(t.Kernel.Body)...)
	}
	if !t.Known {
		plain := *s
		d.Add(kernel.NewDirective("else", scalar.None).Add(slices.Concat(plain.nextRows(),
			plain.gatheredRows(), plain.nest())...))
	}
	return d, ""
}
