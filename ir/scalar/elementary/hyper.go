package elementary

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Tanh returns the hyperbolic tangent; Tanh(±inf) = ±1, Tanh(-0) = -0.
func Tanh(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, tanh32, tanh64) }

// Sigmoid returns 1/(1 + e^-x), which is 0 at -inf and 1 at inf.
func Sigmoid(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, sigmoid32, sigmoid64) }

// tanh32 is a - a z/D(z) with a = x and z = x^2 up to 1, and with a = 1 and z = 1 from there, where D is (e^2|x| +
// 1)/2: the error of the quotient counts little. So a is x limited to [-1, 1] and z is a^2 everywhere, and the two
// denominators, equal at 1, are the larger of both: nothing is compared or chosen, and the sign is that of a. No
// argument of the exponential is below 0, so its scaling is simple.
func tanh32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F32
	a := atLeast(e, atMost(e, x, 1), -1)
	// A quotient below 0 keeps the sign of -0; beside anything but 0, or in D, 2^-60 is nothing.
	z := e.Fma(a, a, e.Float(t, -0x1p-60))
	// D(z) = z/(1 - tanh(x)/x). On z <= 1, of the result: 2^-28.0.
	d := poly(e, z, 3, 0x1.3332fep+0, -0x1.75773cp-8, 0x1.e22534p-13)

	y := atMost(e, e.Abs(x), 9.1) // tanh is 1 from 9.011 on
	magic := e.Float(t, 0x1.8p23+127)
	k := e.Fma(y, e.Float(t, 2*log2OfE), magic)
	n := e.Sub(k, magic)
	// r is half of the reduced argument; one part of ln 2 is enough for n <= 26. e^2r/2 is the polynomial of exp32 in
	// 2r.
	r := e.Fma(n, e.Float(t, -expF32.ln2/2), y)
	c := []float64{0.5, 1}
	for i, q := range expF32.q {
		c = append(c, q*float64(int(2)<<i))
	}
	scale := e.Bitcast(t, e.Shl(e.Bitcast(types.U32, k), e.Bits(types.U32, 23)))
	large := e.Fma(poly(e, r, c...), scale, e.Float(t, 0.5))

	q := e.Div(z, e.Select(e.Lt(d, large), large, d))
	return e.Fma(e.Neg(a), q, a)
}

// tanh64 is x + x z P(z) with z = x^2 up to 0.6, and 1 - 2/(e^2x + 1) from there.
func tanh64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	ax := e.Abs(x)
	one := e.Float(t, 1)
	z := e.Mul(x, x)
	// On z <= 0.36: 2^-57.8.
	p := poly(e, z, -0x1.5555555555530p-2, 0x1.111111110e1d3p-3, -0x1.ba1ba1b781f5bp-5, 0x1.664f47f04aed8p-6,
		-0x1.226e2297b2c36p-7, 0x1.d6d0c6b8406ebp-9, -0x1.7d79df2645ca9p-10, 0x1.33db3a9fbce03p-11,
		-0x1.e32e6451b71dap-13, 0x1.4cacfe834f6c2p-14, -0x1.203a6447ec5d2p-16)
	small := e.Fma(e.Mul(ax, z), p, ax)

	y := atMost(e, ax, 20) // tanh is 1 from 19.07 on
	magic := e.Float(t, 0x1.8p52+1023)
	k := e.Fma(y, e.Float(t, 2*log2OfE), magic)
	n := e.Sub(k, magic)
	r := e.Fma(n, e.Float(t, -expF64.ln2/2), y)
	c := []float64{1, 2}
	for i, q := range expF64.q {
		c = append(c, q*float64(int(4)<<i))
	}
	scale := e.Bitcast(t, e.Shl(e.Bitcast(types.U64, k), e.Bits(types.U64, 52)))
	large := e.Sub(one, e.Div(e.Float(t, 2), e.Fma(poly(e, r, c...), scale, one)))
	return e.CopySign(e.Select(e.Lt(ax, e.Float(t, 0.6)), small, large), x)
}

// sigmoid32 is a y for x < 0 and 1 - a y else, with e^-|x| = a (1+s)^-1, a = 2^n and y = 1/(a + 1 + s), so that nothing
// overflows. In f32 throughout: keeping the denominator as two floats, and correcting its inverse by a Newton step,
// leaves little more than the error of s and one rounding.
func sigmoid32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t, i32 := types.F32, types.I32
	one := e.Float(t, 1)
	// Far from 0, a is 0, by a product with 0 and not by a slow rounding: n is -159 there.
	v := atLeast(e, e.Neg(e.Abs(x)), -110.2)
	magic := e.Float(t, 0x1.8p23+159)
	k := e.Fma(v, e.Float(t, log2OfE), magic)
	n := e.Sub(k, magic)
	r := e.Fma(n, e.Float(t, -expF32.ln2), v)
	r = e.Fma(n, e.Float(t, -expF32.ln2lo), r)
	// s = e^-r - 1, by the polynomial of exp32 in -r, with fewer of its steps one after another: the chain of all of
	// them is what limits how many vectors a processor computes side by side.
	q := expF32.q
	r2 := e.Mul(r, r)
	s := e.Fma(r2, polyInPairs(e, r, r2, q[0], -q[1], q[2], -q[3], q[4]), e.Neg(r))
	// The bits of k are n + 159 above those of 1.5 * 2^23, so that 2^32 a is a normal number down to n = -158, or 0.
	a := e.Mul(e.Bitcast(t, e.Shl(e.Bitcast(i32, k), e.Int(i32, 23))), e.Float(t, 0x1p-32))
	sum := e.Add(one, a)
	d := e.Add(sum, s)
	// What d lacks of the sum; every difference is exact. sum lacks something where a is below 2^-23.
	dl := e.Add(e.Sub(s, e.Sub(d, sum)), e.Sub(a, e.Sub(sum, one)))
	inv := e.Div(one, d)
	minusInv := e.Neg(inv)
	y := e.Fma(inv, e.Fma(minusInv, dl, e.Fma(minusInv, d, one)), inv)
	// 1 where x is not negative, else 0, with no comparison.
	sign := e.Shr(e.Bitcast(i32, x), e.Int(i32, 31))
	c := e.Bitcast(t, e.And(e.Not(sign), e.Bitcast(i32, one)))
	return e.Abs(e.Fma(e.Neg(a), y, c))
}

// sigmoid64 is 1/(1+w) or w/(1+w) with w = e^-|x|, so that small results keep their relative accuracy. The
// rounding errors of the sum and of the quotient are corrected by a Newton step, so that mostly that of w is left.
func sigmoid64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	one := e.Float(t, 1)
	w := exp64(e, e.Neg(e.Abs(x)))
	num := e.Select(e.Lt(x, e.Float(t, 0)), w, one)
	den, denLo := fastTwoSum(e, one, w)
	r := e.Div(one, den)
	q := e.Mul(num, r)
	minusQ := e.Neg(q)
	rest := e.Fma(minusQ, denLo, e.Fma(minusQ, den, num))
	return e.Fma(rest, r, q)
}
