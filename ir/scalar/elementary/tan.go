package elementary

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Tan returns the tangent of x radians; Tan(-0) = -0, infinities give NaN. The argument is reduced exactly for all
// magnitudes; no float is so near to a pole that the result overflows.
func Tan(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, tan32, tan64) }

// tan32 works in f64. It reduces as sinCos32 does, but to quarter turns: the rest f is at most 1/8 turn. In odd
// quarters the tangent is minus the cotangent of the rest.
func tan32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	k, f := turns32(e, e.Abs(e.Cast(t, x)), 4, 0)
	z := e.Mul(f, f)
	// sin(2 pi f)/f and cos(2 pi f) on |f| <= 0.1251: 2^-37.7 and 2^-34.0.
	sin := e.Mul(f, poly(e, z, 0x1.921fb5443ae10p+2, -0x1.4abbce5633ef3p+5, 0x1.466bba7992f7ep+6, -0x1.32ca7cc0d462cp+6,
		0x1.4bbfe5523991bp+5))
	cos := poly(e, z, 0x1.ffffffff83649p-1, -0x1.3bd3cc6e20852p+4, 0x1.03c1da8da4c76p+6, -0x1.55c4dc006e17cp+6,
		0x1.d99b8ab4328d1p+5)
	quarter := e.Cast(types.U32, e.Bitcast(types.U64, k))
	odd := e.Ne(e.And(quarter, e.Bits(types.U32, 1)), e.Bits(types.U32, 0))
	q := e.Cast(types.F32, e.Div(e.Select(odd, cos, sin), e.Select(odd, sin, cos)))
	sign := e.Xor(e.Shl(quarter, e.Bits(types.U32, 31)), e.And(e.Bitcast(types.U32, x), e.Bits(types.U32, 1<<31)))
	return e.Bitcast(types.F32, e.Xor(e.Bitcast(types.U32, q), sign))
}

// tan64 divides the sine by the cosine of the reduced argument, both as a sum of two floats, and corrects the quotient:
// their own rounding would take the result beyond 2 ulp.
func tan64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t, u := types.F64, types.U64
	r, rl, quadrant, negative := reduce64(e, e.Abs(x))
	sin, sinLo, cos, cosLo := sinCosPair(e, r, rl)
	odd := e.Ne(e.And(quadrant, e.Bits(u, 1)), e.Bits(u, 0))
	num, numLo := e.Select(odd, cos, sin), e.Select(odd, cosLo, sinLo)
	den, denLo := e.Select(odd, sin, cos), e.Select(odd, sinLo, cosLo)
	inv := e.Div(e.Float(t, 1), den) // not 0: 0 is the only float that is a multiple of pi/2, and its quadrant is even
	q := e.Mul(num, inv)
	minusQ := e.Neg(q)
	rest := e.Add(e.Fma(minusQ, den, num), e.Fma(minusQ, denLo, numLo))
	q = e.Fma(rest, inv, q)
	sign := e.Xor(e.Xor(negative, e.Shl(quadrant, e.Bits(u, 63))), e.Bitcast(u, x))
	return e.Bitcast(t, e.Xor(e.Bitcast(u, q), e.And(sign, e.Bits(u, 1<<63))))
}

// sinCosPair returns the sine and the cosine of r + rl, |r| <= pi/4, as sums of two floats each, good to about 2^-56.
// The polynomials are those of sinCos64.
func sinCosPair(e scalar.Emitter, r, rl scalar.Ref) (sin, sinLo, cos, cosLo scalar.Ref) {
	t := types.F64
	z := e.Mul(r, r)
	one, half := e.Float(t, 1), e.Mul(z, e.Float(t, 0.5))
	w := e.Sub(one, half)
	sin, sinLo = fastTwoSum(e, r, e.Fma(e.Mul(r, z), poly(e, z, sinPoly64...), e.Mul(rl, w)))
	c := e.Fma(e.Mul(z, z), poly(e, z, cosPoly64...), e.Neg(e.Mul(r, rl)))
	cos, cosLo = fastTwoSum(e, w, e.Add(e.Sub(e.Sub(one, w), half), c))
	return sin, sinLo, cos, cosLo
}
