package ptxsim

import (
	"math"

	"healc/codegen/gpu/ptx"
)

func f32of(v uint64) float32   { return math.Float32frombits(uint32(v)) }
func f64of(v uint64) float64   { return math.Float64frombits(v) }
func f32bits(x float32) uint32 { return math.Float32bits(x) }

// Results that are NaN are the canonical one, as on the hardware; f64 keeps what the operation gives.
const (
	nan16  = 0x7fff
	nan32  = 0x7fffffff
	nan64  = 0x7ff8000000000000
	sign16 = 1 << 15
	sign32 = 1 << 31
	sign64 = 1 << 63
)

// of32 is the register value of an f32 result.
func of32(x float32) uint64 {
	if x != x {
		return nan32
	}
	return uint64(math.Float32bits(x))
}

// of64 is the register value of an f64 result.
func of64(x float64) uint64 {
	if x != x {
		return nan64
	}
	return math.Float64bits(x)
}

// addOdd is x + y rounded to odd: when the sum is not exact, the neighbour of it whose last bit is 1. Rounded once
// more, to a format with at least two bits less, it gives the exact sum rounded once. Source: Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008).
func addOdd(x, y float64) float64 {
	s := x + y
	if math.IsInf(s, 0) || s != s {
		return s
	}
	// what the sum lost, exactly (Knuth's TwoSum)
	b := s - x
	e := (x - (s - b)) + (y - b)
	u := math.Float64bits(s)
	if e == 0 || u&1 != 0 {
		return s
	}
	if (e > 0) == (s > 0) {
		u++
	} else {
		u--
	}
	return math.Float64frombits(u)
}

// fma32 is x*y + z rounded once: the product of two f32 is an f64, exactly.
func fma32(x, y, z float32) float32 {
	return float32(addOdd(float64(float64(x)*float64(y)), float64(z)))
}

// sqrt32 is the square root rounded once: f64 has more than twice the bits of f32.
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// from16 is the value of an f16.
func from16(h uint64) float64 {
	sign, exp, frac := h>>15&1, int(h>>10&31), h&1023
	var x float64
	switch exp {
	case 0:
		x = math.Ldexp(float64(frac), -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		x = math.Inf(1)
	default:
		x = math.Ldexp(float64(frac|1024), exp-25)
	}
	if sign != 0 {
		x = -x
	}
	return x
}

// fromBF16 is the value of a bf16.
func fromBF16(h uint64) float64 { return float64(math.Float32frombits(uint32(h) << 16)) }

// rounding is how a value is made to fit.
type rounding uint8

const (
	toNearest rounding = iota // ties to even
	towardZero
	downward
	upward
	nearestAway // ties away from zero: .rna
)

// format is a binary floating-point format of IEEE 754.
type format struct {
	frac, exp int // bits of the fraction and of the exponent
	nan       uint64
}

var formats = map[ptx.Type]format{
	ptx.F16:  {10, 5, nan16},
	ptx.BF16: {7, 8, nan16},
	ptx.F32:  {23, 8, nan32},
	ptx.F64:  {52, 11, nan64},
	ptx.TF32: {10, 8, nan32 &^ 0x1fff},
}

// round is x in format f. x may have been rounded to odd before if f has at most 50 bits of fraction.
func (f format) round(x float64, r rounding) uint64 {
	u := math.Float64bits(x)
	sign := u >> 63 << (f.frac + f.exp)
	if x != x {
		return f.nan
	}
	if math.IsInf(x, 0) {
		return sign | (1<<f.exp-1)<<f.frac
	}
	if x == 0 {
		return sign
	}
	e := int(u>>52&2047) - 1023
	m := u & (1<<52 - 1)
	if e == -1023 {
		e++
	} else {
		m |= 1 << 52
	}
	// x = m * 2^(e-52). Normalised so that subnormals of f64 work, too.
	for m>>52 == 0 {
		m <<= 1
		e--
	}
	bias := 1<<(f.exp-1) - 1
	drop := 52 - f.frac
	if e < 1-bias {
		drop += 1 - bias - e
	}
	var q, rest, half uint64
	if drop > 54 {
		q, rest, half = 0, 1, 2 // less than half of the smallest
	} else if drop > 0 {
		q, rest, half = m>>drop, m&(1<<drop-1), 1<<(drop-1)
	} else {
		q = m
	}
	up := false
	switch r {
	case toNearest:
		up = rest > half || rest == half && half != 0 && q&1 != 0
	case nearestAway:
		up = half != 0 && rest >= half
	case downward:
		up = rest != 0 && sign != 0
	case upward:
		up = rest != 0 && sign == 0
	}
	if up {
		q++
	}
	var v uint64
	if e >= 1-bias {
		v = q + uint64(e+bias-1)<<f.frac // the hidden bit adds 1 to the exponent
	} else {
		v = q
	}
	if limit := uint64(1<<f.exp-1) << f.frac; v >= limit {
		// overflow: infinity, or the largest number when the direction is the other
		v = limit
		if r == towardZero || r == downward && sign == 0 || r == upward && sign != 0 {
			v--
		}
	}
	return sign | v
}

// valueOf is the number that bits of a type stand for.
func valueOf(t ptx.Type, v uint64) float64 {
	switch t {
	case ptx.F16:
		return from16(v)
	case ptx.BF16:
		return fromBF16(v)
	case ptx.F32, ptx.TF32:
		return float64(f32of(v))
	}
	return f64of(v)
}
