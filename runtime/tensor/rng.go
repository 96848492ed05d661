package tensor

import (
	"fmt"
	"math"
	"math/bits"

	"healc/lang/types"
)

// Random tensors come from Philox4x32-10, a counter-based generator: four 32-bit words are a function of a 128-bit
// counter and a 64-bit key (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011). The key
// is the seed. The counter is the number of a block of elements, with the distribution in its third word, so an element
// depends on the seed and its row-major position alone: tensors of one seed and different shapes start alike. All that
// follows the words is integer arithmetic and basic float operations in a fixed order (float64(...) around each product
// keeps the compiler from fusing it with an addition), so every machine makes the same bits.

// The third word of the counter: what the numbers are for.
const (
	streamUniform = 0
	streamNormal  = 1
)

// philox returns block number block of a stream.
func philox(seed uint64, stream uint32, block uint64) [4]uint32 {
	x := [4]uint32{uint32(block), uint32(block >> 32), stream, 0}
	k0, k1 := uint32(seed), uint32(seed>>32)
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, x[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, x[2])
		x = [4]uint32{hi1 ^ x[1] ^ k0, lo1, hi0 ^ x[3] ^ k1, lo0}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return x
}

// Rand returns a tensor of random numbers: floats uniform in [0, 1), as multiples of 2^-p where p is the type's
// precision (4 bits for f8e4m3, 3 for f8e5m2, 1 for f4e2m1, 11 for f16, 8 for bf16, 24 for f32, 53 for f64); powers of
// two from 2^-8 to 2^7 for e8m0; integers uniform over all values of their type; bools true half of the time.
func Rand(dtype types.DType, seed uint64, shape ...int64) (*Tensor, error) {
	t, err := New(dtype, shape...)
	if err != nil {
		return nil, fmt.Errorf("rand: %w", err)
	}
	n := t.Elems()
	if dtype.Bytes() == 8 {
		for i := int64(0); i < n; i += 2 {
			w := philox(seed, streamUniform, uint64(i/2))
			for j := range min(2, n-i) {
				t.store(i+j, uniform64(dtype, uint64(w[2*j+1])<<32|uint64(w[2*j])))
			}
		}
		return t, nil
	}
	for i := int64(0); i < n; i += 4 {
		w := philox(seed, streamUniform, uint64(i/4))
		for j := range min(4, n-i) {
			t.store(i+j, uniform32(dtype, w[j]))
		}
	}
	return t, nil
}

func uniform64(dtype types.DType, w uint64) uint64 {
	if dtype == types.F64 {
		return math.Float64bits(float64(w>>11) * 0x1p-53)
	}
	return w
}

// uniform32 makes an element of at most 32 bits of the high bits of a word.
func uniform32(dtype types.DType, w uint32) uint64 {
	switch dtype {
	case types.F32:
		return uint64(math.Float32bits(float32(w>>8) * 0x1p-24))
	case types.F16:
		return uint64(types.F16Bits(float32(w>>21) * 0x1p-11))
	case types.BF16:
		return uint64(types.BF16Bits(float32(w>>24) * 0x1p-8))
	case types.F8E4M3:
		return uint64(types.StoredBits(dtype, float32(w>>28)*0x1p-4))
	case types.F8E5M2:
		return uint64(types.StoredBits(dtype, float32(w>>29)*0x1p-3))
	case types.F4E2M1:
		return uint64(types.StoredBits(dtype, float32(w>>31)*0x1p-1))
	case types.E8M0:
		return uint64(127 - 8 + w>>28)
	case types.I4:
		return uint64(uint8(int32(w) >> 28))
	}
	return uint64(w >> (32 - dtype.Bits()))
}

