package types

import "math"

// The formats of 8 bits are those of the Open Compute Project: f8e4m3 and f8e5m2 of "OCP 8-bit Floating Point
// Specification (OFP8)", revision 1.0, e8m0 of "OCP Microscaling Formats (MX) Specification", version 1.0.

// Float8 says how the bits of an f8e4m3 or an f8e5m2 are divided.
type Float8 struct {
	Mantissa int   // bits
	Bias     int   // of the exponent
	Beyond   uint8 // what is too large becomes this: infinity, or NaN where there is no infinity
	NaN      uint8
}

// Format returns the format of an f8e4m3 or an f8e5m2.
func (d DType) Format() Float8 {
	if d == F8E4M3 {
		return Float8{Mantissa: 3, Bias: 7, Beyond: 0x7f, NaN: 0x7f}
	}
	return Float8{Mantissa: 2, Bias: 15, Beyond: 0x7c, NaN: 0x7e}
}

// StoredBits rounds x to nearest, ties to even, into a type that IsStored. What is beyond the largest number becomes
// infinity, or NaN in f8e4m3 and e8m0, which have none. e8m0 has the powers of two from 2^-127 to 2^127, no zero and no
// sign: 0 and what is below become 2^-127, a negative number NaN, and of two that are equally near it takes the larger.
func StoredBits(d DType, x float32) uint8 {
	v := float64(x)
	if d == E8M0 {
		switch {
		case v < 0 || math.IsNaN(v) || v >= 0x1.8p127:
			return 0xff
		case v < 0x1.8p-127:
			return 0
		}
		_, exp := math.Frexp(v / 1.5) // 1.5*2^k and above goes to 2^(k+1); the quotient is exact enough at both ends
		return uint8(exp + 127)
	}
	f := d.Format()
	if math.IsNaN(v) {
		return f.NaN
	}
	sign := uint8(math.Float32bits(x) >> 24 & 0x80)
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
	if d == E8M0 {
		if bits == 0xff {
			return float32(math.NaN())
		}
		return float32(math.Ldexp(1, int(bits)-127))
	}
	f := d.Format()
	exp, mantissa := int(bits&0x7f)>>f.Mantissa, int(bits)&(1<<f.Mantissa-1)
	v := math.Ldexp(float64(1<<f.Mantissa+mantissa), exp-f.Bias-f.Mantissa)
	switch {
	case bits&0x7f == 0x7c && d == F8E5M2:
		v = math.Inf(1)
	case bits&0x7f > 0x7c && d == F8E5M2, bits&0x7f == 0x7f:
		return float32(math.NaN())
	case exp == 0:
		v = math.Ldexp(float64(mantissa), 1-f.Bias-f.Mantissa)
	}
	if bits&0x80 != 0 {
		v = -v
	}
	return float32(v)
}
