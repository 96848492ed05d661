package elementary

import (
	"math"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Asin returns the angle in [-pi/2, pi/2] whose sine is x. Asin(-0) = -0; NaN where |x| > 1.
func Asin(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return arcBy(e, x, &arcF32, false) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return arcBy(e, x, &arcF64, false) })
}

// Acos returns the angle in [0, pi] whose cosine is x. Acos(1) = 0; NaN where |x| > 1.
func Acos(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return arcBy(e, x, &arcF32, true) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return arcBy(e, x, &arcF64, true) })
}

// arcConsts parametrises asin(s) = s + s z P(z), z = s^2 <= 1/4, for both formats.
type arcConsts struct {
	float            types.DType
	halfPi, halfPiLo float64
	tiny             float64 // added to a divisor, so that 0/0 becomes 0
	p                []float64
}

var arcF32 = arcConsts{
	types.F32, 0x1.921fb6p+0, -0x1.777a5cp-25, 0x1p-100,
	// Of the result: 2^-31.7.
	[]float64{0x1.55554cp-3, 0x1.33389ep-4, 0x1.6caaccp-5, 0x1.04adaep-5, 0x1.d7b454p-7, 0x1.33c508p-5},
}

var arcF64 = arcConsts{
	types.F64, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, 0x1p-1000,
	// Of the result: 2^-59.8.
	[]float64{
		0x1.5555555555578p-3, 0x1.333333332dfa3p-4, 0x1.6db6db7221f30p-5, 0x1.f1c71a8fba1a4p-6, 0x1.6e8bdf6955f87p-6,
		0x1.1c49e72d3b93bp-6, 0x1.ca20634485efdp-7,
		0x1.757ed38ef5627p-7, 0x1.6161c94f8a2c9p-7, 0x1.e3c562fff3b02p-9, 0x1.6446bfcd6b756p-6, -0x1.58ef1cc9a8428p-6,
		0x1.0b92a568494bbp-5,
	},
}

// arcBy: up to 1/2 asin is the polynomial; beyond, asin |x| = pi/2 - 2 asin sqrt((1-|x|)/2). acos is pi/2 - asin x up
// to 1/2, and 2 asin sqrt((1-|x|)/2), or pi less that, beyond. All are base + coef (s + lo), where coef s is exact and
// the sum with base is kept as a pair. The root's error is part of lo.
func arcBy(e scalar.Emitter, x scalar.Ref, c *arcConsts, cosine bool) scalar.Ref {
	t := c.float
	zero, one, half := e.Float(t, 0), e.Float(t, 1), e.Float(t, 0.5)
	ax := e.Abs(x)
	big := e.Lt(half, ax)
	z := e.Select(big, e.Mul(e.Sub(one, ax), half), e.Mul(ax, ax)) // the former is exact
	root := e.Sqrt(z)
	rest := e.Div(e.Fma(e.Neg(root), root, z), e.Add(e.Add(root, root), e.Float(t, c.tiny)))
	s := e.Select(big, root, ax)
	lo := e.Fma(e.Mul(s, z), poly(e, z, c.p...), e.Select(big, rest, zero))

	var base, baseLo, coef scalar.Ref
	if cosine {
		negative := e.Lt(x, zero)
		edge, edgeLo := e.Select(negative, e.Float(t, 2*c.halfPi), zero),
			e.Select(negative, e.Float(t, 2*c.halfPiLo), zero)
		base, baseLo = e.Select(big, edge, e.Float(t, c.halfPi)), e.Select(big, edgeLo, e.Float(t, c.halfPiLo))
		coef = e.Mul(e.Select(big, e.Float(t, 2), e.Float(t, -1)), e.CopySign(one, x))
	} else {
		base, baseLo = e.Select(big, e.Float(t, c.halfPi), zero), e.Select(big, e.Float(t, c.halfPiLo), zero)
		coef = e.Select(big, e.Float(t, -2), one)
	}
	hi, err := fastTwoSum(e, base, e.Mul(coef, s))
	r := e.Add(hi, e.Fma(coef, lo, e.Add(err, baseLo)))
	if cosine {
		return r
	}
	return e.CopySign(r, x)
}

