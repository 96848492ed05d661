package types

import "math"

// The formats of 8 bits are those of the Open Compute Project: f8e4m3 and f8e5m2 of "OCP 8-bit Floating Point
// Specification (OFP8)", revision 1.0, e8m0 of "OCP Microscaling Formats (MX) Specification", version 1.0, and so is
// f4e2m1, of the second. In memory i4 and f4e2m1 lie as the package ml_dtypes of NumPy lays them out, one in a byte.

// Minifloat says how the bits of an f8e4m3, an f8e5m2 or an f4e2m1 are divided.
type Minifloat struct {
	Sign      uint8 // its bit; those below it are the exponent and the mantissa
	Mantissa  int   // bits
	Bias      int   // of the exponent
	Beyond    uint8 // what is too large becomes this: infinity, else NaN, else the largest number
	NaN       uint8 // what NaN becomes
	Saturates bool  // there is neither infinity nor NaN
}

// Format returns the format of an f8e4m3, an f8e5m2 or an f4e2m1.
func (d DType) Format() Minifloat {
	switch d {
	case F8E4M3:
		return Minifloat{Sign: 0x80, Mantissa: 3, Bias: 7, Beyond: 0x7f, NaN: 0x7f}
	case F8E5M2:
		return Minifloat{Sign: 0x80, Mantissa: 2, Bias: 15, Beyond: 0x7c, NaN: 0x7e}
	}
	return Minifloat{Sign: 8, Mantissa: 1, Bias: 1, Beyond: 7, NaN: 7, Saturates: true}
}

// StoredBits rounds x to nearest, ties to even, into a type that IsStored. What is beyond the largest number becomes
// infinity, or NaN in f8e4m3 and e8m0, which have none. e8m0 has the powers of two from 2^-127 to 2^127, no zero and no
// sign: 0 and what is below become 2^-127, a negative number NaN, and of two that are equally near it takes the larger.
// f4e2m1 has neither infinity nor NaN: what is beyond becomes 6 or -6, and NaN 6. i4 is an integer: x is cut to one,
// and saturates, and NaN becomes 0.
func StoredBits(d DType, x float32) uint8 {
	v := float64(x)
	switch d {
	case E8M0:
		switch {
		case v < 0 || math.IsNaN(v) || v >= 0x1.8p127:
			return 0xff
		case v < 0x1.8p-127:
			return 0
		}
		_, exp := math.Frexp(v / 1.5) // 1.5*2^k and above goes to 2^(k+1); the quotient is exact enough at both ends
		return uint8(exp + 127)
	case I4:
		if math.IsNaN(v) {
			return 0
		}
		return uint8(int8(max(-8, min(v, 7))))
	}
	f := d.Format()
	if math.IsNaN(v) {
		return f.NaN
	}
	sign := uint8(0)
	if math.Signbit(v) {
		sign = f.Sign
	}
	v = math.Abs(v)
	switch {
	case v == 0:
		return sign
	case v >= math.Ldexp(1, 16):
		return sign | f.Beyond
	}
	_, exp := math.Frexp(v)
	exp = max(exp-1, 1-f.Bias)
	n := int(math.RoundToEven(math.Ldexp(v, f.Mantissa-exp)))
	return sign | uint8(min((exp+f.Bias-1)<<f.Mantissa+n, int(f.Beyond)))
}

// StoredValue is the value of the bits of a type that IsStored; every one is a float32.
func StoredValue(d DType, bits uint8) float32 {
	switch d {
	case E8M0:
		if bits == 0xff {
			return float32(math.NaN())
		}
		return float32(math.Ldexp(1, int(bits)-127))
	case I4:
		return float32(int8(bits<<4) >> 4)
	}
	f := d.Format()
	size := bits & (f.Sign - 1)
	exp, mantissa := int(size)>>f.Mantissa, int(size)&(1<<f.Mantissa-1)
	v := math.Ldexp(float64(1<<f.Mantissa+mantissa), exp-f.Bias-f.Mantissa)
	switch {
	case f.Saturates || size < f.Beyond: // a number
	case size == f.Beyond && f.Beyond != f.NaN:
		v = math.Inf(1)
	default:
		return float32(math.NaN())
	}
	if exp == 0 {
		v = math.Ldexp(float64(mantissa), 1-f.Bias-f.Mantissa)
	}
	if bits&f.Sign != 0 {
		v = -v
	}
	return float32(v)
}
