package elementary

import "healc/ir/scalar"

// Sinh returns the hyperbolic sine; Sinh(-0) = -0, Sinh(±inf) = ±inf.
func Sinh(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return sinhBy(e, x, &sinhF32) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return sinhBy(e, x, &sinhF64) })
}

// Cosh returns the hyperbolic cosine; Cosh(±inf) = inf.
func Cosh(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return coshBy(e, x, &sinhF32) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return coshBy(e, x, &sinhF64) })
}

// sinhConsts parametrises e^x as 8 times a float, which does not overflow where the result is finite, and sinh x = x +
// x z P(z), z = x^2 <= 1.
type sinhConsts struct {
	exp   *expConsts
	most  float64 // beyond, the result is infinite
	magic float64 // 1.5 * 2^mantissa + bias - 3
	p     []float64
}

var sinhF32 = sinhConsts{
	&expF32, 90, 0x1.8p23 + 127 - 3,
	// Of the result: 2^-31.4.
	[]float64{0x1.555556p-3, 0x1.1110e8p-7, 0x1.a01d54p-13, 0x1.764a58p-19},
}

var sinhF64 = sinhConsts{
	&expF64, 711, 0x1.8p52 + 1023 - 3,
	// Of the result: 2^-61.3.
	[]float64{0x1.5555555555556p-3, 0x1.111111111101bp-7, 0x1.a01a01a037c7cp-13, 0x1.71de3a3a52350p-19,
		0x1.ae6470a78a9a7p-26, 0x1.6116a421216e2p-33, 0x1.b5e3ab76c1630p-41},
}

// expPair returns e^(x+xl) = 2^n (p + pl) as a normalised sum of two floats, good to about an eighth of the last place
// of p; xl may be None. n + shift stands in the low bits of k, where magic is 1.5 * 2^mantissa + shift.
func expPair(e scalar.Emitter, x, xl scalar.Ref, c *expConsts, magic float64) (p, pl, k scalar.Ref) {
	t := c.float
	k = e.Fma(x, e.Float(t, log2OfE), e.Float(t, magic))
	n := e.Sub(k, e.Float(t, magic))
	r := e.Fma(n, e.Float(t, -c.ln2), x)
	r = e.Fma(n, e.Float(t, -c.ln2lo), r)
	if xl != scalar.None {
		r = e.Add(r, xl)
	}
	s, sl := fastTwoSum(e, e.Float(t, 1), r)
	p, pl = fastTwoSum(e, s, e.Fma(e.Mul(r, r), poly(e, r, c.q...), sl))
	return p, pl, k
}

// eighthExp returns e^ax/8 as a sum of two floats a + al, and e^-ax/8, for ax >= 0.
func eighthExp(e scalar.Emitter, ax scalar.Ref, c *sinhConsts) (a, al, inverse scalar.Ref) {
	t, f := c.exp.float, c.exp
	p, pl, k := expPair(e, atMost(e, ax, c.most), scalar.None, f, c.magic)
	scale := e.Bitcast(t, e.Shl(e.Bitcast(f.bits, k), e.Bits(f.bits, f.mantissa)))
	a, al = e.Mul(p, scale), e.Mul(pl, scale)
	return a, al, e.Div(e.Float(t, 1.0/64), a)
}

// sinhBy is the polynomial up to 1 and (e^x - e^-x)/2 from there, where little cancels.
func sinhBy(e scalar.Emitter, x scalar.Ref, c *sinhConsts) scalar.Ref {
	t := c.exp.float
	ax := e.Abs(x)
	z := e.Mul(x, x)
	small := e.Fma(e.Mul(ax, z), poly(e, z, c.p...), ax)
	a, al, b := eighthExp(e, ax, c)
	hi, lo := fastTwoSum(e, a, e.Neg(b))
	large := e.Mul(e.Add(hi, e.Add(lo, al)), e.Float(t, 4))
	return e.CopySign(e.Select(e.Lt(ax, e.Float(t, 1)), small, large), x)
}

// coshBy is (e^x + e^-x)/2; the error of the inverse, at most half of the sum, counts a quarter.
func coshBy(e scalar.Emitter, x scalar.Ref, c *sinhConsts) scalar.Ref {
	a, al, b := eighthExp(e, e.Abs(x), c)
	hi, lo := fastTwoSum(e, a, b)
	return e.Mul(e.Add(hi, e.Add(lo, al)), e.Float(c.exp.float, 4))
}
