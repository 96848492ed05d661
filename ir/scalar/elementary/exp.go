package elementary

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Exp returns e^x. Exp(-inf) = 0, Exp(inf) = inf, NaN stays NaN; overflow gives inf, and results below
// the normal range are rounded to subnormals.
func Exp(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, exp32, exp64) }

// expConsts parametrises the one algorithm for both formats:
//
//	n = round(x / ln 2), r = x - n ln 2 in [-ln 2/2, ln 2/2], e^x = 2^n (1 + r + r^2 q(r)).
type expConsts struct {
	floatFormat
	lo, hi     float64 // beyond, the result is 0 or inf
	zero       float64 // an argument for which scaleTwice multiplies with 0: n = -2*bias
	magic      float64 // 1.5 * 2^mantissa + 2*bias
	ln2, ln2lo float64
	q          []float64
}

var expF32 = expConsts{
	formatF32, -104, 89, -176, 0x1.8p23 + 254, 0x1.62e430p-1, -0x1.05c610p-29,
	// On |r| <= 0.34665: 2^-28.0.
	[]float64{0x1p-1, 0x1.5554a0p-3, 0x1.55565ap-5, 0x1.123172p-7, 0x1.6ba240p-10},
}

var expF64 = expConsts{
	formatF64, -746, 710, -1418.2, 0x1.8p52 + 2046, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56,
	// On |r| <= 0.3466: 2^-57.4.
	[]float64{
		0x1p-1, 0x1.5555555555501p-3, 0x1.55555555531f5p-5, 0x1.1111111128954p-7, 0x1.6c16c17cc8129p-10,
		0x1.a01a011be52e3p-13, 0x1.a019ab1f9687ep-16, 0x1.71df55bbaf32ep-19, 0x1.289f970778556p-22,
		0x1.ad1f63f9ee6f3p-26,
	},
}

func exp32(e scalar.Emitter, x scalar.Ref) scalar.Ref { return expBy(e, x, &expF32) }
func exp64(e scalar.Emitter, x scalar.Ref) scalar.Ref { return expBy(e, x, &expF64) }

const log2OfE = 0x1.71547652b82fep+0

func expBy(e scalar.Emitter, x scalar.Ref, c *expConsts) scalar.Ref {
	t := c.float
	// Far below, the result is made 0 by an exact product: rounding a tiny one takes most machines over a hundred
	// cycles, and masks of -inf or -1e9 are common in what softmax is given. (Rounding gives 0 from lo on, too.)
	x = e.Flush(x, e.Float(t, c.lo), e.Float(t, c.zero))
	x = atMost(e, x, c.hi)
	magic := e.Float(t, c.magic)
	k := e.Fma(x, e.Float(t, log2OfE), magic)
	n := e.Sub(k, magic)
	r := e.Fma(n, e.Float(t, -c.ln2), x) // exact: a multiple of the last place of ln2, and small
	r = e.Fma(n, e.Float(t, -c.ln2lo), r)
	p := poly(e, r, append([]float64{1, 1}, c.q...)...)
	return scaleTwice(e, c.floatFormat, p, e.Bitcast(c.bits, k))
}

// expMinus64 returns e^-x in f64 for an x of f32 precision, with a relative error below 2^-33, for
// -709.8 <= x < 700; at -709.8 scale is infinite.
//
// It returns 1 + r + r^2 q(r) and the power of two to multiply it with, so that the caller can fuse.
func expMinus64(e scalar.Emitter, x scalar.Ref) (p, scale scalar.Ref) {
	t := types.F64
	magic := e.Float(t, 0x1.8p52+1023)
	k := e.Fma(x, e.Float(t, -log2OfE), magic)
	n := e.Sub(k, magic)
	r := e.Fma(n, e.Float(t, expF64.ln2), x) // -r in [-ln 2/2, ln 2/2]
	// On |r| <= 0.3466, of e^-r: 2^-33.2.
	p = poly(e, r, 1, -1, 0x1p-1, -0x1.555553df34d55p-3, 0x1.5554e6f82de6fp-5, -0x1.111331b6c8ea0p-7,
		0x1.6d4de5d8c22adp-10, -0x1.9dd54785754ccp-13)
	return p, e.Bitcast(t, e.Shl(e.Bitcast(types.U64, k), e.Bits(types.U64, 52)))
}

