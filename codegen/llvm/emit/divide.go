package emit

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Division by one number]: where a vector is divided by one number, as a row is by its sum, the quotient needs no
// divide instruction, whose latency a row would wait for. With y the number 1/s, rounded,
//
//	q = x*y    r = fma(-q, s, x)    q' = fma(r, y, q)
//
// q' is x/s rounded to nearest, every bit of it, as long as nothing overflows or underflows on the way (Markstein,
// Computation of elementary functions on the IBM RISC System/6000 processor, 1990; Brisebarre, Muller and Raina,
// Accelerating correctly rounded floating-point division when the divisor is known in advance, 2004). So a vector whose
// elements all lie in a range that is safe for that, with s in one too, goes this way, and any other is divided. A zero
// is outside of the range: -0 would lose its sign. What this gains is in docs/tuning/reductions.md.

// safe are the exponents between which the magnitudes of x and of s may lie.
type safe struct{ x, s int }

func safeRange(d types.DType) safe {
	if d == types.F64 {
		return safe{700, 300}
	}
	return safe{80, 40}
}

// divideByOne translates a division of floats by a number that is the same for the whole vector, if in is one.
func (g *Func) divideByOne(s *kernel.Let) bool {
	in := s.In
	if g.Machine.NoFMA || g.Width == 0 || in.Op != scalar.Div || in.Type != types.F32 && in.Type != types.F64 {
		return false
	}
	x, by := g.Env[in.Args[0]], g.Env[in.Args[1]]
	if !x.Wide || by.Wide || by.Iota || isPowerOfTwo(by.V) {
		return false
	}
	d := in.Type
	t, bits := build.RegisterType(d), build.IntType(d.Bits())
	r := safeRange(d)
	y := g.Cur.NewFDiv(build.FromBits(t, scalar.FloatBits(d, 1)), by.V)
	sOK := g.between(by.V, d, bits, -r.s, r.s, 0)
	mask := lt.NewInt(uint64(g.Width))
	xOK := g.Cur.NewICmp(enum.IPredEQ, g.Cur.NewBitCast(g.between(x.V, d, bits, -r.x, r.x, g.Width), mask),
		constant.NewInt(mask, -1))
	splatY, splatS := g.Splat(y), g.Splat(by.V)
	minusS := g.Splat(g.Cur.NewFNeg(by.V))
	g.Set(s.ID, g.IfElse(g.Cur.NewAnd(sOK, xOK), func() []value.Value {
		q := g.Cur.NewFMul(x.V, splatY)
		rest := g.Call("llvm.fma", q.Type(), q, minusS, x.V)
		return []value.Value{g.Call("llvm.fma", q.Type(), rest, splatY, q)}
	}, func() []value.Value {
		return []value.Value{g.Cur.NewFDiv(x.V, splatS)}
	})[0], true)
	return true
}

// between reports that the magnitude of x lies in [2^lo, 2^hi].
func (g *Func) between(x value.Value, d types.DType, bits *lt.IntType, lo, hi, w int) value.Value {
	power := func(e int) int64 {
		if d == types.F64 {
			return int64(e+1023) << 52
		}
		return int64(e+127) << 23
	}
	magnitude := g.Cur.NewAnd(g.Cur.NewBitCast(x, build.Vector(bits, w)),
		g.ConstOf(build.FromBits(bits, 1<<(bits.BitSize-1)-1), w))
	above := g.Cur.NewSub(magnitude, g.ConstOf(build.Int(bits, power(lo)), w))
	return g.Cur.NewICmp(enum.IPredULE, above, g.ConstOf(build.Int(bits, power(hi)-power(lo)), w))
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
