package scalar

import (
	"math"

	"healc/lang/types"
)

// F16Bits rounds x to IEEE binary16, to nearest even, subnormals kept; NaN stays NaN.
func F16Bits(x float32) uint16 { return types.F16Bits(x) }

// F16Value returns the value of a binary16; every one is a float32.
func F16Value(h uint16) float32 { return types.F16Value(h) }

// BF16Bits rounds x to bfloat16, to nearest even; NaN stays NaN.
func BF16Bits(x float32) uint16 { return types.BF16Bits(x) }

// BF16Value returns the value of a bfloat16.
func BF16Value(h uint16) float32 { return types.BF16Value(h) }

// OddF32 rounds x to float32 to odd: an inexact result becomes the neighbour whose last bit is 1.
// Rounding that to f16 or bf16 equals rounding x once, since float32 has more than two bits to spare,
// also where those types are subnormal. (Boldo and Melquiond, "When double rounding is odd", 2005.)
func OddF32(x float64) float32 {
	f := float32(x)
	if float64(f) == x || math.IsNaN(x) {
		return f
	}
	b := math.Float32bits(f)
	switch {
	case b&1 != 0: // odd, and next to x; infinity is even
		return f
	case math.Abs(float64(f)) > math.Abs(x): // also when x overflowed: the largest finite value is odd
		return math.Float32frombits(b - 1)
	}
	return math.Float32frombits(b + 1)
}
