package llvm

import (
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Rare arms]
//
// The first arm of a long branch is the rare one (rareArm in loops.go): operands of a product of residues that are no
// residues. To ask each vector whether it is taken costs a comparison, a move from the mask to the other registers and
// a jump, as much as a third of a product by IFMA. So vectors go in blocks:
//
//	for x in steps of usualVectors vectors:
//	  compute and store all of them as if no iteration took the rare arm
//	  if one did, and where less than a block is left: vector after vector, with the branch
//
// What was read is kept for nothing then, which counts where there are 16 registers; on a Zen 4 it makes no difference.
// A kernel that works in place stores after the question.
//
// Conditions of the usual forms, x & m != 0 and m <= x where m is the same for all, are put together as x: one or, one
// maximum. LLVM would do so behind the last vector, and keep the operands of all of them until then, for which 16
// registers are too few: opaque. Where the lower half of a 64-bit m is 0, the upper halves of x tell, and where x is a
// maximum, its operands: AVX2 has a maximum of 32-bit numbers, and none of 64 bits.
//
// Sums down columns put the arms off until all rows are added (Note [Reductions across rows]): what is put together is
// kept from one round of the loops to the next, in memory of which LLVM makes registers.

// usualVectors is the number of vectors of a block. More gain nothing: 8 took as long on a Zen 4.
const usualVectors = 4

// usual is a block of vectors, or loops over blocks, for which rare arms are put off.
type usual struct {
	ifs   map[*kernel.If]bool
	tests []*rareTest
	of    map[kernel.Ref]*rareTest // by condition
	start *lir.Block               // before the loops; nil for a block
}

// speculation is the block for which rare arms are being put off; nil for none.
type speculation struct{ block *usual }

// rareTest is whether any iteration so far takes a rare arm.
type rareTest struct {
	in   *scalar.Instr // the comparison, of which x is the operand that differs; nil when x is the condition itself
	mask *scalar.Instr // x & m, when that is what it compares with 0
	half bool          // x is the 32-bit halves, of which the upper ones are compared
	x    value.Value
	kept value.Value // where the rounds of a loop leave x
}

// rareBranches finds the branches of a body whose rare arms can be put off; nil when the body is not so plain that its
// vectors can be computed before anything is stored.
func rareBranches(body *kernel.Block) map[*kernel.If]bool {
	out := map[*kernel.If]bool{}
	var find func(b *kernel.Block)
	find = func(b *kernel.Block) {
		for _, st := range b.Stmts {
			if s, ok := st.(*kernel.If); ok && len(s.Then.Stmts) >= kernel.RareArm {
				out[s] = true
				find(s.Else)
			}
		}
	}
	find(body)
	for _, st := range body.Stmts {
		switch st := st.(type) {
		case *kernel.DimValue, *kernel.Load, *kernel.Store:
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				return nil
			}
		case *kernel.If:
			if !pure(st.Then) || !pure(st.Else) {
				return nil
			}
		default:
			return nil
		}
	}
	return out
}

// vectors runs the vectors of w iterations that begin in [lo, hi), which are whole ones up to last; nil says that all
// are.
func (g *gen) vectors(v kernel.Ref, lo, hi, last value.Value, w int, body *kernel.Block) {
	at := func(x value.Value) {
		g.env[v] = val{v: x, iota: true}
		g.block(body)
	}
	one := func(x value.Value, _ []value.Value) []value.Value {
		if last != nil {
			x = g.least(x, last)
		}
		at(x)
		return nil
	}
	ifs := rareBranches(body)
	step := int64(usualVectors * w)
	if len(ifs) == 0 || g.statement != nil || g.quick || g.shorter(lo, hi, int(2*step)) {
		if last == nil {
			g.count(lo, hi, int64(w), nil, one)
		} else {
			g.countTo(lo, hi, ci(i64, int64(w)), last, at)
		}
		return
	}
	var stores []*kernel.Store // that are put off, where an iteration that is computed again would read them
	late := g.inPlace()
	for _, st := range body.Stmts {
		if s, ok := st.(*kernel.Store); ok && late {
			stores = append(stores, s)
		}
	}
	g.count(lo, hi, step, nil, func(x value.Value, _ []value.Value) []value.Value {
		end := g.plus(x, ci(i64, step))
		whole, slow, next := g.newBlock(), g.newBlock(), g.newBlock()
		g.cur.NewCondBr(g.cur.NewICmp(enum.IPredSLE, end, hi), whole, slow)
		g.cur = whole
		put := &usual{ifs: ifs, of: map[kernel.Ref]*rareTest{}}
		state[speculation](g).block = put
		if late {
			g.statement = func(s kernel.Stmt) bool { _, ok := s.(*kernel.Store); return ok }
		}
		envs := make([][]val, usualVectors)
		for k := range envs {
			g.env[v] = val{v: g.plus(x, ci(i64, int64(k*w))), iota: true}
			g.block(body)
			envs[k] = slices.Clone(g.env)
		}
		g.statement = nil
		if some := put.any(g); some != nil {
			plain := g.newBlock()
			g.cur.NewCondBr(some, slow, plain)
			g.cur = plain
		}
		state[speculation](g).block = nil
		env := g.env
		for _, e := range envs {
			g.env = e
			for _, s := range stores {
				g.store(s)
			}
		}
		g.env = env
		g.cur.NewBr(next)
		g.cur = slow
		g.count(x, g.least(end, hi), int64(w), nil, one)
		g.cur.NewBr(next)
		g.cur = next
		return nil
	})
}

