package loops

import (
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Speculation]
//
// The first arm of a long branch is the rare one (rareArm in loops.go): operands of a product of residues that are no
// residues. To ask each vector whether it is taken costs a comparison, a move from the mask to the other registers and
// a jump, as much as a third of a product by IFMA. So vectors go in blocks:
//
//	for x in steps of some vectors:
//	  compute and store all of them as if no iteration took the rare arm
//	  if one did, and where less than a block is left: vector after vector, with the branch
//
// The vectors of a block stand side by side, except where a branch that all iterations take the same way is left, and
// there are registers for what goes from round to round: then a loop goes through them, because there is no more than a
// vector between two branches (docs/tuning/compile-effort.md).
//
// What was read is kept for nothing then, which counts where there are 16 registers. A kernel that works in place
// stores after the question.
//
// Conditions of the usual forms, x & m != 0 and m <= x where m is the same for all, are put together as x: one or, one
// maximum. LLVM would do so behind the last vector, and keep the operands of all of them until then, for which 16
// registers are too few: opaque. Where the lower half of a 64-bit m is 0, the upper halves of x tell, and where x is a
// maximum, its operands: AVX2 has a maximum of 32-bit numbers, and none of 64 bits.
//
// Sums down columns put the arms off until all rows are added (Note [Outer-axis reductions]): what is put together is
// kept from one round of the loops to the next, in memory of which LLVM makes registers.

// HotPath is a block of vectors, or loops over blocks, for which rare arms are put off.
type HotPath struct {
	Ifs   map[*kernel.If]bool
	tests []*Guard
	Of    map[kernel.Ref]*Guard // by condition
	Start *lir.Block            // before the loops; nil for a block
	body  map[kernel.Ref]bool   // what the loops define; nil where everything may be
}

// before reports that r is the same for all rounds of the loops, and there before them.
func (u *HotPath) before(g *emit.Func, r kernel.Ref) bool {
	return u.Start == nil || g.IsNumber(r) || u.body != nil && !u.body[r]
}

// Speculation is the block for which rare arms are being put off; nil for none.
type Speculation struct{ Path *HotPath }

// Guard is whether any iteration so far takes a rare arm.
type Guard struct {
	in   *scalar.Instr // the comparison, of which x is the operand that differs; nil when x is the condition itself
	mask *scalar.Instr // x & m, when it compares that with 0
	half bool          // x is the 32-bit halves, of which the upper ones are compared
	x    value.Value
	kept value.Value // where the rounds of a loop leave x
}

// vectors runs the vectors of w iterations that begin in [lo, hi), which are whole ones up to last; nil says that all
// are.
func vectors(g *emit.Func, v kernel.Ref, lo, hi, last value.Value, w int, body *kernel.Block) {
	at := func(x value.Value) {
		g.Env[v] = emit.Val{V: x, Iota: true}
		g.Block(body)
	}
	one := func(x value.Value, _ []value.Value) []value.Value {
		if last != nil {
			x = g.Min(x, last)
		}
		at(x)
		return nil
	}
	d := g.Schedule.OfKind("speculate")
	block, ifs := 0, map[*kernel.If]bool{}
	if d != nil {
		block, ifs = int(d.Get("vectors")), analysis.RareBranches(body)
	}
	step := int64(block * w)
	if len(ifs) == 0 || g.Intercept != nil || g.Shorter(lo, hi, int(2*step)) {
		if last == nil {
			g.For(lo, hi, int64(w), nil, one)
		} else {
			g.ForOverlapped(lo, hi, build.Int(build.I64, int64(w)), last, at)
		}
		return
	}
	var stores []*kernel.Store // that are put off, where an iteration that is computed again would read them
	late := g.InPlace()
	for _, st := range body.Stmts {
		if s, ok := st.(*kernel.Store); ok && late {
			stores = append(stores, s)
		}
	}
	g.For(lo, hi, step, nil, func(x value.Value, _ []value.Value) []value.Value {
		end := g.Add(x, build.Int(build.I64, step))
		whole, slow, next := g.NewBlock(), g.NewBlock(), g.NewBlock()
		g.Cur.NewCondBr(g.Cur.NewICmp(enum.IPredSLE, end, hi), whole, slow)
		g.Cur = whole
		put := &HotPath{Ifs: ifs, Of: map[kernel.Ref]*Guard{}}
		emit.State[Speculation](g).Path = put
		if late {
			g.Intercept = func(s kernel.Stmt) bool { _, ok := s.(*kernel.Store); return ok }
		}
		var envs [][]emit.Val
		var some value.Value
		if inside := definitions(body); !late && g.Machine.Registers >= 32 && branches(g, body, inside) {
			put.Start, put.body = g.Cur, inside
			g.For(x, end, int64(w), nil, func(x value.Value, _ []value.Value) []value.Value {
				at(x)
				put.Keep(g)
				return nil
			})
			some = put.Ever(g)
		} else {
			for k := range block {
				at(g.Add(x, build.Int(build.I64, int64(k*w))))
				envs = append(envs, slices.Clone(g.Env))
			}
			some = put.any(g)
		}
		g.Intercept = nil
		if some != nil {
			plain := g.NewBlock()
			g.Cur.NewCondBr(some, slow, plain)
			g.Cur = plain
		}
		emit.State[Speculation](g).Path = nil
		env := g.Env
		for _, e := range envs {
			g.Env = e
			for _, s := range stores {
				g.Store(s)
			}
		}
		g.Env = env
		g.Cur.NewBr(next)
		g.Cur = slow
		g.For(x, g.Min(end, hi), int64(w), nil, one)
		g.Cur.NewBr(next)
		g.Cur = next
		return nil
	})
}

