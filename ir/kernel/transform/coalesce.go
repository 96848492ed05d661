package transform

import (
	"cmp"
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Coalesce makes one loop of two perfectly nested ones where every access moves by both as by one: its coefficient for
// the outer variable is that for the inner one times the extent of the inner loop. It does so for neighbours among the
// axes of the kernel, among the axes of a reduction, and among parallel loops.
//
//	over %0 in 0..M, %1 in 0..8 { %2 = load x[8*%0 + %1]; store y[8*%0 + %1], %2 }
//
// becomes
//
//	over %1 in 0..8*M { %2 = load x[%1]; store y[%1], %2 }
func Coalesce(k *kernel.Kernel) {
	u := usesOf(k.Body)
	k.Axes = u.coalesceAxes(k.Axes)
	u.coalesceBlock(k.Body)
}

// loopUses tells how a block uses its loop variables.
type loopUses struct {
	accesses []*kernel.Access
	plain    map[kernel.Ref]bool // read otherwise than in an access
}

func usesOf(b *kernel.Block) *loopUses {
	u := &loopUses{plain: map[kernel.Ref]bool{}}
	inAccess := map[*kernel.Ref]bool{}
	kernel.Visitor{
		Access: func(a *kernel.Access) {
			u.accesses = append(u.accesses, a)
			for i := range a.Terms {
				inAccess[&a.Terms[i].Var] = true
			}
		},
		Read: func(r *kernel.Ref) {
			if !inAccess[r] {
				u.plain[*r] = true
			}
		},
	}.All(b)
	return u
}

// coefficientOf is what an access moves by when v grows by one.
func coefficientOf(a *kernel.Access, v kernel.Ref) types.Dim {
	for _, t := range a.Terms {
		if t.Var == v {
			return t.Coef
		}
	}
	return types.Dim{}
}

// coalesce makes inner the whole of two nested loops, and reports whether it did.
func (u *loopUses) coalesce(outer, inner *kernel.Axis) bool {
	if outer.Begin != 0 || inner.Begin != 0 || outer.Extent.Div > 1 || inner.Extent.Div > 1 || u.plain[outer.Var] ||
		u.plain[inner.Var] {
		return false
	}
	n := inner.Extent.Dim
	for _, a := range u.accesses {
		want, err := coefficientOf(a, inner.Var).Mul(n)
		if err != nil || !coefficientOf(a, outer.Var).Equal(want) {
			return false
		}
	}
	total, err := outer.Extent.Dim.Mul(n)
	if err != nil {
		return false
	}
	for _, a := range u.accesses {
		a.Terms = slices.DeleteFunc(a.Terms, func(t kernel.Term) bool { return t.Var == outer.Var })
	}
	inner.Extent.Dim = total
	return true
}

func (u *loopUses) coalesceAxes(axes []kernel.Axis) []kernel.Axis {
	for i := len(axes) - 2; i >= 0; i-- {
		if u.coalesce(&axes[i], &axes[i+1]) {
			axes = append(axes[:i], axes[i+1:]...)
		}
	}
	return axes
}

// coalesceBlock coalesces the reductions and the parallel loops in b.
func (u *loopUses) coalesceBlock(b *kernel.Block) {
	for _, st := range b.Stmts {
		kernel.Visitor{Block: u.coalesceBlock}.Stmt(st)
		switch st := st.(type) {
		case *kernel.Reduce:
			st.Axes = u.coalesceAxes(st.Axes)
		case *kernel.Loop:
			for st.Parallel && len(st.Body.Stmts) == 1 {
				in, ok := st.Body.Stmts[0].(*kernel.Loop)
				if !ok || !in.Parallel || !u.coalesce(&st.Axis, &in.Axis) {
					break
				}
				*st = *in
			}
		}
	}
}

// OrderAxes has the chunks of a reduction whose order is free go through its axes in the order of memory, where the
// first operand that is read does not lie in the order of the axes. Coalesce can then make one of them.
//
//	over %0 in 0..C { %1 = reduce max any %2 in 0..M, %3 in 0..N chunk %0 { %4 = load x[%2 + M*%3]; ... } ... }
//
// becomes
//
//	over %0 in 0..C { %1 = reduce max any %3 in 0..N, %2 in 0..M chunk %0 { %4 = load x[%2 + M*%3]; ... } ... }
func OrderAxes(k *kernel.Kernel) {
	var free []*kernel.Reduce
	for _, st := range k.Body.Stmts {
		if r, ok := st.(*kernel.Reduce); ok {
			if _, plain := analysis.HotWork(r.Body, map[*kernel.If]bool{}); !plain || r.Order != kernel.Any ||
				analysis.IsArgument(r) || r.Chunk == scalar.None {
				return // reductions of one kernel keep the same order
			}
			kernel.Each(r.Body, func(l *kernel.Let) {
				if l.In.Op == scalar.Check {
					r = nil // which of the checks fails first is language
				}
			})
			if r == nil {
				return
			}
			free = append(free, r)
		}
	}
	for _, r := range free {
		if far := memoryOrder(r); far != nil {
			slices.SortStableFunc(r.Axes, func(a, b kernel.Axis) int { return cmp.Compare(far[b.Var], far[a.Var]) })
		}
	}
}

// memoryOrder is how far the first operand of r goes along each of the axes; nil where an operand goes to neighbours
// along the last axis, or some distance is not known.
func memoryOrder(r *kernel.Reduce) (far map[kernel.Ref]int64) {
	ok := true
	kernel.Each(r.Body, func(l *kernel.Load) {
		mine := map[kernel.Ref]int64{}
		for _, a := range r.Axes {
			n, known := coefficientOf(&l.At, a.Var).Const()
			ok, mine[a.Var] = ok && known, max(n, -n)
		}
		ok = ok && mine[r.Axes[len(r.Axes)-1].Var] != 1
		if far == nil {
			far = mine
		}
	})
	if !ok {
		return nil
	}
	return far
}
