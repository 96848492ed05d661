package scalar

import "healc/lang/types"

// Tanh returns the hyperbolic tangent; Tanh(±inf) = ±1, Tanh(-0) = -0.
func Tanh(e Emitter, x Ref) Ref { return onFloat(e, x, tanh32, tanh64) }

// Sigmoid returns 1/(1 + e^-x), which is 0 at -inf and 1 at inf.
func Sigmoid(e Emitter, x Ref) Ref { return onFloat(e, x, sigmoid32, sigmoid64) }

// tanh32 is x + x z P(z) with z = x^2 up to 1, and 1 - 2/(e^2x + 1) from there, where the error of the
// quotient counts little. No argument of the exponential is below 0, so its scaling is simple.
func tanh32(e Emitter, x Ref) Ref {
	t := types.F32
	ax := e.Abs(x)
	one := e.Float(t, 1)
	// On z <= 1: 2^-30.9.
	z := e.Mul(x, x)
	p := poly(e, z, -0x1.555552p-2, 0x1.111042p-3, -0x1.b9f850p-5, 0x1.64d0bep-6, -0x1.1934e4p-7, 0x1.91800cp-9, -0x1.b425f4p-11, 0x1.f3fc8ep-14)
	small := e.Fma(e.Mul(ax, z), p, ax)

	y := atMost(e, ax, 9.1) // tanh is 1 from 9.011 on
	magic := e.Float(t, 0x1.8p23+127)
	k := e.Fma(y, e.Float(t, 2*log2OfE), magic)
	n := e.Sub(k, magic)
	// r is half of the reduced argument; one part of ln 2 is enough for n <= 26. e^2r is the polynomial of
	// exp32 in 2r: the factors are exact.
	r := e.Fma(n, e.Float(t, -expF32.ln2/2), y)
	c := []float64{1, 2}
	for i, q := range expF32.q {
		c = append(c, q*float64(int(4)<<i))
	}
	scale := e.Bitcast(t, e.Shl(e.Bitcast(types.U32, k), e.Bits(types.U32, 23)))
	large := e.Sub(one, e.Div(e.Float(t, 2), e.Fma(poly(e, r, c...), scale, one)))
	return e.CopySign(e.Select(e.Lt(ax, one), small, large), x)
}

// tanh64 is as tanh32, with the polynomial up to 0.6.
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

// sigmoid32 is t = 1/(1+F) below 0 and 1-t above, with F = e^|x|. In f32 throughout: the reduction of exp32 gives F = 2^n (1+s), so that
// 1+F = 2^n (1 + s + 2^-n). Keeping the sum in brackets as two floats, and correcting its inverse by a Newton step,
// leaves little more than the error of s and one rounding.
func sigmoid32(e Emitter, x Ref) Ref {
	t, u := types.F32, types.U32
	one := e.Float(t, 1)
	ax := e.Abs(x)
	// Below -104 the result is 0, by a product with 0 and not by a slow rounding: h is 0 for n = 159.
	ax = e.Select(e.Lt(e.Float(t, 104), ax), e.Float(t, 110.2), ax)
	magic := e.Float(t, 0x1.8p23+159)
	k := e.Fma(ax, e.Float(t, -log2OfE), magic)
	minusN := e.Sub(k, magic)
	r := e.Fma(minusN, e.Float(t, expF32.ln2), ax)
	r = e.Fma(minusN, e.Float(t, expF32.ln2lo), r)
	s := e.Fma(e.Mul(r, r), poly(e, r, expF32.q...), r)
	h := e.Bitcast(t, e.Shl(e.Bitcast(u, k), e.Bits(u, 23))) // 2^(32-n): a normal number for all n up to 150
	const unscale = 0x1p-32
	p, pl := fastTwoSum(e, one, s)
	d, dl := fastTwoSum(e, p, e.Mul(h, e.Float(t, unscale)))
	dl = e.Add(dl, pl)
	inv := e.Div(one, d)
	minusInv := e.Neg(inv)
	rest := e.Fma(minusInv, dl, e.Fma(minusInv, d, one))
	w := e.Mul(e.Mul(e.Fma(inv, rest, inv), h), e.Float(t, unscale))
	return e.Select(e.Lt(x, e.Float(t, 0)), w, e.Sub(one, w))
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
