package elementary

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Sin returns the sine of x radians; Sin(-0) = -0, infinities give NaN. The argument is reduced exactly
// for all magnitudes.
func Sin(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return sinCos32(e, x, false) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return sinCos64(e, x, false) })
}

// Cos returns the cosine of x radians; infinities give NaN.
func Cos(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return sinCos32(e, x, true) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return sinCos64(e, x, true) })
}

// 1/(2 pi) in chunks of 29 bits, so that the product of one with an f32 is exact in f64, and a rest of 53
// bits. For |x| >= 2^77, a multiple of 2^54, the bits of weight 2^-54 and more give whole turns: turnsHigh
// leaves them out, and reaches further down.
var (
	turnsLow  = [4]float64{0x1.45f306dp-3, 0x1.9391054p-32, 0x1.4fe13abp-61, 0x1.d1f534ddc0db6p-90}
	turnsHigh = [4]float64{0x1.4a7f09cp-56, 0x1.5f47d4dp-84, 0x1.bb81b6cp-115, 0x1.4acc9e21c8210p-145}
)

// sinCos32 works in f64: f32 has too few bits for an argument reduction that leaves 1 ulp.
//
// |x|/(2 pi) is taken modulo 1 chunk by chunk; every product and every whole part removed is exact. The rest in
// turns is n/2 + f with |f| <= 1/4. The sine of f turns is odd in f and changes its sign with every half turn,
// and the cosine starts a quarter turn further.
func sinCos32(e scalar.Emitter, x scalar.Ref, cosine bool) scalar.Ref {
	t := types.F64
	ax := e.Abs(e.Cast(t, x))
	shift := 0.0
	if cosine {
		shift = 0.25
	}
	k, f := turns32(e, ax, 2, shift)
	// sin(2 pi f)/f on |f| <= 0.2502: 2^-35.4.
	q := poly(e, e.Mul(f, f), 0x1.921fb5441deedp+2, -0x1.4abbce4ef05bdp+5, 0x1.466bbfb6c30d1p+6, -0x1.32d10fcb497d3p+6,
		0x1.500f9ff06af3bp+5, -0x1.cc2ad64f40921p+3)
	v := e.Bitcast(types.U32, e.Cast(types.F32, e.Mul(f, q)))
	sign := e.Shl(e.Cast(types.U32, e.Bitcast(types.U64, k)), e.Bits(types.U32, 31))
	if !cosine {
		sign = e.Xor(sign, e.And(e.Bitcast(types.U32, x), e.Bits(types.U32, 1<<31)))
	}
	return e.Bitcast(types.F32, e.Xor(v, sign))
}

// turns32 returns ax/(2 pi) + shift modulo 1 as n/parts + f with |f| <= 1/(2 parts), for the f64 ax >= 0 that is an
// f32; n stands in the low bits of k.
func turns32(e scalar.Emitter, ax scalar.Ref, parts, shift float64) (k, f scalar.Ref) {
	t := types.F64
	low := e.Lt(ax, e.Float(t, 0x1p77))
	var u [4]scalar.Ref
	for i := range u {
		u[i] = e.Mul(ax, e.Select(low, e.Float(t, turnsLow[i]), e.Float(t, turnsHigh[i])))
		if i < 3 {
			u[i] = e.Sub(u[i], e.Round(u[i]))
		}
	}
	turns := e.Add(u[0], u[1])
	if shift != 0 {
		turns = e.Add(turns, e.Float(t, shift))
	}
	magic := e.Float(t, 0x1.8p52)
	k = e.Fma(e.Add(turns, u[2]), e.Float(t, parts), magic)
	n := e.Sub(k, magic)
	// Whole parts go before the small chunks come: where the sum cancels, every step is exact.
	f = e.Add(e.Add(e.Fma(n, e.Float(t, -1/parts), turns), u[2]), u[3])
	return k, f
}

