package schedule

import (
	"fmt"
	"slices"

	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/lang/types"
)

// Transposition is an element-wise kernel that reads an operand along another axis than the one along which it writes:
// Note [Tiled transposition] in codegen/llvm/transpose.
type Transposition struct {
	Axes              []kernel.Axis  // all parallel ones, outermost first
	Across            int            // its place in Axes; the axis of the output is the last of Axes
	Before            []kernel.Stmt  // the loop over the last axis, when that is no axis of the kernel
	Body              []kernel.Stmt  // of the loop over the last axis
	Loads             []*kernel.Load // of the operands that are transposed
	Output            *kernel.Store  // an output that goes past the caches; nil: none does
	Back              int64          // columns that a tile may have before its own, a line of that output
	Widest, Narrowest int            // bytes of an element of the operands

	Rows int64 // of a tile, iterations of the axis across
	Cols int64 // and of the last one
}

// TranspositionOf recognises such a kernel; for any other it says why it is none.
func (c Code) TranspositionOf(k *kernel.Kernel) (*Transposition, string) {
	for _, p := range k.Params {
		if p.InPlace || p.Work || p.Local {
			return nil, "it has work memory, or works in place"
		}
	}
	t := &Transposition{Axes: k.Axes, Body: k.Body.Stmts, Widest: 1, Narrowest: 8}
	if n := len(t.Body) - 1; n >= 0 {
		if l, ok := t.Body[n].(*kernel.Loop); ok && l.Parallel {
			t.Axes = append(t.Axes[:len(t.Axes):len(t.Axes)], l.Axis)
			t.Before, t.Body = t.Body[:n], l.Body.Stmts
		}
	}
	if len(t.Axes) < 2 {
		return nil, "it has one axis"
	}
	if !analysis.Movable(t.Before) || !analysis.Movable(t.Body) {
		return nil, "it has loops or checks"
	}
	last := t.Axes[len(t.Axes)-1].Var
	if !analysis.AlongStores(t.Body, last) || len(t.Before) > 0 && analysis.Stores(&kernel.Block{Stmts: t.Before}) {
		return nil, "the outputs do not lie along the last axis"
	}
	t.Across = -1
	for _, s := range t.Body {
		l, ok := s.(*kernel.Load)
		if !ok {
			continue
		}
		if i := t.axisAlong(l.At, last); i >= 0 && (t.Across < 0 || i == t.Across) {
			t.Across = i
			t.Loads = append(t.Loads, l)
		}
	}
	if t.Across < 0 {
		return nil, "no operand lies along another axis than the outputs"
	}
	for _, l := range t.Loads {
		b := k.Params[l.Param].DType.Bytes()
		t.Widest, t.Narrowest = max(t.Widest, b), min(t.Narrowest, b)
	}
	for _, s := range t.Body {
		if st, ok := s.(*kernel.Store); ok && t.Output == nil && c.PastCaches(st.Param) {
			t.Output, t.Back = st, int64(LineBytes/k.Params[st.Param].DType.Bytes())
		}
	}
	return t, ""
}

// Part is what parts of the axis across are multiples of, so that those of two threads share no lines of the operand.
func (t *Transposition) Part() int64 { return int64(profile.Base().Plan.PartBytes / t.Narrowest) }

// Take gives it the sizes of a directive.
func (t *Transposition) Take(d *kernel.Directive) *Transposition {
	t.Rows, t.Cols = d.Get("rows"), d.Get("columns")
	return t
}

// Stage is the memory for the tile of one operand: a parameter of the code's own.
type Stage struct {
	Load  *kernel.Load
	Param int
	Pitch int64 // elements from a row of the tile to the next
}

