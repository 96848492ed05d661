package elementary

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Silu returns x times the logistic sigmoid, x/(1 + e^-x), also called swish. Silu(-inf) = -0, its limit; Silu(-0) =
// -0.
func Silu(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, silu32, silu64) }

// silu32 works in f64 as sigmoid32 does.
func silu32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	one := e.Float(t, 1)
	y := e.Cast(t, x)
	// Below -110 the result is -0: the quotient by an infinity, without a slow rounding to f32.
	v := e.Select(e.Lt(y, e.Float(t, -110)), e.Float(t, -709.8), y)
	p, scale := expMinus64(e, atMost(e, v, 110)) // beyond, the result is x
	return e.Cast(types.F32, e.Div(atLeast(e, y, -200), e.Fma(p, scale, one)))
}

// silu64 is x/(1+w) or x w/(1+w) with w = e^-|x|, where the quotient is corrected, and in the latter form scaled last,
// so that a subnormal result is accurate.
func silu64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t, u := types.F64, types.U64
	one := e.Float(t, 1)
	negative := e.Lt(x, e.Float(t, 0))
	y := atMost(e, atLeast(e, x, -760), 760) // below, the result is 0
	p, pl, k := expPair(e, e.Neg(e.Abs(y)), scalar.None, &expF64, expF64.magic)
	i := e.Bitcast(u, k)
	den, denLo := fastTwoSum(e, one, scaleTwice(e, formatF64, p, i))
	f, fl := e.Select(negative, p, one), e.Select(negative, pl, e.Float(t, 0))
	num, numLo := twoProd(e, y, f)
	numLo = e.Fma(y, fl, numLo)
	inv := e.Div(one, den)
	q := e.Mul(num, inv)
	minusQ := e.Neg(q)
	rest := e.Add(e.Fma(minusQ, den, num), e.Fma(minusQ, denLo, numLo))
	r := scaleTwice(e, formatF64, e.Fma(rest, inv, q), e.Select(negative, i, e.Bits(u, 2*1023)))
	// Zeros keep their sign; above 40, w is nothing beside 1.
	return e.Select(e.Or(e.Eq(x, e.Float(t, 0)), e.Lt(e.Float(t, 40), x)), x, r)
}

// Softplus returns log(1 + e^x) without overflow or cancellation; Softplus(-inf) = 0, Softplus(inf) = inf.
func Softplus(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x, softplus32, softplus64)
}

// Both are max(x, 0) + log(1+w) with w = e^-|x|, and log(1+w) = 2 atanh(w/(2+w)) = s + s z R(z) with s = 2w/(2+w) and z
// = s^2.

func softplus32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	zero := e.Float(t, 0)
	y := e.Cast(t, x)
	ay := e.Abs(y)
	p, scale := expMinus64(e, atMost(e, ay, 110))
	// the result is 0 or x, without a slow rounding to f32
	w := e.Select(e.Lt(e.Float(t, 105), ay), zero, e.Mul(p, scale))
	s := e.Div(e.Add(w, w), e.Add(w, e.Float(t, 2)))
	z := e.Mul(s, s)
	// On z <= 4/9, of the logarithm: 2^-38.4.
	r := poly(e, z, 0x1.5555553b5de7dp-4, 0x1.9999bca62a9f7p-7, 0x1.248a6d9c16528p-9, 0x1.c8b88be263f9ap-12,
		0x1.5f4ea0d8197b2p-14, 0x1.bdee396a06431p-16)
	log := e.Fma(e.Mul(s, z), r, s)
	return e.Cast(types.F32, e.Add(e.Select(e.Lt(zero, y), y, zero), log))
}

func softplus64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	zero, two := e.Float(t, 0), e.Float(t, 2)
	w := exp64(e, e.Neg(e.Abs(x)))
	num := e.Add(w, w)
	den, denLo := fastTwoSum(e, two, w)
	inv := e.Div(e.Float(t, 1), den)
	s := e.Mul(num, inv) // + rest/den
	minusS := e.Neg(s)
	rest := e.Fma(minusS, denLo, e.Fma(minusS, den, num))
	z := e.Mul(s, s)
	// On z <= 4/9, of the logarithm: 2^-59.4.
	r := poly(e, z, 0x1.5555555555535p-4, 0x1.99999999a0732p-7, 0x1.249249208e504p-9, 0x1.c71c741b27a01p-12,
		0x1.745cb4365b0f1p-14,
		0x1.3b1dd660e7037p-16, 0x1.10680d76b3f5cp-18, 0x1.efd385c155a08p-21, 0x1.55c706c67355ap-23,
		0x1.5c63a5f6c8ff9p-24)
	hi, lo := twoSum(e, e.Select(e.Lt(zero, x), x, zero), s)
	sum := e.Add(hi, e.Add(lo, e.Fma(e.Mul(s, z), r, e.Mul(rest, inv))))
	return e.Select(e.Lt(e.Float(t, 40), x), x, sum) // w is nothing beside x
}
