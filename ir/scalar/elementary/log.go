package elementary

import (
	"math"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Log returns the natural logarithm. Log(±0) = -inf, Log(inf) = inf, Log(x < 0) and Log(NaN) are NaN.
func Log(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, log32, log64) }

// splitLog returns k and m with x = 2^k m, both as floats of x's type, for every positive finite x; subnormals are
// scaled first. m is in [sqrt(1/2), sqrt(2)] in f64, and in f32 in [3/4, 3/2), which AVX-512 has an instruction for
// (logarithm in codegen/llvm).
func splitLog(e scalar.Emitter, f floatFormat, x scalar.Ref) (k, m scalar.Ref) {
	least, scale, root := 0x1p-126, 0x1p24, uint64(0x3f400000) // the last: the bits of the least m
	if f.float == types.F64 {
		least, scale, root = 0x1p-1022, 0x1p54, 0x3fe6a09e667f3bcd
	}
	tiny := e.Lt(x, e.Float(f.float, least))
	x = e.Select(tiny, e.Mul(x, e.Float(f.float, scale)), x)
	// Subtracting root makes the exponent field k; the scale's exponent is subtracted in the same step.
	shift := uint64(math.Ilogb(scale)) << f.mantissa
	base := e.Select(tiny, e.Bits(f.signed, root+shift), e.Bits(f.signed, root))
	j := e.Sub(e.Bitcast(f.signed, x), base)
	m = e.Bitcast(f.float, e.Add(e.And(j, e.Bits(f.signed, 1<<f.mantissa-1)), e.Bits(f.signed, root)))
	k = e.Shr(j, e.Bits(f.signed, f.mantissa))
	return e.Cast(f.float, e.Cast(types.I32, k)), m
}

// logSpecial replaces r, the logarithm of a positive finite x, where x is another.
func logSpecial(e scalar.Emitter, x, r scalar.Ref) scalar.Ref {
	t := e.TypeOf(x)
	zero := e.Float(t, 0)
	r = e.Select(e.Lt(x, e.Float(t, math.Inf(1))), r, x)
	out := e.Select(e.Eq(x, zero), e.Float(t, math.Inf(-1)), e.Float(t, math.NaN()))
	return e.Select(e.Lt(zero, x), r, out)
}

// log32: with f = m-1, log x = k ln 2 + f + f^2 q(f). k ln 2 + f is kept as a sum of two, because near
// k = -1 it cancels, and another rounding would cost up to half an ulp.
func log32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F32
	k, m := splitLog(e, formatF32, x)
	f := e.Sub(m, e.Float(t, 1)) // exact
	ff := e.Mul(f, f)
	// On [-1/4, 1/2]: 2^-27.6.
	q := polyInPairs(e, f, ff, 0x1.5555a4p-2, -0x1.000046p-2, 0x1.996978p-3, -0x1.54ee38p-3, 0x1.28841ap-3,
		-0x1.0d989cp-3, 0x1.acce26p-4, -0x1.718ed6p-5)
	q = e.Fma(q, f, e.Float(t, -0x1p-1))
	a := e.Mul(k, e.Float(t, 0x1.62e4p-1)) // exact: 15 and 8 bits
	hi, lo := fastTwoSum(e, a, f)
	lo = e.Fma(k, e.Float(t, 0x1.7f7d1cp-20), lo)
	r := e.Add(hi, e.Fma(ff, q, lo))
	return logSpecial(e, x, r)
}

func log64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	k, m := splitLog(e, formatF64, x)
	return logSpecial(e, x, logOfSplit(e, k, m))
}

// logOfSplit returns log(2^k m) in f64. With f = m-1 and s = f/(2+f), log(1+f) = 2 atanh(s) = f - s (f - 2 z R(z))
// for z = s^2.
func logOfSplit(e scalar.Emitter, k, m scalar.Ref) scalar.Ref {
	one := e.Float(types.F64, 1)
	f := e.Sub(m, one)
	s := e.Div(f, e.Add(m, one))
	z := e.Mul(s, s)
	// 2 R, with atanh(s) = s (1 + z R(z)), on z <= 0.02944: 2^-59.5.
	r2 := poly(e, z, 0x1.5555555555592p-1, 0x1.999999997ff1fp-2, 0x1.24924941e0f8cp-2, 0x1.c71c52148c2b6p-3,
		0x1.74663ce5dfe15p-3, 0x1.39a1e916400cap-3, 0x1.2f03bb4f0d272p-3)
	w := e.Fma(e.Neg(z), r2, f)
	return e.Fma(k, e.Float(types.F64, expF64.ln2), e.Fma(e.Neg(s), w, f))
}

// Log2 returns the logarithm to base 2, exact for powers of two; the special values are those of Log.
func Log2(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x, func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		r := log2Short(e, e.Cast(types.F64, x))
		return logSpecial(e, x, e.Cast(types.F32, r))
	}, func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		hi, lo := log2Pair(e, x)
		return logSpecial(e, x, e.Add(hi, lo))
	})
}

// Log10 returns the logarithm to base 10; the special values are those of Log.
func Log10(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	const log10Of2, log10Of2Lo = 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59
	return onFloat(e, x, func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		r := e.Mul(log2Short(e, e.Cast(types.F64, x)), e.Float(types.F64, log10Of2))
		return logSpecial(e, x, e.Cast(types.F32, r))
	}, func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		hi, lo := log2Pair(e, x)
		hi, lo = mulPair(e, hi, lo, log10Of2, log10Of2Lo)
		return logSpecial(e, x, e.Add(hi, lo))
	})
}

