package elementary

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Erf returns the error function, 2/sqrt(pi) times the integral of e^-s^2 from 0 to x; Erf(-0) = -0, Erf(±inf) = ±1.
func Erf(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, erf32, erf64) }

// erf32 is x + x P(z) with z = x^2 up to 1, and 1 - 2^Q(|x|-1) from there, where the error of the power counts little.
func erf32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F32
	ax := e.Abs(x)
	one := e.Float(t, 1)
	z := e.Mul(x, x)
	// On z <= 1, of the result: 2^-29.3.
	small := e.Fma(ax, poly(e, z, 0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf0p-4, -0x1.b7f858p-6, 0x1.53ff88p-8,
		-0x1.a3c89ep-11, 0x1.48ea70p-14), ax)

	y := e.Sub(atMost(e, ax, 3.95), one) // erf is 1 from 3.9193 on; exact
	// log2(erfc(1+y)) on y <= 2.95, of the result: 2^-27.5.
	q := poly(e, y, -0x1.558eaep+1, -0x1.e75312p+1, -0x1.3764e2p+0, -0x1.e9c312p-5, 0x1.ce52e4p-7, -0x1.4885acp-9,
		0x1.e57adcp-13)
	magic := e.Float(t, 0x1.8p23+127)
	k := e.Add(q, magic)
	f := e.Sub(q, e.Sub(k, magic))
	scale := e.Bitcast(t, e.Shl(e.Bitcast(types.U32, k), e.Bits(types.U32, 23)))
	large := e.Fma(e.Neg(poly(e, f, exp2F32.p...)), scale, one)
	return e.CopySign(e.Select(e.Lt(ax, one), small, large), x)
}

// erf64 is x + x P(z) with z = x^2 up to 1, and 1 - 2 N(-sqrt(2) |x|) from there.
func erf64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	ax := e.Abs(x)
	one := e.Float(t, 1)
	z := e.Mul(x, x)
	// On z <= 1, of the result: 2^-56.0.
	small := e.Fma(ax, poly(e, z,
		0x1.06eba8214db68p-3, -0x1.812746b0379b1p-2, 0x1.ce2f21a040829p-4, -0x1.b82ce311eb941p-6, 0x1.565bccf7973e6p-8,
		-0x1.c02db009ff9fdp-11,
		0x1.f9a2b6630c4bcp-14, -0x1.f4ca124846fa4p-17, 0x1.b97dbd8090788p-20, -0x1.5bfb4d72707e8p-23,
		0x1.d6ce50b705b59p-27, -0x1.aad610fdba545p-31), ax)

	y := atMost(e, ax, 6) // erf is 1 from 5.8636 on
	square, squareLo := twoProd(e, y, y)
	p, pl, k := normalTail64(e, e.Mul(y, e.Float(t, 0x1.6a09e667f3bcdp+0)), square, squareLo)
	scale := e.Bitcast(t, e.Shl(e.Add(e.Bitcast(types.U64, k), e.Bits(types.U64, 1023+1)), e.Bits(types.U64, 52)))
	large := e.Fma(e.Neg(e.Add(p, pl)), scale, one)
	return e.CopySign(e.Select(e.Lt(ax, one), small, large), x)
}

// Gelu returns x N(x) with the normal distribution function N(x) = (1 + erf(x/sqrt(2)))/2, the exact form; the
// approximation by tanh is another function. Gelu(-inf) = -0, its limit; Gelu(-0) = -0.
func Gelu(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, gelu32, gelu64) }

// gelu32 works in f64: below 0 the result is small, and needs N to full relative accuracy. See normalTail64.
func gelu32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	y := atLeast(e, e.Cast(t, x), -14.6) // N is below 2^-159, and the result 0
	v := atMost(e, e.Abs(y), 14.6)
	four := e.Float(t, 4)
	r := e.Div(e.Float(t, 1), e.Add(v, four))
	// (v+4) e^(v^2/2) N(-v) on v <= 14.6: 2^-35.5.
	q := poly(e, e.Mul(e.Sub(v, four), r),
		0x1.82b4bb8ca95f4p-1, -0x1.373e3a8b0c8c8p-1, 0x1.8c6dbf15763c3p-2, -0x1.7dff2a7995893p-3, 0x1.eec4e09a7341bp-5,
		-0x1.ee2a1369ea3b9p-8, -0x1.c825c1948280bp-9,
		0x1.abbb357100d5dp-10, 0x1.1cd1cfb911583p-13, -0x1.e77e3af2be733p-13, -0x1.1f415f0240632p-17,
		0x1.16aea084e9ff8p-15, 0x1.ebcbb6f9c7c63p-18)
	p, scale := expMinus64(e, e.Mul(e.Mul(v, v), e.Float(t, 0.5)))
	tail := e.Mul(e.Mul(q, r), e.Mul(p, scale))
	n := e.Select(e.Lt(y, e.Float(t, 0)), tail, e.Sub(e.Float(t, 1), tail))
	return e.Cast(types.F32, e.Mul(y, n))
}

