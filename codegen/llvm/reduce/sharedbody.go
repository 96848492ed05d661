package reduce

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// Note [Shared bodies]
//
// Reductions that are mostly the same, as the sums of the parts of products, and whose order is free take their
// elements together: one body (Note [Merged reductions]) for all of them, in one loop with an accumulator for each.
// Apart each would multiply again (docs/tuning/reductions.md).

// sharedBody translates the reduction s together with those after it whose bodies are mostly the same. It returns
// these.
func sharedBody(g *emit.Func, s *kernel.Reduce, after []kernel.Stmt) []*kernel.Reduce {
	if !shares(g, s) || g.Machine.Registers > 16 { // with more it was not measured
		return nil
	}
	all := []*kernel.Reduce{s}
	between := map[kernel.Ref]bool{}
	analysis.Define(between, s)
scan:
	for _, st := range after {
		switch st := st.(type) {
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				break scan
			}
		case *kernel.DimValue, *kernel.Load:
		case *kernel.Reduce:
			if !analysis.SameSpace(s, st) || !shares(g, st) || analysis.Reads(st, between) {
				break scan
			}
			all = append(all, st)
		default:
			break scan
		}
		analysis.Define(between, st)
	}
	apart := 0
	for _, o := range all {
		apart += analysis.Statements(o.Body)
	}
	merged := transform.MergeBodies(all)
	if len(all) == 1 || 4*analysis.Statements(merged[0].Body) > 3*apart {
		return nil
	}
	var rs []*Reduction
	for _, o := range merged {
		rs = append(rs, newReduction(g, o))
	}
	w, _ := rs[0].alongWidth()
	if n, known := build.ConstantInt(rs[0].n); w == 0 || known && n <= unrolled(g) {
		return nil
	}
	lo, hi := rs[0].bounds()
	// each combines the states with the values of the body where it gave x to the first, in vectors of w.
	each := func(w int, x value.Value, state []value.Value) []value.Value {
		next := []value.Value{rs[0].Combine(state[0], x, w)}
		g.InVectors(w, func() {
			for i, r := range rs[1:] {
				next = append(next, r.Combine(state[i+1], g.Spread(g.Env[r.S.Val]), w))
			}
		})
		return next
	}
	var state []value.Value
	for _, r := range rs {
		state = append(state, build.SplatConst(r.IdentityConst(), w))
	}
	stop := g.Add(lo, g.RoundDown(g.Sub(hi, lo), int64(w)))
	state = g.For(lo, stop, int64(w), state, func(p value.Value, state []value.Value) []value.Value {
		return each(w, rs[0].vectorAt(p, w), state)
	})
	for i, r := range rs {
		state[i] = r.foldVector(state[i], w)
	}
	state = g.For(stop, hi, 1, state, func(p value.Value, state []value.Value) []value.Value {
		return each(0, rs[0].at(p), state)
	})
	for i, r := range rs {
		g.Set(r.S.ID, state[i], false)
	}
	return all[1:]
}

// shares says that s may share its body here.
func shares(g *emit.Func, s *kernel.Reduce) bool {
	return g.Width == 0 && schedule.Shares(s)
}
