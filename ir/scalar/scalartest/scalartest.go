package scalartest

import (
	"math"
	"math/big"

	"healc/ir/scalar"
	"healc/lang/types"
)

// The instructions and conversions by their definitions, written for clarity and without a look at the evaluator.

// Edges returns the raw bits of t where operations have their corners, and some ordinary values.
func Edges(t types.DType) []uint64 {
	switch {
	case t == types.Bool:
		return []uint64{0, 1}
	case t.IsInt():
		w := t.Bits()
		mask := uint64(1)<<(w-1)<<1 - 1
		var out []uint64
		for _, v := range []uint64{0, 1, 2, 3, 7, 10, 1<<(w-1) - 1, 1 << (w - 1), 1<<(w-1) + 1, mask - 1, mask,
			0x5a5a5a5a5a5a5a5a, 100, 1<<(w/2) - 1, 1 << (w / 2), 0xdeadbeefcafef00d} {
			out = append(out, v&mask)
		}
		return out
	}
	var out []uint64
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1.0 / 3, 0.1, 7.25, -7.75, 127.5, 128, -129,
		255.5, 256, 32767.5, -32769, 65504, 65520, 65535, 65536,
		0x1p31, -0x1p31, 0x1p32 - 1, 0x1p63, -0x1p63, 0x1p64, 0x1p24 + 1, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-14, 0x1p-15,
		0x1p-126, 0x1p-149, 0x1p-1022, 0x1p-1074, 1e30, -1e38, math.MaxFloat64,
		math.Inf(1), math.Inf(-1), math.NaN(), 0x1.fffffep127, 0x1.ffcp15, 1 + 0x1p-10, 1 + 0x1p-7, 1 + 0x1p-23, 1 +
			0x1p-52,
	} {
		out = append(out, scalar.FloatBits(t, v))
	}
	return out
}

// SameBits compares results; all NaNs are one.
func SameBits(t types.DType, a, b uint64) bool {
	if t.IsFloat() && IsNaNBits(t, a) && IsNaNBits(t, b) {
		return true
	}
	return a == b
}

func IsNaNBits(t types.DType, b uint64) bool {
	v := PlainValue(t, b)
	return v != v
}

// PlainValue is the value of a float, written independently of the evaluator.
func PlainValue(t types.DType, b uint64) float64 {
	exponentBits := map[types.DType]int{types.F16: 5, types.BF16: 8, types.F32: 8, types.F64: 11}[t]
	mantissaBits := t.Bits() - 1 - exponentBits
	bias := 1<<(exponentBits-1) - 1
	m := b & (1<<mantissaBits - 1)
	exp := int(b >> mantissaBits & (1<<exponentBits - 1))
	sign := 1.0
	if b>>(t.Bits()-1) != 0 {
		sign = -1
	}
	switch {
	case exp == 1<<exponentBits-1 && m != 0:
		return math.NaN()
	case exp == 1<<exponentBits-1:
		return math.Inf(int(sign))
	case exp == 0:
		return math.Copysign(math.Ldexp(float64(m), 1-bias-mantissaBits), sign)
	}
	return sign * math.Ldexp(float64(m|1<<mantissaBits), exp-bias-mantissaBits)
}

// BigInteger is the value of an integer or bool.
func BigInteger(t types.DType, b uint64) *big.Int {
	v := new(big.Int).SetUint64(b)
	if t.IsSigned() && b>>(t.Bits()-1) != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(t.Bits())))
	}
	return v
}

// Bit is a bool as an instruction gives it.
func Bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