// Atan returns the angle in [-pi/2, pi/2] whose tangent is x; Atan(-0) = -0, Atan(±inf) = ±pi/2.
func Atan(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return atanBy(e, x, &atanF32) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return atanBy(e, x, &atanF64) })
}

// atanConsts parametrises atan(q) = q + q z P(z), z = q^2 <= 0.1716, for both formats.
type atanConsts struct {
	float                  types.DType
	quarterPi, quarterPiLo float64 // the products of the first with 1 to 4 are exact
	most                   float64 // beyond, atan is pi/2
	p                      []float64
}

var atanF32 = atanConsts{
	types.F32, 0x1.921fbp-1, 0x1.5110b4p-23, 0x1p30,
	// Of the result: 2^-30.4.
	[]float64{-0x1.55554ap-2, 0x1.9991e4p-3, -0x1.23b9d0p-3, 0x1.b226e4p-4, -0x1.f2f0f2p-5},
}

var atanF64 = atanConsts{
	types.F64, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55, 0x1p64,
	// Of the result: 2^-59.4.
	[]float64{
		-0x1.555555555553cp-2, 0x1.99999999956b1p-3, -0x1.24924922a42fap-3, 0x1.c71c70e2d8c45p-4, -0x1.745cf8870956cp-4,
		0x1.3b111385b786fp-4,
		-0x1.10eb7bac4fe5ap-4, 0x1.df0bfa0ddc596p-5, -0x1.9cc43f98a2fdfp-5, 0x1.37b1c36597f42p-5, -0x1.251d6f8e20d25p-6,
	},
}

const tanOfEighthPi = 0x1.a827999fcef32p-2

func atanBy(e scalar.Emitter, x scalar.Ref, c *atanConsts) scalar.Ref {
	t := c.float
	one := e.Float(t, 1)
	ax := atMost(e, e.Abs(x), c.most)
	swap := e.Lt(one, ax)
	n, q, lo := atanOfQuotient(e, c, e.Select(swap, one, ax), e.Select(swap, ax, one))
	return e.CopySign(angleOf(e, c, swap, scalar.None, n, q, lo), x)
}

// atanOfQuotient returns atan(mn/mx) as n pi/4 + q + lo, with n 0 or 1 and |q| <= tan(pi/8), for 0 <= mn <= mx: above
// tan(pi/8), atan(mn/mx) = pi/4 + atan((mn-mx)/(mn+mx)). The quotient's error is part of lo.
func atanOfQuotient(e scalar.Emitter, c *atanConsts, mn, mx scalar.Ref) (n, q, lo scalar.Ref) {
	t := c.float
	zero, one := e.Float(t, 0), e.Float(t, 1)
	upper := e.Lt(e.Mul(mx, e.Float(t, tanOfEighthPi)), mn)
	d := e.Sub(mn, mx)
	dl := e.Sub(mn, e.Add(d, mx))
	s, sl := fastTwoSum(e, mx, mn)
	num, numLo := e.Select(upper, d, mn), e.Select(upper, dl, zero)
	den, denLo := e.Select(upper, s, mx), e.Select(upper, sl, zero)
	r := e.Div(one, den)
	q = e.Mul(num, r)
	minusQ := e.Neg(q)
	rest := e.Add(e.Fma(minusQ, den, num), e.Fma(minusQ, denLo, numLo))
	z := e.Mul(q, q)
	lo = e.Fma(e.Mul(q, z), poly(e, z, c.p...), e.Mul(rest, r))
	return e.Select(upper, one, zero), q, lo
}

// angleOf returns the angle n pi/4 + q + lo; where swap holds, pi/2 less that; and where left holds, pi less that. left
// may be None.
func angleOf(e scalar.Emitter, c *atanConsts, swap, left, n, q, lo scalar.Ref) scalar.Ref {
	t := c.float
	n = e.Select(swap, e.Sub(e.Float(t, 2), n), n)
	flip := swap
	if left != scalar.None {
		n = e.Select(left, e.Sub(e.Float(t, 4), n), n)
		flip = e.Ne(swap, left)
	}
	q, lo = e.Select(flip, e.Neg(q), q), e.Select(flip, e.Neg(lo), lo)
	hi, err := fastTwoSum(e, e.Mul(n, e.Float(t, c.quarterPi)), q)
	return e.Add(hi, e.Add(err, e.Fma(n, e.Float(t, c.quarterPiLo), lo)))
}