// puts reports that the rare arm of s was put off: its condition is kept, and what it gives is what the other arm
// gives.
func (g *gen) puts(s *kernel.If, c value.Value) bool {
	put := state[speculation](g).block
	if put == nil || !put.ifs[s] {
		return false
	}
	put.note(g, s.Cond, c)
	g.block(s.Else)
	for i, id := range s.IDs {
		g.env[id] = g.env[s.ElseVals[i]]
	}
	return true
}

// note takes in a condition of one more vector.
func (u *usual) note(g *gen, r kernel.Ref, c value.Value) {
	n := &rareTest{x: c}
	if in := g.lets[r]; in != nil {
		x, m := in.Args[0], in.Args[1]
		switch {
		case in.Op == scalar.Ne && g.isZero(m) && g.maskOf(x) != nil:
			if mask := g.maskOf(x); u.start == nil || g.isNumber(mask.Args[1]) {
				n.in, n.mask, n.x = in, mask, g.spread(g.env[mask.Args[0]])
			}
		case in.Op == scalar.Le && !g.types[m].IsSigned() && !g.types[m].IsFloat() && g.env[m].wide && !g.env[x].wide &&
			!g.env[x].iota && (u.start == nil || g.isNumber(x)):
			n.in, n.x = in, g.env[m].v
			if c := g.lets[x]; g.types[m] == types.U64 && c != nil && c.Op == scalar.Const && uint32(c.Imm) == 0 {
				for _, part := range g.largestOf(m) {
					part = g.cur.NewBitCast(part, vec(i32, 2*g.w))
					if n.half {
						part = n.both(g, n.x, part)
					}
					n.x, n.half = part, true
				}
			}
		}
	}
	switch old := u.of[r]; {
	case old == nil:
		u.of[r] = n
		u.tests = append(u.tests, n)
	case old.x == nil:
		old.x = n.x
	default:
		old.x = old.both(g, old.x, n.x)
	}
}

// both is what tells of two vectors what x and y tell of one.
func (t *rareTest) both(g *gen, x, y value.Value) value.Value {
	switch {
	case t.half:
		return g.opaque(g.minMax(scalar.Max, types.U32, g.w, x, y))
	case t.in != nil && t.mask == nil:
		return g.minMax(scalar.Max, g.types[t.in.Args[1]], g.w, x, y)
	}
	return g.opaque(g.cur.NewOr(x, y))
}

// join makes x one register, where that can be.
func (t *rareTest) join(g *gen) {
	for (t.half || t.mask != nil && g.isNumber(t.mask.Args[1])) && g.registers(t.x) > 1 {
		w := lanes(t.x) / 2
		t.x = t.both(g, g.part(t.x, 0, w), g.part(t.x, w, w))
	}
}

// keep ends a round of the loops.
func (u *usual) keep(g *gen) {
	for _, t := range u.tests {
		t.join(g)
		if t.kept == nil {
			t.kept = g.entry.NewAlloca(t.x.Type())
			u.start.NewStore(constant.NewZeroInitializer(t.x.Type()), t.kept)
		}
		g.cur.NewStore(t.both(g, t.x, g.cur.NewLoad(t.x.Type(), t.kept)), t.kept)
		t.x = nil
	}
}

