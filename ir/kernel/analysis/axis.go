package analysis

import (
	"healc/ir/kernel"
	"healc/lang/types"
)

// InnerIsBetter reports that the parallel loops inside of body should be vectorised rather than v around them: because
// they go through memory by neighbours where v does so less. A matrix with a row vector and a column vector is the
// example: the column's element is loaded once a row, outside of the inner loop, and vectors over the rows would take
// every element of the matrix on its own. Loops of fewer than least iterations are too short for vectors.
func InnerIsBetter(ts []types.DType, v kernel.Ref, body *kernel.Block, least int) bool {
	better := false
	for _, s := range body.Stmts {
		l, ok := s.(*kernel.Loop)
		if !ok || !l.Parallel {
			continue
		}
		if n, known := l.Axis.Extent.Dim.Const(); known && n-l.Axis.Begin < int64(least) {
			return false
		}
		if _, ok := CanVectorise(ts, l.Axis.Var, l.Body); !ok {
			return false
		}
		over := &Analysis{Types: ts, Wide: map[kernel.Ref]bool{v: true}}
		over.Block(body)
		inner := &Analysis{Types: ts, Wide: map[kernel.Ref]bool{l.Axis.Var: true}}
		inner.Block(l.Body)
		if inner.Scattered(l.Body, l.Axis.Var) >= over.Scattered(l.Body, v) {
			return false
		}
		better = true
	}
	return better
}

// Scattered counts the accesses in b that go neither to neighbours nor to one element as v counts up.
func (a *Analysis) Scattered(b *kernel.Block, v kernel.Ref) int {
	n := 0
	at := func(x kernel.Access) {
		for _, t := range x.Terms {
			if a.Wide[t.Var] && !t.Coef.IsConst(0) && !(t.Var == v && (t.Coef.IsConst(1) || t.Coef.IsConst(-1))) {
				n++
				return
			}
		}
	}
	b.Walk(func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Load:
			at(s.At)
		case *kernel.Store:
			at(s.At)
		}
	})
	return n
}