// definitions are the values that b defines, in the blocks in it, too.
func definitions(b *kernel.Block) map[kernel.Ref]bool {
	out := map[kernel.Ref]bool{}
	kernel.Visitor{Define: func(r *kernel.Ref) { out[*r] = true }}.All(b)
	return out
}

// branches reports that b goes one of two ways that are the same for all iterations, and that the loops were not
// written once for each: a branch is left in the code of each vector.
func branches(g *emit.Func, b *kernel.Block, inside map[kernel.Ref]bool) bool {
	return slices.ContainsFunc(b.Stmts, func(st kernel.Stmt) bool {
		s, ok := st.(*kernel.If)
		if !ok || inside[s.Cond] {
			return false
		}
		_, _, decided := g.Taken(s)
		return !decided && analysis.Statements(s.Then)+analysis.Statements(s.Else) >= kernel.RareArm
	})
}

// deferRareArm reports that the rare arm of s was put off: its condition is kept, and s has the values of the other
// arm.
func deferRareArm(g *emit.Func, s *kernel.If, c value.Value) bool {
	put := emit.State[Speculation](g).Path
	if put == nil || !put.Ifs[s] {
		return false
	}
	put.note(g, s.Cond, c)
	arm(g, s, false, c)
	for i, id := range s.IDs {
		g.Env[id] = g.Env[s.ElseVals[i]]
	}
	return true
}

// note takes in a condition of one more vector.
func (u *HotPath) note(g *emit.Func, r kernel.Ref, c value.Value) {
	n := &Guard{x: c}
	if in := g.Lets[r]; in != nil {
		x, m := in.Args[0], in.Args[1]
		switch {
		case in.Op == scalar.Ne && g.IsZero(m) && maskOf(g, x) != nil:
			if mask := maskOf(g, x); u.before(g, mask.Args[1]) {
				n.in, n.mask, n.x = in, mask, g.Spread(g.Env[mask.Args[0]])
			}
		case in.Op == scalar.Le && !g.Types[m].IsSigned() && !g.Types[m].IsFloat() && g.Env[m].Wide && !g.Env[x].Wide &&
			!g.Env[x].Iota && u.before(g, x):
			n.in, n.x = in, g.Env[m].V
			if c := g.Lets[x]; g.Types[m] == types.U64 && c != nil && c.Op == scalar.Const && uint32(c.Imm) == 0 {
				for _, part := range largestOf(g, m) {
					part = g.Cur.NewBitCast(part, build.Vector(build.I32, 2*g.Width))
					if n.half {
						part = n.both(g, n.x, part)
					}
					n.x, n.half = part, true
				}
			}
		}
	}
	switch old := u.Of[r]; {
	case old == nil:
		u.Of[r] = n
		u.tests = append(u.tests, n)
	case old.x == nil:
		old.x = n.x
	default:
		old.x = old.both(g, old.x, n.x)
	}
}

// both combines x and y, which each tell of one vector, to one value that tells of both.
func (t *Guard) both(g *emit.Func, x, y value.Value) value.Value {
	switch {
	case t.half:
		return opaque(g, g.MinMax(scalar.Max, types.U32, g.Width, x, y))
	case t.in != nil && t.mask == nil:
		return g.MinMax(scalar.Max, g.Types[t.in.Args[1]], g.Width, x, y)
	}
	return opaque(g, g.Cur.NewOr(x, y))
}

// join makes x one register, where that can be.
func (t *Guard) join(g *emit.Func) {
	for (t.half || t.mask != nil && g.IsNumber(t.mask.Args[1])) && registers(g, t.x) > 1 {
		w := build.VectorLen(t.x) / 2
		t.x = t.both(g, g.Extract(t.x, 0, w), g.Extract(t.x, w, w))
	}
}