// log2Short returns the logarithm to base 2 of a positive finite f64, good to 2^-37 relative.
func log2Short(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	k, m := splitLog(e, formatF64, x)
	one := e.Float(types.F64, 1)
	return log2OfQuotient(e, k, e.Sub(m, one), e.Add(m, one))
}

// log2OfQuotient returns k + log2(m) for num = m-1 and den = m+1, with s = num/den.
func log2OfQuotient(e scalar.Emitter, k, num, den scalar.Ref) scalar.Ref {
	s := e.Div(num, den)
	// log2(m) = s Q(s^2) on s^2 <= 0.02944: 2^-37.8.
	q := poly(e, e.Mul(s, s), 0x1.71547652bede5p+1, 0x1.ec709d12e1119p-1, 0x1.27777fdab7b55p-1, 0x1.a58d8f91a1a56p-2,
		0x1.5ce7d146bbe6bp-2)
	return e.Fma(s, q, k)
}

// log2Pair returns the logarithm to base 2 of a positive finite f64 as a sum of two, good to about 2^-64 relative.
//
// With s = (m-1)/(m+1) and z = s^2: log2(m) = 2/ln 2 * s (1 + z/3 + z^2 P(z)). s, z, the sum up to z/3 and the
// factors are sums of two; z^2 P(z) is below 2^-12 of the sum, so that one float is enough.
func log2Pair(e scalar.Emitter, x scalar.Ref) (hi, lo scalar.Ref) {
	one := e.Float(types.F64, 1)
	k, m := splitLog(e, formatF64, x)
	num := e.Sub(m, one)               // exact
	den := e.Add(m, one)               // + denLo
	denLo := e.Sub(m, e.Sub(den, one)) // exact
	s := e.Div(num, den)               // + sl
	rest := e.Fma(e.Neg(s), den, num)  // exact
	rest = e.Fma(e.Neg(s), denLo, rest)
	sl := e.Div(rest, den)

	z, zl := twoProd(e, s, s)
	zl = e.Fma(e.Add(s, s), sl, zl)
	// P on z <= 0.02944: 2^-66.3.
	p := poly(e, z, 0x1.9999999999b31p-3, 0x1.2492492457be6p-3, 0x1.c71c722d80b24p-4, 0x1.745ce9dc08ee7p-4,
		0x1.3b1eed1f6a11ap-4, 0x1.0f7fd4ecb8d16p-4, 0x1.0e434a452961fp-4)
	a, al := mulPair(e, z, zl, 0x1.5555555555555p-2, 0x1.5555555555555p-56) // z/3
	b, bl := fastTwoSum(e, a, e.Mul(e.Mul(z, z), p))
	bl = e.Add(bl, al)
	c, cl := fastTwoSum(e, one, b)
	cl = e.Add(cl, bl)
	u, ul := mulPair(e, s, sl, 0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55) // 2/ln 2
	v, vl := twoProd(e, u, c)
	vl = e.Add(vl, e.Fma(u, cl, e.Mul(ul, c)))
	hi, lo = fastTwoSum(e, k, v)
	return hi, e.Add(lo, vl)
}

// mulPair returns (x + xl) * (c + cl) as a sum of two.
func mulPair(e scalar.Emitter, x, xl scalar.Ref, c, cl float64) (hi, lo scalar.Ref) {
	t := e.TypeOf(x)
	hi, lo = twoProd(e, x, e.Float(t, c))
	return hi, e.Add(lo, e.Fma(x, e.Float(t, cl), e.Mul(xl, e.Float(t, c))))
}

// Log1p returns log(1 + x), accurate for small x too. Log1p(-1) = -inf, Log1p(x < -1) is NaN, Log1p(-0) = -0.
func Log1p(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, log1p32, log1p64) }

// log1p32 works in f64. While 1+x is in [sqrt(1/2), sqrt(2)], x itself is the m-1 of the quotient.
func log1p32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F64
	one, zero := e.Float(t, 1), e.Float(t, 0)
	w := e.Cast(t, x)
	y := e.Add(w, one)
	k, m := splitLog(e, formatF64, y)
	num := e.Select(e.Eq(k, zero), w, e.Sub(m, one))
	r := e.Mul(log2OfQuotient(e, k, num, e.Add(m, one)), e.Float(t, expF64.ln2))
	r = e.Cast(types.F32, logSpecial(e, y, r))
	return e.Select(e.Eq(x, e.Float(types.F32, 0)), x, r)
}

// log1p64 is log y + d/y with y + d = 1 + x exactly.
func log1p64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	one := e.Float(types.F64, 1)
	y := e.Add(x, one)
	b := e.Sub(y, one)
	d := e.Add(e.Sub(one, e.Sub(y, b)), e.Sub(x, b)) // Knuth's TwoSum
	k, m := splitLog(e, formatF64, y)
	r := e.Add(logOfSplit(e, k, m), e.Div(d, y))
	return e.Select(e.Eq(x, e.Float(types.F64, 0)), x, logSpecial(e, y, r))
}
