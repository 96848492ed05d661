package types_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"healc/lang/types"
)

// TestStoredValues compares with numbers of the specifications.
func TestStoredValues(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		d    types.DType
		bits uint8
		want float64
	}{
		{types.F8E4M3, 0x00, 0}, {types.F8E4M3, 0x01, 0x1p-9}, {types.F8E4M3, 0x07, 0.875 * 0x1p-6},
		{types.F8E4M3, 0x08, 0x1p-6}, {types.F8E4M3, 0x38, 1}, {types.F8E4M3, 0x7e, 448}, {types.F8E4M3, 0xfe, -448},
		{types.F8E4M3, 0x7f, math.NaN()}, {types.F8E4M3, 0xff, math.NaN()},
		{types.F8E5M2, 0x00, 0}, {types.F8E5M2, 0x01, 0x1p-16}, {types.F8E5M2, 0x03, 0.75 * 0x1p-14},
		{types.F8E5M2, 0x04, 0x1p-14}, {types.F8E5M2, 0x3c, 1}, {types.F8E5M2, 0x7b, 57344},
		{types.F8E5M2, 0x7c, inf}, {types.F8E5M2, 0xfc, -inf}, {types.F8E5M2, 0x7d, math.NaN()},
		{types.F8E5M2, 0xff, math.NaN()},
		{types.E8M0, 0x00, 0x1p-127}, {types.E8M0, 0x7f, 1}, {types.E8M0, 0x80, 2}, {types.E8M0, 0xfe, 0x1p127},
		{types.E8M0, 0xff, math.NaN()},
		{types.F4E2M1, 0, 0}, {types.F4E2M1, 1, 0.5}, {types.F4E2M1, 2, 1}, {types.F4E2M1, 3, 1.5},
		{types.F4E2M1, 4, 2}, {types.F4E2M1, 5, 3}, {types.F4E2M1, 6, 4}, {types.F4E2M1, 7, 6},
		{types.F4E2M1, 9, -0.5}, {types.F4E2M1, 15, -6}, {types.F4E2M1, 0xf2, 1}, {types.F4E2M1, 0x18, 0},
		{types.I4, 0, 0}, {types.I4, 7, 7}, {types.I4, 0xf8, -8}, {types.I4, 0xff, -1},
		{types.I4, 0x0f, -1}, {types.I4, 0xf7, 7},
	} {
		got := float64(types.StoredValue(c.d, c.bits))
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v %#x is %v, want %v", c.d, c.bits, got, c.want)
		}
	}
}

// TestStoredRounding looks for the nearest value, and compares.
func TestStoredRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []types.DType{types.F8E4M3, types.F8E5M2, types.E8M0, types.F4E2M1} {
		var xs []float32
		for b := range 256 {
			v := types.StoredValue(d, uint8(b))
			xs = append(xs, v)
			if got := types.StoredBits(d, v); v == v && got != uint8(b) && (b < 16 || d != types.F4E2M1) {
				t.Errorf("%v: %v has the bits %#x, and becomes %#x", d, v, b, got)
			}
			if b > 0 {
				middle := (types.StoredValue(d, uint8(b-1)) + v) / 2
				if d == types.E8M0 {
					middle = v * 0.75
				}
				xs = append(xs, middle, math.Nextafter32(middle, 0), math.Nextafter32(middle, 2*v))
			}
		}
		for range 20000 {
			xs = append(xs, math.Float32frombits(r.Uint32()))
			xs = append(xs, float32(math.Ldexp(r.Float64()*2-1, r.IntN(40)-20)))
		}
		xs = append(xs, 464, math.Nextafter32(464, 465), -464, 480, 61440, math.Nextafter32(61440, 0), 1e30, 0x1.8p127,
			math.Nextafter32(0x1.8p127, 0), math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
			float32(math.NaN()), float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, 0x1.8p-127, 0x1p-126)
		for _, x := range xs {
			got, want := types.StoredBits(d, x), nearest(d, x)
			if got != want {
				t.Errorf("%v of %v (%#x) has the bits %#x, want %#x", d, x, math.Float32bits(x), got, want)
			}
		}
	}
}

// nearest goes through all values. A value past the largest one counts as the next step of the scale.
func nearest(d types.DType, x float32) uint8 {
	v := float64(x)
	switch {
	case math.IsNaN(v):
		return map[types.DType]uint8{types.F8E4M3: 0x7f, types.F8E5M2: 0x7e, types.E8M0: 0xff, types.F4E2M1: 7}[d]
	case d == types.E8M0 && v < 0:
		return 0xff
	}
	sign := uint8(0)
	if math.Signbit(v) && d != types.E8M0 {
		sign, v = 0x80, -v
		if d == types.F4E2M1 {
			sign = 8
		}
	}
	v = math.Abs(v)
	last, beyond := 0x7e, 480.0
	switch d {
	case types.F8E5M2:
		last, beyond = 0x7b, 65536
	case types.E8M0:
		last, beyond = 0xfe, 0x1p128
	case types.F4E2M1:
		last, beyond = 7, 8
	}
	best, least := 0, math.Inf(1)
	for b := 0; b <= last+1; b++ {
		at := beyond
		if b <= last {
			at = float64(types.StoredValue(d, uint8(b)))
		}
		off := math.Abs(v - at)
		if off < least || off == least && (d == types.E8M0 || b%2 == 0) {
			best, least = b, off
		}
	}
	if v >= beyond {
		best = last + 1
	}
	if d == types.F4E2M1 { // which has nothing above its largest number
		best = min(best, last)
	}
	return sign | uint8(best)
}

// TestInteger4: the integers of i4 stay, and others are cut and saturate.
func TestInteger4(t *testing.T) {
	for n := -8; n < 8; n++ {
		got := types.StoredBits(types.I4, float32(n))
		if got != uint8(n) || types.StoredValue(types.I4, got) != float32(n) {
			t.Errorf("%d has the bits %#x", n, got)
		}
	}
	inf := float32(math.Inf(1))
	for x, want := range map[float32]int8{7.9: 7, 8: 7, 1e30: 7, inf: 7, -8.5: -8, -9: -8, -inf: -8, 1.9: 1, -1.9: -1,
		0.9: 0} {
		if got := types.StoredBits(types.I4, x); got != uint8(want) {
			t.Errorf("%v becomes %#x, want %d", x, got, want)
		}
	}
	if got := types.StoredBits(types.I4, float32(math.NaN())); got != 0 {
		t.Errorf("NaN becomes %#x", got)
	}
}