// Exp2 returns 2^x, exact for integers; the special values are those of Exp.
func Exp2(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return exp2By(e, x, &exp2F32) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return exp2By(e, x, &exp2F64) })
}

// exp2Consts parametrises 2^x = 2^n 2^f with n = round(x) and f = x-n, which is exact.
type exp2Consts struct {
	floatFormat
	lo, hi, zero, magic float64 // as in expConsts
	p                   []float64
}

var exp2F32 = exp2Consts{
	formatF32, -151, 129, -254, 0x1.8p23 + 254,
	// On |f| <= 0.5001: 2^-28.3.
	[]float64{1, 0x1.62e430p-1, 0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2dd6p-7, 0x1.5f0952p-10, 0x1.41767ap-13},
}

var exp2F64 = exp2Consts{
	formatF64, -1076, 1025, -2046, 0x1.8p52 + 2046,
	// On |f| <= 0.5001: 2^-57.8.
	[]float64{
		1, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c59dp-3, 0x1.c6b08d704a0d8p-5, 0x1.3b2ab6fba0fc5p-7,
		0x1.5d87fe78b29e4p-10, 0x1.4309130c63fb9p-13,
		0x1.ffcbfbff0c983p-17, 0x1.62bfccfd6ef1ap-20, 0x1.b525ff5fe973ap-24, 0x1.e6130687a9c0cp-28,
		0x1.e825807ad6596p-32,
	},
}

func exp2By(e scalar.Emitter, x scalar.Ref, c *exp2Consts) scalar.Ref {
	t := c.float
	x = e.Flush(x, e.Float(t, c.lo), e.Float(t, c.zero))
	x = atMost(e, x, c.hi)
	magic := e.Float(t, c.magic)
	k := e.Add(x, magic)
	f := e.Sub(x, e.Sub(k, magic))
	return scaleTwice(e, c.floatFormat, poly(e, f, c.p...), e.Bitcast(c.bits, k))
}

// Expm1 returns e^x - 1 without cancellation; Expm1(-inf) = -1, Expm1(-0) = -0.
func Expm1(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, expm132, expm164) }

func expm132(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	y := e.Cast(types.F64, x)
	// q on |r| <= 0.3466, of e^r - 1: 2^-31.3.
	r := expm1By(e, y, 0x1p-1, 0x1.555554d69bf7cp-3, 0x1.5554f26d5674ap-5, 0x1.1111cc4631f64p-7, 0x1.6d409933ebda3p-10,
		0x1.9fba0f83b7016p-13)
	r = e.Cast(types.F32, r)
	return e.Select(e.Eq(x, e.Float(types.F32, 0)), x, r)
}

func expm164(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	// q on |r| <= 0.3466, of e^r - 1: 2^-55.2.
	r := expm1By(e, x, 0x1p-1, 0x1.555555555553ep-3, 0x1.5555555553b03p-5, 0x1.1111111118d0ep-7, 0x1.6c16c17a01a12p-10,
		0x1.a01a01718a86dp-13, 0x1.a019b3950609ap-16, 0x1.71de9822c015ep-19, 0x1.28976c7a0cf8dp-22,
		0x1.ae47573468639p-26)
	return e.Select(e.Lt(e.Abs(x), e.Float(types.F64, 0x1p-54)), x, r)
}

// expm1By is 2^n (u + 1) - 1 = 2 (h u + (h - 1/2)) with u = e^r - 1 = r + r^2 q(r) and h = 2^(n-1), which is finite
// for all finite results. x is an f64.
func expm1By(e scalar.Emitter, x scalar.Ref, q ...float64) scalar.Ref {
	t := types.F64
	x = atMost(e, atLeast(e, x, -60), 710)
	magic := e.Float(t, 0x1.8p52+1022)
	k := e.Fma(x, e.Float(t, log2OfE), magic)
	n := e.Sub(k, magic)
	r := e.Fma(n, e.Float(t, -expF64.ln2), x)
	r = e.Fma(n, e.Float(t, -expF64.ln2lo), r)
	u := e.Fma(e.Mul(r, r), poly(e, r, q...), r)
	h := e.Bitcast(t, e.Shl(e.Bitcast(types.U64, k), e.Bits(types.U64, 52)))
	return e.Mul(e.Fma(h, u, e.Sub(h, e.Float(t, 0.5))), e.Float(t, 2))
}