// Atan2 returns the angle in [-pi, pi] of the point (x, y), by C99 annex F: the sign is that of y, also of a zero; ±0
// for y = ±0 and x = +0 or above, ±pi for x = -0 or below, ±pi/4 and ±3pi/4 where both are infinite.
func Atan2(e scalar.Emitter, y, x scalar.Ref) scalar.Ref {
	switch t := e.TypeOf(x); t {
	case types.F32:
		return atan2Short(e, y, x)
	case types.F64:
		return atan2Long(e, y, x)
	case types.F16, types.BF16:
		return e.Cast(t, atan2Short(e, e.Cast(types.F32, y), e.Cast(types.F32, x)))
	default:
		panic("BUG: a float function of " + t.String())
	}
}

// atan2Short works in f64, where quotients of all f32 are normal and need no correction.
func atan2Short(e scalar.Emitter, y, x scalar.Ref) scalar.Ref {
	t := types.F64
	zero, one, two := e.Float(t, 0), e.Float(t, 1), e.Float(t, 2)
	// 2^500 stands for infinity: its quotients with finite numbers vanish in f32, and its own is 1.
	ax, ay := atMost(e, e.Abs(e.Cast(t, x)), 0x1p500), atMost(e, e.Abs(e.Cast(t, y)), 0x1p500)
	swap := e.Lt(ax, ay)
	mn := e.Select(swap, ax, ay)
	mx := atLeast(e, e.Select(swap, ay, ax), 0x1p-500) // not 0, so that 0/0 is 0
	upper := e.Lt(e.Mul(mx, e.Float(t, tanOfEighthPi)), mn)
	q := e.Div(e.Select(upper, e.Sub(mn, mx), mn), e.Select(upper, e.Add(mn, mx), mx))
	z := e.Mul(q, q)
	// On z <= 0.1716: 2^-35.3.
	p := poly(e, z, -0x1.555554c63b4f3p-2, 0x1.999918f062cbap-3, -0x1.247ee51d27e03p-3, 0x1.c46516f00f243p-4,
		-0x1.5b3647ccd9962p-4, 0x1.84ba851406185p-5)
	a := e.Fma(e.Mul(q, z), p, q)
	n := e.Select(upper, one, zero)
	n, a = e.Select(swap, e.Sub(two, n), n), e.Select(swap, e.Neg(a), a)
	// The sign bit of x counts, not its order: -0 is on the left.
	left := e.Lt(e.CopySign(one, e.Cast(t, x)), zero)
	n, a = e.Select(left, e.Sub(e.Float(t, 4), n), n), e.Select(left, e.Neg(a), a)
	r := e.Fma(n, e.Float(t, math.Pi/4), a)
	return e.CopySign(e.Cast(types.F32, r), y)
}

// atan2Long scales both by a power of two that takes the larger one near 1. What the smaller one then loses to the
// subnormals is below one unit of a subnormal result, or nothing beside the angles pi/2 and pi.
func atan2Long(e scalar.Emitter, y, x scalar.Ref) scalar.Ref {
	t, u := types.F64, types.U64
	c := &atanF64
	zero, one, inf := e.Float(t, 0), e.Float(t, 1), e.Float(t, math.Inf(1))
	ax, ay := e.Abs(x), e.Abs(y)
	swap := e.Lt(ax, ay)
	mn, mx := e.Min(ax, ay), e.Max(ax, ay) // NaN if either is
	exponent := e.And(e.Bitcast(u, mx), e.Bits(u, 0x7ff<<52))
	field := e.Max(e.Bitcast(types.I64, e.Sub(e.Bits(u, 2046<<52), exponent)), e.Bits(types.I64, 1<<52))
	scale := e.Bitcast(t, field)
	infinite := e.Eq(mx, inf)
	mn = e.Select(infinite, e.Select(e.Eq(mn, inf), one, zero), e.Mul(mn, scale))
	mx = e.Select(e.Or(infinite, e.Eq(mx, zero)), one, e.Mul(mx, scale))
	n, q, lo := atanOfQuotient(e, c, mn, mx)
	left := e.Lt(e.CopySign(one, x), zero)
	return e.CopySign(angleOf(e, c, swap, left, n, q, lo), y)
}
