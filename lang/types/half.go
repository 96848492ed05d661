package types

import "math"

// F16Bits rounds x to IEEE binary16, to nearest even, subnormals kept; NaN stays NaN.
func F16Bits(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	abs := b & 0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00
	case abs >= 0x47800000: // 2^16 and above
		return sign | 0x7c00
	case abs >= 0x38800000: // normal
		r := abs + 0xfff + abs>>13&1 - 0x38000000 // rebias by 112 << 23
		return sign | uint16(r>>13)
	case abs < 0x33000000: // below half of the least subnormal
		return sign
	}
	shift := 126 - abs>>23 // 14 to 24
	m := abs&0x7fffff | 0x800000
	half := uint32(1) << (shift - 1)
	return sign | uint16((m+half-1+m>>shift&1)>>shift)
}

// F16Value returns the value of a binary16; every one is a float32.
func F16Value(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, man := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	case exp == 0:
		v := float32(man) * 0x1p-24
		return math.Float32frombits(sign | math.Float32bits(v))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// BF16Bits rounds x to bfloat16, to nearest even; NaN stays NaN.
func BF16Bits(x float32) uint16 {
	b := math.Float32bits(x)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// BF16Value returns the value of a bfloat16.
func BF16Value(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