// Randn returns a tensor of a float type with normally distributed numbers of mean 0 and variance 1, computed in f64 by
// the method of Box and Muller and rounded to the type. Magnitudes end at 8.6.
func Randn(dtype types.DType, seed uint64, shape ...int64) (*Tensor, error) {
	if !dtype.IsFloat() {
		return nil, fmt.Errorf("randn: %v is no float type", dtype)
	}
	t, err := New(dtype, shape...)
	if err != nil {
		return nil, fmt.Errorf("randn: %w", err)
	}
	n := t.Elems()
	for i := int64(0); i < n; i += 2 {
		x, y := normalPair(philox(seed, streamNormal, uint64(i/2)))
		t.store(i, floatBits(dtype, x))
		if i+1 < n {
			t.store(i+1, floatBits(dtype, y))
		}
	}
	return t, nil
}

// normalPair makes two independent normal numbers of a block.
func normalPair(w [4]uint32) (x, y float64) {
	u := uint64(w[1])<<32 | uint64(w[0])
	v := uint64(w[3])<<32 | uint64(w[2])
	radius := math.Sqrt(-2 * logUnit(float64(u>>11+1)*0x1p-53)) // of a number in (0, 1]
	sin, cos := sinCosTurn(float64(v>>11) * 0x1p-53)
	return radius * cos, radius * sin
}

// logUnit is the natural logarithm of x in (0, 1], to a few units in the last place: with x = m * 2^e and s =
// (m-1)/(m+1), log m = 2(s + s^3/3 + s^5/5 + ...), and |s| < 0.172.
func logUnit(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	sum := 0.0
	for k := 23; k >= 1; k -= 2 {
		sum = float64(sum*s2) + 1/float64(k)
	}
	return float64(2*s*sum) + float64(float64(e)*math.Ln2)
}

// sinCosTurn returns the sine and cosine of 2*pi*x for x in [0, 1), by the Taylor series within an eighth of a
// turn of the nearest quarter.
func sinCosTurn(x float64) (sin, cos float64) {
	quarter := math.Floor(4*x + 0.5)
	a := (4*x - quarter) * (math.Pi / 2) // the difference is exact
	a2 := float64(a * a)
	sin, cos = 1, 1
	for k := 18.0; k >= 2; k -= 2 {
		cos = 1 - float64(a2*cos)/(k*(k-1))
		sin = 1 - float64(a2*sin)/(k*(k+1))
	}
	sin *= a
	switch int(quarter) & 3 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}

// floatBits rounds x to a float type, or one that is only stored: to f32 first for the narrow types, as every operation
// on them does.
func floatBits(dtype types.DType, x float64) uint64 {
	if dtype.IsStored() {
		return uint64(types.StoredBits(dtype, float32(x)))
	}
	switch dtype {
	case types.F16:
		return uint64(types.F16Bits(float32(x)))
	case types.BF16:
		return uint64(types.BF16Bits(float32(x)))
	case types.F32:
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// Ones returns a tensor of ones; of true for bool.
func Ones(dtype types.DType, shape ...int64) (*Tensor, error) {
	t, err := New(dtype, shape...)
	if err != nil {
		return nil, fmt.Errorf("ones: %w", err)
	}
	one := uint64(1)
	if dtype.IsFloat() || dtype.IsStored() {
		one = floatBits(dtype, 1)
	}
	for i := range t.Elems() {
		t.store(i, one)
	}
	return t, nil
}

// Iota returns a tensor whose elements are their row-major positions 0, 1, 2, ..., converted as the language
// converts an integer: wrapped for the integer types, rounded for the float types. For bool it is an error.
func Iota(dtype types.DType, shape ...int64) (*Tensor, error) {
	if !dtype.IsNumber() {
		return nil, fmt.Errorf("iota: %v is no number type", dtype)
	}
	t, err := New(dtype, shape...)
	if err != nil {
		return nil, fmt.Errorf("iota: %w", err)
	}
	for i := range t.Elems() {
		switch {
		case dtype == types.F64:
			t.store(i, math.Float64bits(float64(i)))
		case dtype.IsFloat():
			t.store(i, floatBits(dtype, float64(float32(i))))
		default:
			t.store(i, uint64(i))
		}
	}
	return t, nil
}
