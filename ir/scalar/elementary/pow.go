package elementary

import (
	"math"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Pow returns x^y.
//
// Integers wrap; a negative exponent fails the check CheckNegativeExponent, with the exponent as i64; 0^0
// is 1. Floats follow C99 annex F: Pow(x, ±0) = 1 and Pow(1, y) = 1 even for NaN, Pow(-1, ±inf) = 1, a
// negative finite x with a y that is no integer gives NaN, and a negative x with an odd y a negative result.
func Pow(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	switch t := e.TypeOf(x); t {
	case types.F32:
		return pow32(e, x, y)
	case types.F64:
		return pow64(e, x, y)
	case types.F16, types.BF16:
		return e.Cast(t, pow32(e, e.Cast(types.F32, x), e.Cast(types.F32, y)))
	default:
		return powInt(e, x, y)
	}
}

// powInt squares and multiplies, once per bit of the exponent.
func powInt(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	t := e.TypeOf(x)
	zero, one := e.Int(t, 0), e.Int(t, 1)
	n := t.Bits()
	if t.IsSigned() {
		e.Check(scalar.CheckNegativeExponent, e.Le(zero, y), e.Cast(types.I64, y))
		n--
	}
	r := one
	for i := range n {
		bit := e.And(y, e.Bits(t, 1<<i))
		factor := e.Select(e.Ne(bit, zero), x, one)
		if i == 0 {
			r = factor
		} else {
			r = e.Mul(r, factor)
		}
		if i < n-1 {
			x = e.Mul(x, x)
		}
	}
	return r
}

// powSpecial completes r = |x|^y, right for positive finite x and any y, for all x.
func powSpecial(e scalar.Emitter, x, y, r scalar.Ref) scalar.Ref {
	t := e.TypeOf(x)
	zero, one, inf := e.Float(t, 0), e.Float(t, 1), e.Float(t, math.Inf(1))
	ax := e.Abs(x)
	falling := e.Lt(y, zero)
	atZero := e.Select(falling, inf, zero)
	atInf := e.Select(falling, zero, inf)
	notNaN := e.Eq(y, y)
	r = e.Select(e.And(e.Eq(ax, zero), notNaN), atZero, r)
	r = e.Select(e.And(e.Eq(ax, inf), notNaN), atInf, r)
	r = e.Select(e.Eq(x, x), r, x)
	// Halving is exact for every integer, and odd ones stop being integers.
	whole := e.Eq(e.Trunc(y), y)
	half := e.Mul(y, e.Float(t, 0.5))
	odd := e.And(whole, e.Ne(e.Trunc(half), half))
	r = e.Select(odd, e.CopySign(r, x), r)
	negative := e.And(e.Lt(x, zero), e.Lt(ax, inf))
	r = e.Select(e.And(negative, e.Not(whole)), e.Float(t, math.NaN()), r)
	return e.Select(e.Or(e.Eq(y, zero), e.Eq(x, one)), one, r)
}

// pow32 is 2^(y log2|x|) in f64. log2 is good to 2^-37 relative, so for results in range, where the product
// is below 150, the error is below 2^-30.
func pow32(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	t := types.F64
	l := log2Short(e, e.Abs(e.Cast(t, x)))
	// Beyond 2^33 y only decides between 0, 1 and infinity; and 0 * inf must not be NaN.
	wide := atMost(e, atLeast(e, e.Cast(t, y), -0x1p40), 0x1p40)
	p := atMost(e, atLeast(e, e.Mul(wide, l), -200), 200)
	magic := e.Float(t, 0x1.8p52+1023)
	k := e.Add(p, magic)
	f := e.Sub(p, e.Sub(k, magic))
	// 2^f on |f| <= 1/2: 2^-34.3.
	r := poly(e, f, 1, 0x1.62e42ff0e2ad8p-1, 0x1.ebfbe077af07bp-3, 0x1.c6b08abdf6c88p-5, 0x1.3b29f380c6c2ap-7,
		0x1.5d8a8876a984bp-10, 0x1.445c96b6918c8p-13, 0x1.fde33a0afd687p-17)
	scale := e.Bitcast(t, e.Shl(e.Bitcast(types.U64, k), e.Bits(types.U64, 52)))
	return powSpecial(e, x, y, e.Cast(types.F32, e.Mul(r, scale)))
}

// pow64 is 2^(y log2|x|) with the logarithm as an unevaluated sum of two floats: the product may be 1075, so
// the relative error must be below 2^-63 for the result to be good to half an ulp.
func pow64(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	t := types.F64
	l, ll := log2Pair(e, e.Abs(x))
	// Beyond 2^64 y only decides between 0, 1 and infinity; and 0 * inf must not be NaN.
	wide := atMost(e, atLeast(e, y, -0x1p66), 0x1p66)
	g, gl := twoProd(e, wide, l)
	gl = e.Fma(wide, ll, gl)
	gl = e.Select(e.Lt(e.Float(t, 1100), e.Abs(g)), e.Float(t, 0), gl) // it would outweigh the limited g
	g = atMost(e, atLeast(e, g, -1100), 1100)
	magic := e.Float(t, exp2F64.magic)
	k := e.Add(g, magic)
	f := e.Add(e.Sub(g, e.Sub(k, magic)), gl)
	return powSpecial(e, x, y, scaleTwice(e, formatF64, poly(e, f, exp2F64.p...), e.Bitcast(types.U64, k)))
}
