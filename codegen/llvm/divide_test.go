package llvm

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDivisionByOneNumber compares the quotients of Note [Division by one number] with Go's.
func TestDivisionByOneNumber(t *testing.T) {
	run := load(t, `kernels "t"
kernel @f32(in x: f32[4096], in s: f32[1], out y: f32[4096]) over %0 in 0..4096 {
  %1: f32 = load s[0]
  %2: f32 = load x[%0]
  %3: f32 = div %2, %1
  store y[%0], %3
}
kernel @f64(in x: f64[4096], in s: f64[1], out y: f64[4096]) over %0 in 0..4096 {
  %1: f64 = load s[0]
  %2: f64 = load x[%0]
  %3: f64 = div %2, %1
  store y[%0], %3
}
kernel @seven(in x: f32[4096], in s: f32[1], out y: f32[4096]) over %0 in 0..4096 {
  %1: f32 = const 7.0
  %2: f32 = load x[%0]
  %3: f32 = div %2, %1
  store y[%0], %3
}`)
	r := rand.New(rand.NewPCG(1, 2))
	const n = 4096
	x32, y32, x64, y64 := make([]float32, n), make([]float32, n), make([]float64, n), make([]float64, n)
	hard32 := []uint32{0, 1, 2, 0x7fffff, 0x7ffffe, 0x400000, 0x3fffff, 0x555555, 0x2aaaaa}
	hard64 := []uint64{0, 1, 1<<52 - 1, 1<<52 - 2, 1 << 51, 0x5555555555555}
	rounds := 600
	if testing.Short() {
		rounds = 60
	}
	for round := range rounds {
		// A divisor, and a range of exponents: inside of the safe ranges, across their ends, everywhere.
		e32, e64 := []int{10, 35, 79, 82, 126}[round%5], []int{10, 250, 699, 702, 1022}[round%5]
		element32 := func(e int) float32 {
			f := r.Uint32() & 0x7fffff
			if r.IntN(4) == 0 {
				f = hard32[r.IntN(len(hard32))]
			}
			return math.Float32frombits(r.Uint32()&(1<<31) | uint32(127-e+r.IntN(2*e+1))<<23 | f)
		}
		element64 := func(e int) float64 {
			f := r.Uint64() & (1<<52 - 1)
			if r.IntN(4) == 0 {
				f = hard64[r.IntN(len(hard64))]
			}
			return math.Float64frombits(r.Uint64()&(1<<63) | uint64(1023-e+r.IntN(2*e+1))<<52 | f)
		}
		s32, s64 := element32(min(e32, 42)), element64(min(e64, 302))
		for i := range n {
			x32[i], x64[i] = element32(e32), element64(e64)
			if round%7 == 0 && r.IntN(300) == 0 {
				special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.NaN(), 1e-310}[r.IntN(5)]
				x32[i], x64[i] = float32(special*1e270), special
			}
		}
		check := func(name string, s float64, bits int) {
			for i := range n {
				var got, want uint64
				var nan bool
				if bits == 32 {
					q := x32[i] / float32(s)
					got, want, nan = uint64(math.Float32bits(y32[i])), uint64(math.Float32bits(q)), q != q &&
						y32[i] != y32[i]
				} else {
					q := x64[i] / s
					got, want, nan = math.Float64bits(y64[i]), math.Float64bits(q), q != q && y64[i] != y64[i]
				}
				if got != want && !nan {
					t.Fatalf("%s: %v or %v / %v = %#x, want %#x", name, x32[i], x64[i], s, got, want)
				}
			}
		}
		run("f32", 0, n, ptr(x32), ptr([]float32{s32}), ptr(y32))
		check("f32", float64(s32), 32)
		run("f64", 0, n, ptr(x64), ptr([]float64{s64}), ptr(y64))
		check("f64", s64, 64)
		run("seven", 0, n, ptr(x32), ptr([]float32{s32}), ptr(y32))
		check("by 7", 7, 32)
	}
}
