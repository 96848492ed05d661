package llvm

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Ways]
//
// Some branches go one way for all iterations of a kernel: the size of a modulus, which is an argument, says by which
// steps residues are multiplied. LLVM leaves such a branch in the loop, where it keeps neighbouring vectors from being
// computed side by side. So the loops are written once for each way, and the branch is taken before them. With moduli
// along a short last axis (Note [Short last axes]) the way is one when all of them agree, and loops with branches are
// left for those that do not. Sums of parts of products (scalar.DoubleSums) go the second way then, all of them: loops
// that went both ways took twelve times as long.

// Bounds of the code that is written several times.
const (
	maxForks     = 3   // branches taken before the loops, one in an arm of another
	maxForkCode  = 700 // statements of a body
	leastForkArm = 8   // statements of both arms together
)

// ways writes loops for each way through body. known holds the values that are computed before the loops.
func (g *gen) ways(body *kernel.Block, known map[kernel.Ref]bool, loops func(body *kernel.Block)) {
	g.fork(body, known, loops, maxForks)
}

func (g *gen) fork(body *kernel.Block, known map[kernel.Ref]bool, loops func(body *kernel.Block), left int) {
	c := scalar.None
	if left > 0 && !g.quick && !g.machine.Narrow && g.w == 0 && statements(body) <= maxForkCode {
		c = g.forkAt(body, known)
	}
	settled := func(c kernel.Ref, taken bool, left int) {
		before := g.env[c]
		g.env[c] = val{v: constant.NewBool(taken)}
		g.fork(settle(body, c, taken), known, loops, left)
		g.env[c] = before
	}
	if c == scalar.None {
		if c = g.partsAt(body); c != scalar.None {
			settled(c, false, left)
			return
		}
		loops(body)
		return
	}
	before := g.env[c]
	join := g.newBlock()
	arm := func(taken bool) {
		settled(c, taken, left-1)
		g.cur.NewBr(join)
	}
	either := func(cond value.Value, then, els func()) {
		yes, no := g.newBlock(), g.newBlock()
		g.cur.NewCondBr(cond, yes, no)
		g.cur = yes
		then()
		g.cur = no
		els()
	}
	if of, ok := state[collapse](g).agreed[c]; ok && g.takesApart(body, c) {
		either(of.all, func() { arm(true) }, func() { arm(false) })
	} else if ok {
		either(of.all, func() { arm(true) }, func() {
			either(of.any, func() { loops(body); g.cur.NewBr(join) }, func() { arm(false) })
		})
	} else {
		either(before.v, func() { arm(true) }, func() { arm(false) })
	}
	g.cur = join
}

// forkAt is the condition of the first branch that goes one way and is worth it.
func (g *gen) forkAt(b *kernel.Block, known map[kernel.Ref]bool) kernel.Ref {
	found := scalar.None
	if inner := innerLoops(b); len(inner) > 0 {
		for _, l := range inner { // what stands beside them is no long part of the work
			if c := g.forkAt(l, known); c != scalar.None {
				return c
			}
		}
		return scalar.None
	}
	kernel.Each(b, func(s *kernel.If) {
		if found != scalar.None || statements(s.Then)+statements(s.Else) < leastForkArm {
			return
		}
		_, agreed := state[collapse](g).agreed[s.Cond]
		if v := g.env[s.Cond]; agreed || known[s.Cond] && v.v != nil && !v.wide && !v.iota {
			if _, constant := v.v.(constant.Constant); !constant || agreed {
				found = s.Cond
			}
		}
	})
	return found
}

// partsAt is the condition of a branch that takes values apart, of which all may go the second way.
func (g *gen) partsAt(b *kernel.Block) kernel.Ref {
	found := scalar.None
	kernel.Each(b, func(s *kernel.If) {
		if found == scalar.None && len(s.Then.Stmts)+len(s.Else.Stmts) > 0 && g.takesApart(b, s.Cond) {
			found = s.Cond
		}
	})
	return found
}

// takesApart reports that c is a scalar.DoubleSums, and that b has all that stands behind it: what the branches on c
// give is read by others on c alone.
func (g *gen) takesApart(b *kernel.Block, c kernel.Ref) bool {
	in := g.lets[c]
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
				if readsAny(s, parts) {
					parts[s.ID] = true
					whole = whole && s.In.Op != scalar.Check
				}
			case *kernel.Load:
				whole = whole && !readsAny(s, parts)
			case *kernel.Store:
				whole = whole && !parts[s.Val]
			case *kernel.Reduce:
				walk(s.Body)
				if parts[s.Val] {
					parts[s.ID] = true
				}
			case *kernel.If:
				if s.Cond == c {
					if !armsRead(s, parts) {
						note(parts, s.IDs)
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

// innerLoops are the bodies of the loops that stand in b.
func innerLoops(b *kernel.Block) (out []*kernel.Block) {
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Loop:
			out = append(out, st.Body)
		case *kernel.Iterate:
			out = append(out, st.Body)
		case *kernel.Reduce:
			out = append(out, st.Body)
		}
	}
	return out
}

// settle is the body with the statements of the arm that is taken in the place of branches on c. What they gave is
// handed on by a branch without statements, whose condition is a constant now.
func settle(b *kernel.Block, c kernel.Ref, taken bool) *kernel.Block {
	has := false
	kernel.Each(b, func(s *kernel.If) { has = has || s.Cond == c })
	out := &kernel.Block{}
	for _, st := range b.Stmts {
		switch s := st.(type) {
		case *kernel.Load: // of a row of conditions
			if s.ID == c {
				st = truth(c, taken)
			}
		case *kernel.Let: // see Note [Digits]
			if s.ID == c && s.In.Op.IsChoice() {
				st = truth(c, taken)
			}
		case *kernel.If:
			if s.Cond == c {
				arm, vals := s.Then, s.ThenVals
				if !taken {
					arm, vals = s.Else, s.ElseVals
				}
				out.Stmts = append(out.Stmts, settle(arm, c, taken).Stmts...)
				st = &kernel.If{Cond: c, Then: &kernel.Block{}, Else: &kernel.Block{}, ThenVals: vals, ElseVals: vals,
					IDs: s.IDs}
			} else if has {
				st = &kernel.If{Cond: s.Cond, Then: settle(s.Then, c, taken), Else: settle(s.Else, c, taken),
					ThenVals: s.ThenVals, ElseVals: s.ElseVals, IDs: s.IDs}
			}
		case *kernel.Loop:
			if has {
				l := *s
				l.Body, st = settle(s.Body, c, taken), &l
			}
		case *kernel.Iterate:
			if has {
				l := *s
				l.Body, st = settle(s.Body, c, taken), &l
			}
		case *kernel.Reduce:
			if has {
				l := *s
				l.Body, st = settle(s.Body, c, taken), &l
			}
		}
		out.Stmts = append(out.Stmts, st)
	}
	return out
}

// truth gives c a constant.
func truth(c kernel.Ref, x bool) *kernel.Let {
	in := scalar.Instr{Op: scalar.Const, Type: types.Bool, Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}}
	if x {
		in.Imm = 1
	}
	return &kernel.Let{ID: c, In: in, Site: -1}
}
