package scalar

import (
	"slices"

	"healc/lang/types"
)

// Tanh returns the hyperbolic tangent; Tanh(±inf) = ±1, Tanh(-0) = -0.
func Tanh(e Emitter, x Ref) Ref { return onFloat(e, x, tanh32, tanh64) }

// Sigmoid returns 1/(1 + e^-x), which is 0 at -inf and 1 at inf.
func Sigmoid(e Emitter, x Ref) Ref { return onFloat(e, x, sigmoid32, sigmoid64) }

// tanh32 is x - x z/D(z) with z = x^2 up to 0.9, and 1 - 2/(e^2x + 1) from there, where the error of the quotient counts little. So
// one division is enough for both: a - a b/c for chosen a, b and c. c is scaled so that it is rounded in the upper half of
// a binade, where that costs less, for the arguments whose error is the largest. No argument of the exponential is below 0, so its
// scaling is simple.
func tanh32(e Emitter, x Ref) Ref {
	t := types.F32
	ax := e.Abs(x)
	one := e.Float(t, 1)
	// D(z) = z/(1 - tanh(x)/x). On z <= 0.81, of the result: 2^-30.6.
	z := e.Mul(x, x)
	d := poly(e, z, 3, 0x1.3332fep+0, -0x1.75a38ep-8, 0x1.e85f38p-13)

	y := atMost(e, ax, 9.1) // tanh is 1 from 9.011 on
	magic := e.Float(t, 0x1.8p23+127)
	k := e.Fma(y, e.Float(t, 2*log2OfE), magic)
	n := e.Sub(k, magic)
	// r is half of the reduced argument; one part of ln 2 is enough for n <= 26. e^2r is the polynomial of
	// exp32 in 2r, times unit.
	const unit = 1.875
	r := e.Fma(n, e.Float(t, -expF32.ln2/2), y)
	c := []float64{unit, 2 * unit}
	for i, q := range expF32.q {
		c = append(c, q*unit*float64(int(4)<<i))
	}
	scale := e.Bitcast(t, e.Shl(e.Bitcast(types.U32, k), e.Bits(types.U32, 23)))
	large := e.Fma(poly(e, r, c...), scale, e.Float(t, unit))

	near := e.Lt(ax, e.Float(t, 0.9))
	a := e.Select(near, ax, one)
	q := e.Div(e.Select(near, z, e.Float(t, 2*unit)), e.Select(near, d, large))
	return e.CopySign(e.Fma(e.Neg(a), q, a), x)
}

// tanh64 is x + x z P(z) with z = x^2 up to 0.6, and 1 - 2/(e^2x + 1) from there.
func tanh64(e Emitter, x Ref) Ref {
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

// sigmoid32 is 1/(1+E) with E = e^-x = 2^-n (1+s), as a/(a + b (1+s)) with a = 2^min(n, 0) and b = 2^-max(n, 0), so that nothing overflows:
// one of them is 1. In f32 throughout: keeping the sum in the denominator as two floats, and correcting its inverse by a Newton step,
// leaves little more than the error of s and one rounding.
func sigmoid32(e Emitter, x Ref) Ref {
	t, i32 := types.F32, types.I32
	one := e.Float(t, 1)
	// Far below, the result is 0, by a product with 0 and not by a slow rounding: n is -159 there. From 17.4 on it is 1.
	x = atMost(e, atLeast(e, x, -110.2), 20)
	magic := e.Float(t, 0x1.8p23+159)
	k := e.Fma(x, e.Float(t, log2OfE), magic)
	n := e.Sub(k, magic)
	r := e.Fma(n, e.Float(t, -expF32.ln2), x)
	r = e.Fma(n, e.Float(t, -expF32.ln2lo), r)
	// s = e^-r - 1, by the polynomial of exp32 in -r.
	q := slices.Clone(expF32.q)
	for i := 1; i < len(q); i += 2 {
		q[i] = -q[i]
	}
	s := e.Fma(e.Mul(r, r), poly(e, r, q...), e.Neg(r))
	// The bits of k are n + 159 above those of 1.5 * 2^23, so that 2^32 a is a normal number down to n = -158, or 0.
	i, zero := e.Bitcast(i32, k), e.Int(i32, 0x4b400000+159)
	mantissa := e.Int(i32, 23)
	a := e.Mul(e.Bitcast(t, e.Shl(e.Min(i, zero), mantissa)), e.Float(t, 0x1p-32))
	b := e.Bitcast(t, e.Shl(e.Sub(e.Int(i32, 0x4b400000+159+127), e.Max(i, zero)), mantissa))
	least := e.Select(e.Lt(a, b), a, b)
	sum := e.Add(one, least)
	d := e.Fma(b, s, sum)
	// What d lacks of the sum; every difference is exact. sum lacks something where least is below 2^-23.
	dl := e.Add(e.Fma(b, s, e.Sub(sum, d)), e.Sub(least, e.Sub(sum, one)))
	inv := e.Div(one, d)
	minusInv := e.Neg(inv)
	rest := e.Fma(minusInv, dl, e.Fma(minusInv, d, one))
	return e.Mul(e.Fma(inv, rest, inv), a)
}

// sigmoid64 is 1/(1+w) or w/(1+w) with w = e^-|x|, so that small results keep their relative accuracy. The
// rounding errors of the sum and of the quotient are corrected by a Newton step, so that mostly that of w is left.
func sigmoid64(e Emitter, x Ref) Ref {
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
