package loops

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
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

// Bounds of the code that is written several times.
const (
	maxUnswitched     = 3   // branches taken before the loops, one in an arm of another
	maxUnswitchedCode = 700 // statements of a body
	minUnswitchedArm  = 8   // statements of both arms together
)

// unswitch writes loops for each way through body. known holds the values that are computed before the loops.
func unswitch(g *emit.Func, body *kernel.Block, known map[kernel.Ref]bool, loops func(body *kernel.Block)) {
	unswitchOn(g, body, known, loops, maxUnswitched)
}

func unswitchOn(g *emit.Func, body *kernel.Block, known map[kernel.Ref]bool, loops func(body *kernel.Block), left int) {
	c := scalar.None
	if left > 0 && !g.Quick && !g.Machine.Narrow && g.Width == 0 && analysis.Statements(body) <= maxUnswitchedCode {
		c = unswitchable(g, body, known)
	}
	settled := func(c kernel.Ref, taken bool, left int) {
		before := g.Env[c]
		g.Env[c] = emit.Val{V: constant.NewBool(taken)}
		unswitchOn(g, transform.TakeArm(body, c, taken), known, loops, left)
		g.Env[c] = before
	}
	if c == scalar.None {
		if c = partsAt(g, body); c != scalar.None {
			settled(c, false, left)
			return
		}
		loops(body)
		return
	}
	before := g.Env[c]
	join := g.NewBlock()
	arm := func(taken bool) {
		settled(c, taken, left-1)
		g.Cur.NewBr(join)
	}
	either := func(cond value.Value, then, els func()) {
		yes, no := g.NewBlock(), g.NewBlock()
		g.Cur.NewCondBr(cond, yes, no)
		g.Cur = yes
		then()
		g.Cur = no
		els()
	}
	if of, ok := emit.State[collapse](g).agreed[c]; ok && TakesApart(g, body, c) {
		either(of.all, func() { arm(true) }, func() { arm(false) })
	} else if ok {
		either(of.all, func() { arm(true) }, func() {
			either(of.any, func() { loops(body); g.Cur.NewBr(join) }, func() { arm(false) })
		})
	} else {
		either(before.V, func() { arm(true) }, func() { arm(false) })
	}
	g.Cur = join
}

// unswitchable is the condition of the first branch that goes one way and is worth it.
func unswitchable(g *emit.Func, b *kernel.Block, known map[kernel.Ref]bool) kernel.Ref {
	found := scalar.None
	if inner := analysis.InnerLoops(b); len(inner) > 0 {
		for _, l := range inner { // the code beside them is a small part of the work
			if c := unswitchable(g, l, known); c != scalar.None {
				return c
			}
		}
		return scalar.None
	}
	kernel.Each(b, func(s *kernel.If) {
		if found != scalar.None || analysis.Statements(s.Then)+analysis.Statements(s.Else) < minUnswitchedArm {
			return
		}
		_, agreed := emit.State[collapse](g).agreed[s.Cond]
		if v := g.Env[s.Cond]; agreed || known[s.Cond] && v.V != nil && !v.Wide && !v.Iota {
			if _, constant := v.V.(constant.Constant); !constant || agreed {
				found = s.Cond
			}
		}
	})
	return found
}

// partsAt is the condition of a branch that takes values apart, of which all may go the second way.
func partsAt(g *emit.Func, b *kernel.Block) kernel.Ref {
	found := scalar.None
	kernel.Each(b, func(s *kernel.If) {
		if found == scalar.None && len(s.Then.Stmts)+len(s.Else.Stmts) > 0 && TakesApart(g, b, s.Cond) {
			found = s.Cond
		}
	})
	return found
}

// TakesApart reports that c is a scalar.DoubleSums, and that b has all that follows from it: only other branches on c
// read the results of branches on c.
func TakesApart(g *emit.Func, b *kernel.Block, c kernel.Ref) bool {
	in := g.Lets[c]
	kernel.Each(b, func(s *kernel.Let) {
		if s.ID == c {
			in = &s.In
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
