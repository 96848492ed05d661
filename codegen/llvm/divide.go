package llvm

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Division by one number]: where a vector is divided by one number, as a row is by its sum, the quotient
// needs no divide instruction, which takes 16 cycles for a register of AVX-512. With y the number 1/s, rounded,
//
//	q = x*y    r = fma(-q, s, x)    q' = fma(r, y, q)
//
// q' is x/s rounded to nearest, every bit of it, as long as nothing overflows or underflows on the way (Markstein,
// Computation of elementary functions on the IBM RISC System/6000 processor, 1990; Brisebarre, Muller and Raina,
// Accelerating correctly rounded floating-point division when the divisor is known in advance, 2004). So a vector whose
// elements all lie in a range that is safe for that, with s in one too, goes this way, and any other is divided. A zero
// is outside of the range: -0 would lose its sign. (f32[4096, 1024] by the sum of its rows, one thread of a Sapphire
// Rapids, November 2026: see docs/performance.md.)

// safe are the exponents between which the magnitudes of x and of s may lie.
type safe struct{ x, s int }

func safeRange(d types.DType) safe {
	if d == types.F64 {
		return safe{700, 300}
	}
	return safe{80, 40}
}

// divideByOne translates a division of floats by a number that is the same for the whole vector, if in is one.
func (g *gen) divideByOne(s *kernel.Let) bool {
	in := s.In
	if g.machine.NoFMA || g.w == 0 || in.Op != scalar.Div || in.Type != types.F32 && in.Type != types.F64 {
		return false
	}
	x, by := g.env[in.Args[0]], g.env[in.Args[1]]
	if !x.wide || by.wide || by.iota || isPowerOfTwo(by.v) {
		return false
	}
	d := in.Type
	t, bits := regType(d), intType(d.Bits())
	r := safeRange(d)
	y := g.cur.NewFDiv(fromBits(t, scalar.FloatBits(d, 1)), by.v)
	sOK := g.between(by.v, d, bits, -r.s, r.s, 0)
	mask := lt.NewInt(uint64(g.w))
	xOK := g.cur.NewICmp(enum.IPredEQ, g.cur.NewBitCast(g.between(x.v, d, bits, -r.x, r.x, g.w), mask),
		constant.NewInt(mask, -1))
	splatY, splatS := g.splat(y), g.splat(by.v)
	minusS := g.splat(g.cur.NewFNeg(by.v))
	g.set(s.ID, g.choose(g.cur.NewAnd(sOK, xOK), func() []value.Value {
		q := g.cur.NewFMul(x.v, splatY)
		rest := g.call("llvm.fma", q.Type(), q, minusS, x.v)
		return []value.Value{g.call("llvm.fma", q.Type(), rest, splatY, q)}
	}, func() []value.Value {
		return []value.Value{g.cur.NewFDiv(x.v, splatS)}
	})[0], true)
	return true
}

// between reports that the magnitude of x lies in [2^lo, 2^hi].
func (g *gen) between(x value.Value, d types.DType, bits *lt.IntType, lo, hi, w int) value.Value {
	power := func(e int) int64 {
		if d == types.F64 {
			return int64(e+1023) << 52
		}
		return int64(e+127) << 23
	}
	magnitude := g.cur.NewAnd(g.cur.NewBitCast(x, vec(bits, w)), g.k(fromBits(bits, 1<<(bits.BitSize-1)-1), w))
	above := g.cur.NewSub(magnitude, g.k(ci(bits, power(lo)), w))
	return g.cur.NewICmp(enum.IPredULE, above, g.k(ci(bits, power(hi)-power(lo)), w))
}

// isPowerOfTwo reports a constant by which LLVM divides with a multiplication.
func isPowerOfTwo(x value.Value) bool {
	c, ok := x.(*constant.ExprBitCast)
	if !ok {
		return false
	}
	n, ok := c.From.(*constant.Int)
	if !ok {
		return false
	}
	fraction := uint64(1)<<23 - 1
	if n.Typ.BitSize == 64 {
		fraction = 1<<52 - 1
	}
	return n.X.Uint64()&fraction == 0
}