// Polynomials of sinCos64: sin r = r + r z S(z) and cos r = 1 - z/2 + z^2 C(z) on |r| <= pi/4, good to 2^-57.9 and
// 2^-64.2.
var (
	sinPoly64 = []float64{-0x1.5555555555548p-3, 0x1.111111110f730p-7, -0x1.a01a019be91d0p-13, 0x1.71de3555230acp-19,
		-0x1.ae5e4b7a2bc6dp-26, 0x1.5d8b51f187cb1p-33}
	cosPoly64 = []float64{0x1.555555555554cp-5, -0x1.6c16c16c1521ep-10, 0x1.a01a019cbf36bp-16, -0x1.27e4f8128b6c7p-22,
		0x1.1ee9f12eb0becp-29, -0x1.8fb11b5c45092p-37}
)

// sinCos64 reduces |x| to r + rl with |r| <= pi/4 and a quadrant, and evaluates the sine or the cosine there.
func sinCos64(e scalar.Emitter, x scalar.Ref, cosine bool) scalar.Ref {
	t, u := types.F64, types.U64
	ax := e.Abs(x)
	r, rl, quadrant, negative := reduce64(e, ax)
	if cosine {
		quadrant = e.Add(quadrant, e.Bits(u, 1)) // cos x = sin(x + pi/2)
	}
	z := e.Mul(r, r)
	sPoly := poly(e, z, sinPoly64...)
	half := e.Mul(z, e.Float(t, 0.5))
	one := e.Float(t, 1)
	w := e.Sub(one, half)
	sin := e.Add(r, e.Fma(e.Mul(r, z), sPoly, e.Mul(rl, w)))
	cPoly := poly(e, z, cosPoly64...)
	c := e.Fma(e.Mul(z, z), cPoly, e.Neg(e.Mul(r, rl)))
	cos := e.Add(w, e.Add(e.Sub(e.Sub(one, w), half), c))
	// In quadrants 1 and 3 the sine of x is a cosine of r, which does not see the sign of r.
	odd := e.Ne(e.And(quadrant, e.Bits(u, 1)), e.Bits(u, 0))
	signBit := e.Bits(u, 1<<63)
	v := e.Bitcast(u, e.Select(odd, cos, sin))
	sign := e.Xor(e.Shl(quadrant, e.Bits(u, 62)), e.Select(odd, e.Bits(u, 0), negative))
	if !cosine {
		sign = e.Xor(sign, e.Bitcast(u, x))
	}
	return e.Bitcast(t, e.Xor(v, e.And(sign, signBit)))
}

// invTwoPi has the bits of 1/(2 pi) after 53 zero bits: the word at bit offset o is 2^64 frac(2^(o-53)/(2 pi)).
var invTwoPi = [20]uint64{
	0x0000000000000145, 0xf306dc9c882a53f8, 0x4eafa3ea69bb81b6, 0xc52b3278872083fc, 0xa2c757bd778ac36e,
	0x48dc74849ba5c00c, 0x925dd413a32439fc, 0x3bd63962534e7dd1, 0x046bea5d768909d3, 0x38e04d68befc8273,
	0x23ac7306a673e939, 0x08bf177bf250763f, 0xf12fffbc0b301fde, 0x5e2316b414da3eda, 0x6cfd9e4f96136e9e,
	0x8c7ecd3cbfd45aea, 0x4f758fd7cbe2f67a, 0x0e73ef14a525d4d7, 0xf6bf623f1aba10ac, 0x06608df8f6d757e1,
}