// Stages has a stage for each transposed operand: the parameters with those of the stages, and the body that reads the
// operands there.
func (t *Transposition) Stages(params []kernel.Param) ([]Stage, []kernel.Param, *kernel.Block) {
	params = slices.Clip(params)
	body := &kernel.Block{Stmts: slices.Clone(t.Body)}
	var out []Stage
	for _, l := range t.Loads {
		d := params[l.Param].DType
		// An odd number of lines, so that those of a column lie in different sets of the first-level cache.
		line := int64(LineBytes / d.Bytes())
		s := Stage{l, len(params), ((t.Cols+t.Back+line-1)/line | 1) * line}
		params = append(params, kernel.Param{Name: "stage", DType: d})
		out = append(out, s)
		body.Stmts[slices.Index(body.Stmts, kernel.Stmt(l))] = &kernel.Load{ID: l.ID, Param: s.Param,
			At: kernel.Access{Terms: []kernel.Term{
				{Coef: types.Lit(s.Pitch), Var: t.Axes[t.Across].Var},
				{Coef: types.Lit(1), Var: t.Axes[len(t.Axes)-1].Var},
			}}}
	}
	return out, params, body
}

// axisAlong is the axis other than last along which an access goes to neighbours, while it goes far along last; -1
// when there is none, or when the place depends on data.
func (t *Transposition) axisAlong(at kernel.Access, last kernel.Ref) int {
	across, far := -1, false
	for _, term := range at.Terms {
		axis := -1
		for i, a := range t.Axes {
			if a.Var == term.Var {
				axis = i
			}
		}
		n, known := term.Coef.Const()
		switch {
		case axis < 0:
			return -1
		case term.Var == last:
			far = !known || n > MaxShuffled || n < -MaxShuffled
		case known && (n == 1 || n == -1):
			across = axis
		}
	}
	if !far || across < 0 || analysis.IsShort(t.Axes[across]) || analysis.IsShort(t.Axes[len(t.Axes)-1]) {
		return -1
	}
	return across
}

// transpose is the directive for a kernel with operands to transpose; nil for any other.
func (s *scope) transpose() *kernel.Directive {
	t, why := s.TranspositionOf(s.k)
	if t == nil {
		s.reject("transpose", why)
		return nil
	}
	p := s.Machine.Profile.Transpose
	rows, cols, ahead := int64(p.TileRows), int64(p.TileColumns), int64(p.Ahead)
	what := fmt.Sprintf("tiles of %d by %d bytes", rows, cols)
	if s.Machine.VectorBits < 512 && analysis.OnlyLoads(t.Body, t.Loads) {
		rows, cols, ahead = LineBytes, int64(p.NarrowColumns), LineBytes
		what = "a line of each row of the operand: the second-level cache has room for few"
	}
	d := kernel.NewDirective("transpose", t.Axes[t.Across].Var, rows/int64(t.Narrowest), cols/int64(t.Widest)).
		Because(fmt.Sprintf("operands that lie along this axis: %d; %s", len(t.Loads), what))
	last := t.Axes[len(t.Axes)-1].Var
	inner := *s
	inner.tiled = true
	inner.define(t.Before)
	_, params, body := t.Take(d).Stages(s.Params)
	inner.Params = params
	for _, st := range t.Body {
		l, ok := st.(*kernel.Load)
		if !ok {
			continue
		}
		if n, known := s.SizeOf(l.Param); known && n < int64(s.Machine.Profile.Prefetch.LargeInput) ||
			kernel.Directives(d.Sub).OfBuffer("prefetch", l.Param) != nil {
			continue
		}
		if slices.Contains(t.Loads, l) {
			d.Add(prefetch(l.Param, 2).Set("ahead", ahead).
				Because("the first-level cache has no room for what all rows of a tile ask for"))
			continue
		}
		for _, term := range l.At.Terms {
			if n, known := term.Coef.Const(); known && n != 0 && term.Var == t.Axes[t.Across].Var {
				d.Add(prefetch(l.Param, 1).Set("row", int64(p.RowsAhead)).
					Because("its pieces of a row are too short for the processor's own prefetcher"))
			}
		}
	}
	return d.Add(inner.parallel(last, bounds{}, body)...)
}
