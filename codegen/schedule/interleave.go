package schedule

import (
	"fmt"
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Interleave is a kernel whose results have a short last axis, and whose operands lie along the axis before it: Note
// [Interleaved stores] in codegen/llvm/transpose.
type Interleave struct {
	Axes   []kernel.Axis // of the kernel, and of a loop at its end
	Body   *kernel.Block
	Along  kernel.Axis // the axis before the last
	Last   kernel.Axis
	N      int64 // extent of Last
	widest int   // bytes
}

// InterleaveOf recognises such a kernel; for any other it says why it is none.
func (c Code) InterleaveOf(k *kernel.Kernel) (*Interleave, string) {
	b := &Interleave{Axes: k.Axes, Body: k.Body, widest: 1}
	if n := len(k.Body.Stmts) - 1; n >= 0 {
		if l, ok := k.Body.Stmts[n].(*kernel.Loop); ok && l.Parallel {
			b.Axes = append(slices.Clone(k.Axes), l.Axis)
			b.Body = &kernel.Block{Stmts: append(slices.Clone(k.Body.Stmts[:n]), l.Body.Stmts...)}
		}
	}
	if len(b.Axes) < 2 {
		return nil, "it has one axis"
	}
	b.Along, b.Last = b.Axes[len(b.Axes)-2], b.Axes[len(b.Axes)-1]
	n, known := b.Last.Extent.Dim.Const()
	if !known || n < 2 || n > int64(c.Machine.Profile.Transpose.Interleaved) ||
		b.Last.Begin != 0 || b.Last.Extent.Div > 1 {
		return nil, fmt.Sprintf("the last axis is not one of 2 to %d", c.Machine.Profile.Transpose.Interleaved)
	}
	b.N = n
	for _, p := range k.Params {
		if p.InPlace || p.Work || p.Local {
			return nil, "it has work memory, or works in place"
		}
	}
	along := false
	for _, st := range b.Body.Stmts {
		switch st := st.(type) {
		case *kernel.DimValue:
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				return nil, "it has a check"
			}
		case *kernel.Load:
			x, y, ok := b.Steps(st.At)
			if !ok || x != 0 && x != 1 && x != -1 && (x != n || y != 1 || n > MaxShuffled) {
				return nil, "an operand is neither along the axis before the last nor the same for all"
			}
			along = along || x == 1 || x == -1
			b.widest = max(b.widest, k.Params[st.Param].DType.Bytes())
		case *kernel.Store:
			if x, y, ok := b.Steps(st.At); !ok || x != n || y != 1 {
				return nil, "an output does not lie along the last axis"
			}
			b.widest = max(b.widest, k.Params[st.Param].DType.Bytes())
		default:
			return nil, "it has loops or branches"
		}
	}
	if !along {
		return nil, "no operand lies along the axis before the last"
	}
	for _, t := range k.Types {
		b.widest = max(b.widest, min(t.Bytes(), 4)) // positions are computed in 8 bytes, and not in vectors
	}
	return b, ""
}

// Steps are how far apart the elements of an access lie along the two last axes.
func (b *Interleave) Steps(at kernel.Access) (along, last int64, ok bool) {
	for _, t := range at.Terms {
		c, known := t.Coef.Const()
		switch {
		case t.Var == b.Along.Var && known:
			along = c
		case t.Var == b.Last.Var && known:
			last = c
		default:
			outer := false
			for _, a := range b.Axes[:len(b.Axes)-2] {
				outer = outer || a.Var == t.Var
			}
			if !outer {
				return 0, 0, false
			}
		}
	}
	return along, last, true
}

// interleave is the directive for such a kernel; nil for any other.
func (s *scope) interleave() *kernel.Directive {
	b, why := s.InterleaveOf(s.k)
	if b == nil {
		s.reject("interleave", why)
		return nil
	}
	w := max(s.Machine.VectorBits/8/b.widest, 4)
	for i, p := range s.k.Params {
		past := s.PastCaches(i)
		// until a piece is whole lines
		for past && int64(w)*b.N*int64(p.DType.Bytes())%LineBytes != 0 && w*b.widest < LineBytes {
			w *= 2
		}
	}
	if size, known := b.Along.Extent.Dim.Const(); known && size < int64(w) {
		s.reject("interleave", "the axis before the last is no vector")
		return nil
	}
	return kernel.NewDirective("interleave", b.Along.Var, int64(w)).
		Because("tiles of so few columns would be too narrow")
}