// reduce64 returns r + rl = | ax - quadrant*pi/2 | with 0 <= r <= pi/4 and rl below its last place, the
// quadrant modulo 4 in the low bits (the rest is not cleared), and the sign bit of the difference. NaN
// and infinity give NaN. Source: Payne and Hanek, "Radian reduction for trigonometric functions", 1983.
//
// With ax = M 2^k, M of 53 bits, the fraction of M 2^k/(2 pi) to 128 bits needs three words of 1/(2 pi) from
// bit k on: what is above gives whole turns. The nearest f64 to a multiple of pi/2 is 2^-61 off, so 128 bits leave
// 64 that count. There are no loads, so the words are selected by the bits of the offset.
func reduce64(e scalar.Emitter, ax scalar.Ref) (r, rl, quadrant, negative scalar.Ref) {
	t, u := types.F64, types.U64
	bits := e.Bitcast(u, ax)
	mantissa := e.Or(e.And(bits, e.Bits(u, 1<<52-1)), e.Bits(u, 1<<52))
	offset := e.Sub(e.Shr(bits, e.Bits(u, 52)), e.Bits(u, 1022)) // 0 to 1024 for ax >= 1/2
	words := make([]scalar.Ref, len(invTwoPi))
	for i, w := range invTwoPi {
		words[i] = e.Bits(u, w)
	}
	// Offset 1024 needs words 16 to 19, and has no other bit set.
	set := e.Ne(e.And(offset, e.Bits(u, 1024)), e.Bits(u, 0))
	for i := range 4 {
		words[i] = e.Select(set, words[i+16], words[i])
	}
	for by := 8; by > 0; by /= 2 {
		set = e.Ne(e.And(offset, e.Bits(u, uint64(by)*64)), e.Bits(u, 0))
		next := make([]scalar.Ref, by+3) // four words, and what the later steps may skip
		for i := range next {
			next[i] = e.Select(set, words[i+by], words[i])
		}
		words = next
	}
	left := e.And(offset, e.Bits(u, 63))
	right := e.Xor(left, e.Bits(u, 63))
	var w [3]scalar.Ref
	for i := range w {
		w[i] = e.Or(e.Shl(words[i], left), e.Shr(e.Shr(words[i+1], e.Bits(u, 1)), right))
	}
	carry := e.MulHi(mantissa, w[2])
	lo := e.Add(e.Mul(mantissa, w[1]), carry)
	hi := e.Add(e.Mul(mantissa, w[0]), e.MulHi(mantissa, w[1]))
	hi = e.Add(hi, e.Cast(u, e.Lt(lo, carry)))

	// hi:lo is the fraction of a turn. Subtract the nearest quarter and take the absolute value (less 2^-128).
	quadrant = e.Shr(e.Add(hi, e.Bits(u, 1<<61)), e.Bits(u, 62))
	hi = e.Sub(hi, e.Shl(quadrant, e.Bits(u, 62)))
	sign := e.Bitcast(u, e.Shr(e.Bitcast(types.I64, hi), e.Bits(types.I64, 63)))
	hi, lo = e.Xor(hi, sign), e.Xor(lo, sign)
	// hi < 2^61 as two floats without rounding, so that nothing is lost when it is small.
	float := func(n scalar.Ref) scalar.Ref { return e.Cast(t, e.Bitcast(types.I64, n)) }
	top := float(e.And(hi, e.Bits(u, ^uint64(0xff))))
	rest := e.Fma(float(e.Shr(lo, e.Bits(u, 1))), e.Float(t, 0x1p-63), float(e.And(hi, e.Bits(u, 0xff))))
	// Times 2 pi 2^-64.
	c := e.Float(t, 0x1.921fb54442d18p-62)
	y, yl := twoProd(e, top, c)
	yl = e.Add(yl, e.Fma(top, e.Float(t, 0x1.1a62633145c07p-116), e.Mul(rest, c)))
	y, yl = fastTwoSum(e, y, yl)

	small := e.Lt(ax, e.Float(t, 0x1.921fb54442d18p-1))
	zero := e.Bits(u, 0)
	r = e.Add(e.Select(small, ax, y), e.Sub(ax, ax)) // the difference is 0, or NaN
	rl = e.Select(small, e.Float(t, 0), yl)
	return r, rl, e.Select(small, zero, quadrant), e.Select(small, zero, sign)
}