// ever is whether a rare arm was taken by any iteration of the loops, nil when there was none.
func (u *usual) ever(g *gen) value.Value {
	for _, t := range u.tests {
		t.x = g.cur.NewLoad(t.kept.Type().(*lt.PointerType).ElemType, t.kept)
	}
	return u.any(g)
}

// largestOf is what r is the maximum of.
func (g *gen) largestOf(r kernel.Ref) []value.Value {
	if in := g.lets[r]; in != nil && in.Op == scalar.Max {
		return append(g.largestOf(in.Args[0]), g.largestOf(in.Args[1])...)
	}
	return []value.Value{g.spread(g.env[r])}
}

// registers is how many registers a vector takes.
func (g *gen) registers(x value.Value) int {
	t, ok := x.Type().(*lt.VectorType)
	if !ok {
		return 1
	}
	return int(t.Len*t.ElemType.(*lt.IntType).BitSize) / g.machine.VectorBits
}

// opaque is x, of which LLVM doesn't see what it is computed from. It has such a fence for floats only, in whole
// registers.
func (g *gen) opaque(x value.Value) value.Value {
	t, ok := x.Type().(*lt.VectorType)
	if !ok || g.machine.Device {
		return x
	}
	var floats lt.Type
	switch of := t.ElemType; {
	case of.Equal(i64) && t.Len >= 2:
		floats = vec(lt.Double, int(t.Len))
	case of.Equal(i32) && t.Len >= 4:
		floats = vec(lt.Float, int(t.Len))
	default:
		return x
	}
	return g.cur.NewBitCast(g.call("llvm.arithmetic.fence", floats, g.cur.NewBitCast(x, floats)), t)
}

// isNumber reports that r is a constant.
func (g *gen) isNumber(r kernel.Ref) bool {
	in := g.lets[r]
	return in != nil && in.Op == scalar.Const
}

// isZero reports that r is the constant 0.
func (g *gen) isZero(r kernel.Ref) bool {
	in := g.lets[r]
	return in != nil && in.Op == scalar.Const && in.Imm == 0
}

// maskOf is the instruction of r when it is x & m, with m the same for all iterations and x not.
func (g *gen) maskOf(r kernel.Ref) *scalar.Instr {
	in := g.lets[r]
	if in == nil || in.Op != scalar.And || g.env[in.Args[1]].wide || g.env[in.Args[1]].iota || !g.env[in.Args[0]].wide {
		return nil
	}
	return in
}

// any is whether a rare arm is taken by any iteration of the block, nil when there was none.
func (u *usual) any(g *gen) value.Value {
	var some value.Value
	for _, t := range u.tests {
		if t.in != nil { // of a comparison with a number LLVM would make one with more instructions
			t.join(g)
		}
		c := t.x
		switch {
		case t.mask != nil:
			mask := g.spread(g.env[t.mask.Args[1]])
			if g.isNumber(t.mask.Args[1]) {
				for g.registers(mask) > g.registers(c) {
					mask = g.part(mask, 0, lanes(mask)/2)
				}
				mask = g.opaque(mask)
			}
			c = g.cur.NewAnd(c, mask)
			c = g.cur.NewICmp(enum.IPredNE, c, constant.NewZeroInitializer(c.Type()))
		case t.half:
			w := int(c.Type().(*lt.VectorType).Len) / 2
			c = g.cur.NewLShr(g.cur.NewBitCast(c, vec(i64, w)), g.k(ci(i64, 32), w))
			c = g.cur.NewICmp(enum.IPredSLE, g.k(ci(i64, int64(g.lets[t.in.Args[0]].Imm>>32)), w), c)
		case t.in != nil:
			c = g.cur.NewICmp(enum.IPredULE, g.spread(g.env[t.in.Args[0]]), c)
		}
		one := c
		if _, ok := c.Type().(*lt.VectorType); ok {
			one = g.cur.NewCall(g.intrinsic("llvm.vector.reduce.or."+typeSuffix(c.Type()), i1, c.Type()), c)
		}
		if some == nil {
			some = one
		} else {
			some = g.cur.NewOr(some, one)
		}
	}
	return some
}