// Keep ends a round of the loops.
func (u *HotPath) Keep(g *emit.Func) {
	for _, t := range u.tests {
		t.join(g)
		if t.kept == nil {
			t.kept = g.Entry.NewAlloca(t.x.Type())
			u.Start.NewStore(constant.NewZeroInitializer(t.x.Type()), t.kept)
		}
		g.Cur.NewStore(t.both(g, t.x, g.Cur.NewLoad(t.x.Type(), t.kept)), t.kept)
		t.x = nil
	}
}

// Ever is whether a rare arm was taken by any iteration of the loops, nil when there was none.
func (u *HotPath) Ever(g *emit.Func) value.Value {
	for _, t := range u.tests {
		t.x = g.Cur.NewLoad(t.kept.Type().(*lt.PointerType).ElemType, t.kept)
	}
	return u.any(g)
}

// largestOf are the operands of which r is the maximum.
func largestOf(g *emit.Func, r kernel.Ref) []value.Value {
	if in := g.Lets[r]; in != nil && in.Op == scalar.Max {
		return append(largestOf(g, in.Args[0]), largestOf(g, in.Args[1])...)
	}
	return []value.Value{g.Spread(g.Env[r])}
}

// registers is how many registers a vector takes.
func registers(g *emit.Func, x value.Value) int {
	t, ok := x.Type().(*lt.VectorType)
	if !ok {
		return 1
	}
	return int(t.Len*t.ElemType.(*lt.IntType).BitSize) / g.Machine.VectorBits
}

// opaque is x behind a fence: LLVM does not see how x is computed. It has such a fence for floats only, in whole
// registers.
func opaque(g *emit.Func, x value.Value) value.Value {
	t, ok := x.Type().(*lt.VectorType)
	if !ok || g.Machine.Device {
		return x
	}
	var floats lt.Type
	switch of := t.ElemType; {
	case of.Equal(build.I64) && t.Len >= 2:
		floats = build.Vector(lt.Double, int(t.Len))
	case of.Equal(build.I32) && t.Len >= 4:
		floats = build.Vector(lt.Float, int(t.Len))
	default:
		return x
	}
	return g.Cur.NewBitCast(g.Call("llvm.arithmetic.fence", floats, g.Cur.NewBitCast(x, floats)), t)
}

// maskOf is the instruction of r when it is x & m, with m the same for all iterations and x not.
func maskOf(g *emit.Func, r kernel.Ref) *scalar.Instr {
	in := g.Lets[r]
	if in == nil || in.Op != scalar.And || g.Env[in.Args[1]].Wide || g.Env[in.Args[1]].Iota || !g.Env[in.Args[0]].Wide {
		return nil
	}
	return in
}

// any is whether a rare arm is taken by any iteration of the block, nil when there was none.
func (u *HotPath) any(g *emit.Func) value.Value {
	var some value.Value
	for _, t := range u.tests {
		if t.in != nil { // of a comparison with a number LLVM would make one with more instructions
			t.join(g)
		}
		c := t.x
		switch {
		case t.mask != nil:
			mask := g.Spread(g.Env[t.mask.Args[1]])
			if g.IsNumber(t.mask.Args[1]) {
				for registers(g, mask) > registers(g, c) {
					mask = g.Extract(mask, 0, build.VectorLen(mask)/2)
				}
				mask = opaque(g, mask)
			}
			c = g.Cur.NewAnd(c, mask)
			c = g.Cur.NewICmp(enum.IPredNE, c, constant.NewZeroInitializer(c.Type()))
		case t.half:
			w := int(c.Type().(*lt.VectorType).Len) / 2
			c = g.Cur.NewLShr(g.Cur.NewBitCast(c, build.Vector(build.I64, w)), g.ConstOf(build.Int(build.I64, 32), w))
			c = g.Cur.NewICmp(enum.IPredSLE, g.ConstOf(build.Int(build.I64, int64(g.Lets[t.in.Args[0]].Imm>>32)), w), c)
		case t.in != nil:
			c = g.Cur.NewICmp(enum.IPredULE, g.Spread(g.Env[t.in.Args[0]]), c)
		}
		one := c
		if _, ok := c.Type().(*lt.VectorType); ok {
			one = g.Cur.NewCall(g.Intrinsic("llvm.vector.reduce.or."+build.TypeSuffix(c.Type()), build.I1, c.Type()), c)
		}
		if some == nil {
			some = one
		} else {
			some = g.Cur.NewOr(some, one)
		}
	}
	return some
}
