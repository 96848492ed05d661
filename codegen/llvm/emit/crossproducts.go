package emit

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Crosses]
//
// The remainder of a product, a b - q p modulo 2^64, takes the products of the halves of q and p that stand across each
// other, qh pl + ql ph, less than 32 bits of them, and AVX2 multiplies 32 bits to 32 in all elements of a register:
// with the halves of p exchanged that is both products at once, in place of two instructions for them and one that
// takes the upper half of q.

// crosses is (m - (xh yl + xl yh)) * 2^32, of the halves of x and y, where in computes that; else nil.
func (g *Func) crosses(in scalar.Instr) value.Value {
	if g.Machine.VectorBits != 256 || in.Op != scalar.Shl || in.Type.Bytes() != 8 || !g.isConst(in.Args[1], 32) {
		return nil
	}
	less := g.Def(in.Args[0], scalar.Sub)
	if less == nil {
		return nil
	}
	both := g.Def(less.Args[1], scalar.Add)
	if both == nil {
		return nil
	}
	one, two := g.Def(both.Args[0], scalar.Mul), g.Def(both.Args[1], scalar.Mul)
	if one == nil || two == nil {
		return nil
	}
	half := func(r kernel.Ref, op scalar.Op, by uint64) kernel.Ref {
		if in := g.Def(r, op); in != nil && g.isConst(in.Args[1], by) {
			return in.Args[0]
		}
		return scalar.None
	}
	const low = 1<<32 - 1
	x, y := half(one.Args[0], scalar.Shr, 32), half(one.Args[1], scalar.And, low)
	if x == scalar.None || y == scalar.None || half(two.Args[0], scalar.And, low) != x ||
		half(two.Args[1], scalar.Shr, 32) != y {
		return nil
	}
	words := func(v value.Value) value.Value { return g.Cur.NewBitCast(v, build.Vector(build.I32, 2*g.Width)) }
	p := words(g.Spread(g.Env[y]))
	exchanged := g.Permute(p, 2*g.Width, func(i int) int { return i ^ 1 })
	products := g.Cur.NewMul(words(g.Spread(g.Env[x])), exchanged)
	wide := build.Vector(build.I64, g.Width)
	// less one product, in the lower half
	lower := g.Cur.NewSub(g.Spread(g.Env[less.Args[0]]), g.Cur.NewBitCast(products, wide))
	raised := g.Cur.NewShl(lower, g.ConstOf(build.Int(build.I64, 32), g.Width))
	upper := build.ShuffleMask(2*g.Width, func(i int) int { return -(i & 1) })
	return g.Cur.NewBitCast(g.Cur.NewAnd(g.Cur.NewSub(words(raised), products), upper), wide)
}