// gelu64 keeps N as a sum of two floats, and below 0 scales the result last, so that a subnormal one is accurate.
func gelu64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t, u := types.F64, types.U64
	zero, one := e.Float(t, 0), e.Float(t, 1)
	negative := e.Lt(x, zero)
	// The result is 0 below -38.6, and x above 8.3, where 1 - N is nothing beside 1.
	y := atLeast(e, x, -40)
	v := e.Abs(y)
	v = e.Select(negative, v, atMost(e, v, 9))
	square, squareLo := twoProd(e, v, v)
	half := e.Float(t, 0.5)
	p, pl, k := normalTail64(e, v, e.Mul(square, half), e.Mul(squareLo, half))
	i := e.Bitcast(u, k)
	scale := e.Bitcast(t, e.Shl(e.Add(i, e.Bits(u, 1023)), e.Bits(u, 52))) // for the v up to 9
	n, nl := fastTwoSum(e, one, e.Neg(e.Mul(p, scale)))
	nl = e.Sub(nl, e.Mul(pl, scale))
	n, nl = e.Select(negative, p, n), e.Select(negative, pl, nl)
	g, gl := twoProd(e, y, n)
	i = e.Select(negative, e.Add(i, e.Bits(u, 2*1023)), e.Bits(u, 2*1023))
	r := scaleTwice(e, formatF64, e.Add(g, e.Fma(y, nl, gl)), i)
	return e.Select(e.Or(e.Eq(x, zero), e.Lt(e.Float(t, 9), x)), x, r) // zeros keep their sign
}

// normalTail64 returns N(-v) = 2^n (p + pl) for 0 <= v <= 38.8, with h + hl = v^2/2, as a sum of two floats that is
// good to about half a unit of the last place of p. n stands in the low bits of k.
//
// (v+4) e^(v^2/2) N(-v) is smooth in s = (v-4)/(v+4), which takes v from 0 to infinity to [-1, 1] (Shepherd and
// Laframboise, "Chebyshev approximation of (1+2x) exp(x^2) erfc x in 0 <= x < infinity", 1981, for the idea).
func normalTail64(e scalar.Emitter, v, h, hl scalar.Ref) (p, pl, k scalar.Ref) {
	t := types.F64
	four, one := e.Float(t, 4), e.Float(t, 1)
	den, denLo := twoSum(e, v, four)
	num, numLo := twoSum(e, v, e.Neg(four))
	r := e.Div(one, den)
	rl := e.Mul(r, e.Fma(e.Neg(r), denLo, e.Fma(e.Neg(r), den, one)))
	s := e.Mul(num, r)
	minusS := e.Neg(s)
	sl := e.Mul(r, e.Add(e.Fma(minusS, den, num), e.Fma(minusS, denLo, numLo)))
	// On v <= 38.8: 2^-58.9. The first two steps of Horner's rule give sums of two floats.
	c := normalTailPoly
	a, al := hornerPair(e, s, poly(e, s, c[2:]...), scalar.None, e.Float(t, c[1]))
	a, al = hornerPair(e, s, a, al, e.Float(t, c[0]))
	slope := poly(e, s, c[1], 2*c[2], 3*c[3], 4*c[4])
	al = e.Fma(sl, slope, e.Add(al, e.Float(t, normalTailLo)))

	g, gl, k := expPair(e, e.Neg(h), e.Neg(hl), &expF64, 0x1.8p52)
	b, bl := twoProd(e, a, r)
	bl = e.Fma(al, r, e.Fma(a, rl, bl))
	p, pl = twoProd(e, b, g)
	return p, e.Fma(bl, g, e.Fma(b, gl, pl)), k
}

const normalTailLo = -0x1.aaa31cfa083p-56 // what the first coefficient lacks

var normalTailPoly = []float64{
	0x1.82b4bb8c94dcep-1, -0x1.373e3a893c28ap-1, 0x1.8c6dbf2cfc2b3p-2, -0x1.7dff2bff683b4p-3, 0x1.eec4cc3e4d4b2p-5,
	-0x1.ee2761047b1afp-8,
	-0x1.c81719d573ec1p-9, 0x1.ab825fc058ff6p-10, 0x1.17a4ae4bc7771p-13, -0x1.e4a4254f9e154p-13, -0x1.001e7ad621739p-19,
	0x1.26d09777c23b5p-15,
	0x1.80b4617db5471p-21, -0x1.8d4aee640d3f2p-18, -0x1.51eb6cc5d073bp-21, 0x1.1234fde733a89p-20, 0x1.23537360ebaabp-22,
	-0x1.4cd58484987e0p-23,
	-0x1.6c81947db00a0p-24, 0x1.ccba515a4b184p-27, 0x1.4b38796cdfc1ap-26, 0x1.eb0210ef2dd60p-30, -0x1.4de82e09d1aaep-29,
	-0x1.754c08aee2d5cp-31,
}

// hornerPair returns x*(y + yl) + c as a sum of two floats; yl may be None.
func hornerPair(e scalar.Emitter, x, y, yl, c scalar.Ref) (hi, lo scalar.Ref) {
	a, al := twoProd(e, x, y)
	if yl != scalar.None {
		al = e.Fma(x, yl, al)
	}
	hi, lo = twoSum(e, c, a)
	return hi, e.Add(lo, al)
}
