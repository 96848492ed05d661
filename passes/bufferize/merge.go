package bufferize

import (
	"healc/ir/kernel"
	"healc/lang/types"
)

// uses tells how a kernel uses its loop variables.
type uses struct {
	accesses []*kernel.Access
	plain    map[kernel.Ref]bool // read otherwise than in an access
}

func usesOf(b *kernel.Block) *uses {
	u := &uses{plain: map[kernel.Ref]bool{}}
	inAccess := map[*kernel.Ref]bool{}
	p := parts{
		access: func(a *kernel.Access) {
			u.accesses = append(u.accesses, a)
			for i := range a.Terms {
				inAccess[&a.Terms[i].Var] = true
			}
		},
		read: func(r *kernel.Ref) {
			if !inAccess[r] {
				u.plain[*r] = true
			}
		},
	}
	p.all(b)
	return u
}

func coefOf(a *kernel.Access, v kernel.Ref) types.Dim {
	for _, t := range a.Terms {
		if t.Var == v {
			return t.Coef
		}
	}
	return types.Dim{}
}

// merge makes one axis of two neighbours when every access moves by them as by one: its coefficient for
// outer is that for inner times inner's extent. It reports whether it did; inner is then the whole.
func (u *uses) merge(outer, inner *kernel.Axis) bool {
	if outer.Begin != 0 || inner.Begin != 0 || outer.Extent.Div > 1 || inner.Extent.Div > 1 || u.plain[outer.Var] ||
		u.plain[inner.Var] {
		return false
	}
	n := inner.Extent.Dim
	for _, a := range u.accesses {
		want, err := coefOf(a, inner.Var).Mul(n)
		if err != nil || !coefOf(a, outer.Var).Equal(want) {
			return false
		}
	}
	total, err := outer.Extent.Dim.Mul(n)
	if err != nil {
		return false
	}
	for _, a := range u.accesses {
		terms := a.Terms[:0]
		for _, t := range a.Terms {
			if t.Var != outer.Var {
				terms = append(terms, t)
			}
		}
		a.Terms = terms
	}
	inner.Extent.Dim = total
	return true
}

// mergeAxes merges neighbours among axes.
func (u *uses) mergeAxes(axes []kernel.Axis) []kernel.Axis {
	for i := len(axes) - 2; i >= 0; i-- {
		if u.merge(&axes[i], &axes[i+1]) {
			axes = append(axes[:i], axes[i+1:]...)
		}
	}
	return axes
}

// mergeIn merges the axes of the reductions and of the parallel loops in b.
func (u *uses) mergeIn(b *kernel.Block) {
	for _, st := range b.Stmts {
		parts{block: u.mergeIn}.of(st)
		switch st := st.(type) {
		case *kernel.Reduce:
			st.Axes = u.mergeAxes(st.Axes)
		case *kernel.Loop:
			for st.Parallel && len(st.Body.Stmts) == 1 {
				in, ok := st.Body.Stmts[0].(*kernel.Loop)
				if !ok || !in.Parallel || !u.merge(&st.Axis, &in.Axis) {
					break
				}
				*st = *in
			}
		}
	}
}
