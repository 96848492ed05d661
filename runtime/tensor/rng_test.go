package tensor_test

import (
	"math"
	"slices"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// TestRandIsFixed pins the numbers of one seed: inputs of benchmarks and examples must not change.
func TestRandIsFixed(t *testing.T) {
	noLeaks(t)
	for dtype, want := range map[types.DType][]uint64{
		types.U32: {0xf4607a2d, 0xc009f9dc, 0x1d3aba42, 0x15edac82, 0x682e8e9b},
		types.U64: {0xc009f9dcf4607a2d, 0x15edac821d3aba42, 0xcb97bc13682e8e9b},
		types.F32: {0x3f74607a, 0x3f4009f9, 0x3de9d5d0, 0x3daf6d60, 0x3ed05d1c},
		types.I8:  {0xf4, 0xc0, 0x1d, 0x15, 0x68},
	} {
		x := must(t)(tensor.Rand(dtype, 7, int64(len(want))))
		if got := x.Bits(); !slices.Equal(got, want) {
			t.Errorf("%v: got %#x, want %#x", dtype, got, want)
		}
	}
	x := must(t)(tensor.Randn(types.F64, 7, 3))
	if got, want := x.Bits(), []uint64{0x3fd292d4ca5e0af9, 0x3ffdac42e8465252, 0xbfd4e58bf496c9e8}; !slices.Equal(got,
		want) {
		t.Errorf("randn: got %#x, want %#x", got, want)
	}
}

func TestRandUniform(t *testing.T) {
	noLeaks(t)
	const n = 20001
	for _, dtype := range types.DTypes {
		x := must(t)(tensor.Rand(dtype, 1, n))
		var sum, least, most float64
		for i, bits := range x.Bits() {
			v := float64(bits) / (math.Ldexp(1, dtype.Bits()) - 1)
			if dtype == types.E8M0 { // one of 16 powers of two
				v = (math.Log2(tensor.FloatValue(dtype, bits)) + 8) / 15
			} else if dtype == types.I4 {
				v = (tensor.FloatValue(dtype, bits) + 8) / 15
			} else if dtype.IsFloat() || dtype.IsStored() {
				v = tensor.FloatValue(dtype, bits)
				if v >= 1 {
					t.Fatalf("%v: %v", dtype, v)
				}
			}
			if i == 0 {
				least, most = v, v
			}
			sum, least, most = sum+v, min(least, v), max(most, v)
		}
		// Six standard deviations of the mean, for a bool, which has the largest; and half a step of bf16,
		// by which its mean is off the middle.
		tolerance := 6/math.Sqrt(4*n) + 1.0/512
		if d := map[types.DType]float64{types.F8E4M3: 16, types.F8E5M2: 8, types.F4E2M1: 2}[dtype]; d > 0 {
			tolerance += 0.5 / d // half a step
			most += 1 / d
		}
		if mean := sum / n; math.Abs(mean-0.5) > tolerance || least < 0 || least > 0.01 || most < 0.98 {
			t.Errorf("%v: mean %v, from %v to %v", dtype, mean, least, most)
		}
		y, other := must(t)(tensor.Rand(dtype, 1, n-1)), must(t)(tensor.Rand(dtype, 2, n-1))
		if !slices.Equal(y.Bits(), x.Bits()[:n-1]) || slices.Equal(y.Bits(), other.Bits()) {
			t.Errorf("%v: not a function of seed and position", dtype)
		}
	}
}

func TestRandNormal(t *testing.T) {
	noLeaks(t)
	const n = 40001
	for _, dtype := range []types.DType{types.F16, types.BF16, types.F32, types.F64} {
		x := must(t)(tensor.Randn(dtype, 3, n))
		var m1, m2, m4 float64
		within := 0
		for _, bits := range x.Bits() {
			v := tensor.FloatValue(dtype, bits)
			m1, m2, m4 = m1+v/n, m2+v*v/n, m4+v*v*v*v/n
			if math.Abs(v) < 1 {
				within++
			}
		}
		// Six standard deviations: 6/sqrt(n), 6 sqrt(2/n), 6 sqrt(96/n).
		if math.Abs(m1) > 0.03 || math.Abs(m2-1) > 0.043 || math.Abs(m4-3) > 0.3 ||
			math.Abs(float64(within)/n-0.6827) > 0.015 {
			t.Errorf("%v: moments %v %v %v, %d of %d within 1", dtype, m1, m2, m4, within, n)
		}
	}
	if _, err := tensor.Randn(types.I32, 1, 2); err == nil || err.Error() != "randn: i32 is no float type" {
		t.Errorf("integers: %v", err)
	}
}

func TestOnesZerosIota(t *testing.T) {
	noLeaks(t)
	for _, dtype := range types.DTypes {
		one := must(t)(tensor.Ones(dtype, 2, 3))
		zero := must(t)(tensor.Zeros(dtype, 2, 3))
		for i, b := range one.Bits() {
			v := float64(b)
			if dtype.IsFloat() || dtype.IsStored() {
				v = tensor.FloatValue(dtype, b)
			}
			if v != 1 || zero.Bits()[i] != 0 {
				t.Errorf("%v: one is %v, zero %#x", dtype, v, zero.Bits()[i])
			}
		}
		x, err := tensor.Iota(dtype, 300)
		if !dtype.IsNumber() {
			if err == nil || err.Error() != "iota: "+dtype.String()+" is no number type" {
				t.Errorf("iota of %v: %v", dtype, err)
			}
			continue
		}
		if x = must(t)(x, err); dtype.IsFloat() {
			// 299 takes 9 bits and a half way rule: bf16 has 8, so 299 lies between 298 and 300.
			want := 299.0
			if dtype == types.BF16 {
				want = 300
			}
			if got := tensor.FloatValue(dtype, x.Bits()[299]); got != want {
				t.Errorf("%v: element 299 is %v", dtype, got)
			}
		} else if got := x.Bits()[299]; got != 299&(1<<dtype.Bits()-1) {
			t.Errorf("%v: element 299 is %#x", dtype, got)
		}
	}
	if _, err := tensor.Ones(types.F32, -1); err == nil {
		t.Error("ones of a negative extent")
	}
}
