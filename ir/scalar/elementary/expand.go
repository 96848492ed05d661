package elementary

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Expansions]
//
// The functions of language.md section 6 are not instructions: each is expanded into a straight line of
// them, without branches, so that it gives the same bits on every back end and vectorises. The rules:
//
//   - f32 computes in f32 where that holds 1 ulp, else in f64, rounding once at the end; f64 holds 2 ulp.
//     Both hold over the whole domain, for subnormal arguments and results too. f16 and bf16 compute
//     in f32 and round once more, so they are within 1 ulp, and nearly always correctly rounded.
//   - A range is limited by Select(Lt(...)), not by Min and Max: it is one instruction of the usual
//     machines, and passes NaN on.
//   - Rounding to an integer adds and subtracts 1.5*2^23 (1.5*2^52 in f64), so that the integer also
//     stands in the low bits of the sum, where Bitcast finds it without a conversion.
//   - Polynomials are minimax fits (weighted least squares with Lawson's reweighting on Chebyshev
//     nodes, at 300 bits). The coefficients were rounded one by one, lowest first, and the rest fitted
//     again after each. Comments give the interval and the error relative to the function's result.
//   - ln 2 and its like are split in two parts so that the first product is exact where it matters.
//
// The tests measure the errors (docs/numerics.md has the table); Exhaustive ones take every f32.

// floatFormat has what the expansions need to know of a float type.
type floatFormat struct {
	float, bits, signed types.DType
	mantissa            uint64 // explicit bits
	signBit             uint64
}

var (
	formatF32 = floatFormat{types.F32, types.U32, types.I32, 23, 1 << 31}
	formatF64 = floatFormat{types.F64, types.U64, types.I64, 52, 1 << 63}
)

// onFloat expands a function of one float. f16 and bf16 go by way of f32.
func onFloat(e scalar.Emitter, x scalar.Ref, f32, f64 func(scalar.Emitter, scalar.Ref) scalar.Ref) scalar.Ref {
	switch t := e.TypeOf(x); t {
	case types.F32:
		return f32(e, x)
	case types.F64:
		return f64(e, x)
	case types.F16, types.BF16:
		return e.Cast(t, f32(e, e.Cast(types.F32, x)))
	default:
		panic("BUG: a float function of " + t.String())
	}
}

// poly returns c[0] + c[1]*x + c[2]*x^2 + ... by Horner's rule with fma.
func poly(e scalar.Emitter, x scalar.Ref, c ...float64) scalar.Ref {
	t := e.TypeOf(x)
	p := e.Float(t, c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		p = e.Fma(p, x, e.Float(t, c[i]))
	}
	return p
}

// polyInPairs is poly for who has xx = x^2: (c[0] + c[1]*x) + (c[2] + c[3]*x)*xx + ... by Horner's rule for xx. It has
// as many instructions, of which half as many wait for one another. A processor finds room for few vectors side by side
// when each waits long.
func polyInPairs(e scalar.Emitter, x, xx scalar.Ref, c ...float64) scalar.Ref {
	t := e.TypeOf(x)
	p := scalar.None
	for i := (len(c) - 1) &^ 1; i >= 0; i -= 2 {
		pair := e.Float(t, c[i])
		if i+1 < len(c) {
			pair = e.Fma(x, e.Float(t, c[i+1]), pair)
		}
		if p == scalar.None {
			p = pair
			continue
		}
		p = e.Fma(xx, p, pair)
	}
	return p
}

// atMost returns x limited to hi; NaN stays.
func atMost(e scalar.Emitter, x scalar.Ref, hi float64) scalar.Ref {
	h := e.Float(e.TypeOf(x), hi)
	return e.Select(e.Lt(h, x), h, x)
}

// atLeast returns x raised to lo; NaN stays.
func atLeast(e scalar.Emitter, x scalar.Ref, lo float64) scalar.Ref {
	l := e.Float(e.TypeOf(x), lo)
	return e.Select(e.Lt(x, l), l, x)
}

// scaleTwice returns p * 2^n for p in [0.5, 2), where i is an integer with n + 2*bias in its low
// exponent-width bits. 2^n may lie outside of the normal range, so it is applied in two halves; the
// first product is exact, hence a subnormal result is rounded once.
func scaleTwice(e scalar.Emitter, f floatFormat, p, i scalar.Ref) scalar.Ref {
	width := e.Bits(f.bits, f.mantissa)
	half := e.Shr(i, e.Bits(f.bits, 1))
	s1 := e.Bitcast(f.float, e.Shl(half, width))
	s2 := e.Bitcast(f.float, e.Shl(e.Sub(i, half), width))
	return e.Mul(e.MulExact(p, s1), s2)
}

// twoProd returns x*y as a sum of the rounded product and its exact error.
func twoProd(e scalar.Emitter, x, y scalar.Ref) (hi, lo scalar.Ref) {
	hi = e.Mul(x, y)
	return hi, e.Fma(x, y, e.Neg(hi))
}

// fastTwoSum returns x+y as a sum of the rounded sum and its exact error, given that x is 0 or |x| >= |y|
// (Dekker 1971).
func fastTwoSum(e scalar.Emitter, x, y scalar.Ref) (hi, lo scalar.Ref) {
	hi = e.Add(x, y)
	return hi, e.Sub(y, e.Sub(hi, x))
}

// twoSum is fastTwoSum for any x and y (Knuth).
func twoSum(e scalar.Emitter, x, y scalar.Ref) (hi, lo scalar.Ref) {
	hi = e.Add(x, y)
	z := e.Sub(hi, x)
	return hi, e.Add(e.Sub(x, e.Sub(hi, z)), e.Sub(y, z))
}
