package schedule

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Note [Loop unswitching]
//
// Some branches go one way for all iterations of a kernel: the size of a modulus, which is an argument, says by which
// steps residues are multiplied. LLVM leaves such a branch in the loop, where it keeps neighbouring vectors from being
// computed side by side. So the loops are written once for each way, and the branch is taken before them. With moduli
// along a short last axis (Note [Collapsed axes]) the way is one when all of them agree, and loops with branches are
// left for those that do not. Sums of parts of products (scalar.DoubleSums) go the second way then, all of them,
// because loops that go both ways are many times slower (docs/tuning/elementwise.md).

// unswitchable is the condition of the first branch that goes one way and is worth it. known holds the values that are
// computed before the loops.
func (s *scope) unswitchable(b *kernel.Block, known map[kernel.Ref]bool) kernel.Ref {
	found := scalar.None
	if inner := analysis.InnerLoops(b); len(inner) > 0 {
		for _, l := range inner { // the code beside them is a small part of the work
			if c := s.unswitchable(l, known); c != scalar.None {
				return c
			}
		}
		return scalar.None
	}
	kernel.Each(b, func(st *kernel.If) {
		if found != scalar.None || analysis.Statements(st.Then)+analysis.Statements(st.Else) < minUnswitchedArm {
			return
		}
		if _, constant := s.constant(st.Cond); s.agreed[st.Cond] || known[st.Cond] && !constant {
			found = st.Cond
		}
	})
	return found
}

// partsAt is the condition of a branch that takes values apart, of which all may go the second way.
func (s *scope) partsAt(b *kernel.Block) kernel.Ref {
	found := scalar.None
	kernel.Each(b, func(st *kernel.If) {
		if found == scalar.None && len(st.Then.Stmts)+len(st.Else.Stmts) > 0 && s.TakesApart(b, st.Cond) {
			found = st.Cond
		}
	})
	return found
}

// TakesApart reports that c is a scalar.DoubleSums, and that b has all that follows from it: only other branches on c
// read the results of branches on c.
func (s Code) TakesApart(b *kernel.Block, c kernel.Ref) bool {
	in := s.Lets[c]
	kernel.Each(b, func(l *kernel.Let) {
		if l.ID == c {
			in = &l.In
		}
	})
	if in == nil || in.Op != scalar.DoubleSums {
		return false
	}
	parts := map[kernel.Ref]bool{} // and what is made of them
	whole := true
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for _, st := range b.Stmts {
			switch s := st.(type) {
			case *kernel.DimValue:
			case *kernel.Let:
				if analysis.ReadsAny(s, parts) {
					parts[s.ID] = true
					whole = whole && s.In.Op != scalar.Check
				}
			case *kernel.Load:
				whole = whole && !analysis.ReadsAny(s, parts)
			case *kernel.Store:
				whole = whole && !parts[s.Val]
			case *kernel.Reduce:
				walk(s.Body)
				if parts[s.Val] {
					parts[s.ID] = true
				}
			case *kernel.If:
				if s.Cond == c {
					if !analysis.ArmsRead(s, parts) {
						analysis.Note(parts, s.IDs)
					}
					continue
				}
				whole = whole && !parts[s.Cond]
				walk(s.Then)
				walk(s.Else)
				for i, id := range s.IDs {
					if parts[s.ThenVals[i]] || parts[s.ElseVals[i]] {
						parts[id] = true
					}
				}
			default:
				whole = false
			}
		}
	}
	walk(b)
	return whole
}
