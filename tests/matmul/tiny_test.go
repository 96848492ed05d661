package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
)

// tinies give the bits of a bf16 at step k: of magnitudes whose products and sums are next to the subnormal numbers of
// f32 or below them, which instructions for products of bf16 flush.
var tinies = map[string]func(rng *rand.Rand, k int64) uint64{
	"around the least normal product": func(rng *rand.Rand, _ int64) uint64 { return powerOf(rng, -63, 4) },
	"all kinds of numbers":            func(rng *rand.Rand, _ int64) uint64 { return rng.Uint64() >> 48 },
	"a subnormal now and then": func(rng *rand.Rand, _ int64) uint64 {
		if rng.IntN(500) == 0 {
			return rng.Uint64() & 0x807f
		}
		return powerOf(rng, 0, 3)
	},
	"tiny in some pieces of the chains": func(rng *rand.Rand, k int64) uint64 {
		if k/700%2 == 1 {
			return powerOf(rng, -68, 2)
		}
		return powerOf(rng, -54, 2)
	},
	"just normal, and zeros": func(rng *rand.Rand, _ int64) uint64 {
		if rng.IntN(3) == 0 {
			return rng.Uint64() & 0x8000
		}
		return powerOf(rng, -56, 0)
	},
	"infinities": func(rng *rand.Rand, _ int64) uint64 {
		if rng.IntN(2000) == 0 {
			return 0x7f80 | rng.Uint64()&0x8000
		}
		return powerOf(rng, 0, 60)
	},
}

// powerOf is a random bf16 with either sign, of an exponent that is off from e by at most by.
func powerOf(rng *rand.Rand, e, by int) uint64 {
	e += rng.IntN(2*by+1) - by
	return rng.Uint64()&0x8000 | uint64(e+127)<<7 | rng.Uint64()&0x7f
}

// TestTinyBF16: products of bf16 keep what is subnormal in them, on every processor, whatever instructions it has.
func TestTinyBF16(t *testing.T) {
	const src = `fn f[M, K, N](a: bf16[M, K], b: bf16[K, N]) -> f32[M, N] = (a @ b) as f32`
	sizes := [][3]int64{{5, 33, 17}, {33, 70, 40}, {70, 2500, 35}}
	code := &cache.Cache{Dir: t.TempDir()} // which is the same for all kinds of numbers
	free := newAnyShape(t, src, "", 2)
	defer free.close()
	subnormal := 0
	for name, number := range tinies {
		for i, s := range sizes {
			rng := rand.New(rand.NewPCG(uint64(i), 11))
			factor := func(rows, columns int64, step func(i int64) int64) *tensor.Tensor {
				bits := make([]uint64, rows*columns)
				for i := range bits {
					bits[i] = number(rng, step(int64(i)))
				}
				x, err := tensor.FromBits(types.BF16, []int64{rows, columns}, bits)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			args := []*tensor.Tensor{factor(s[0], s[1], func(i int64) int64 { return i % s[1] }),
				factor(s[1], s[2], func(i int64) int64 { return i / s[2] })}
			want := oneNaN(call(t, name, src, engine.Options{Backend: heal.Interp, Threads: 1}, args))
			for _, x := range want {
				if x&0x7fffffff != 0 && x&0x7f800000 == 0 {
					subnormal++
				}
			}
			for _, cpu := range devices.Targets(t) {
				got := call(t, name, src, engine.Options{Threads: 2, SplitAll: true,
					Target: codegen.Target{Kind: "cpu", CPU: cpu}, Cache: code}, args)
				differ(t, fmt.Sprintf("%s %v on %q", name, s, cpu), oneNaN(got), want)
			}
			differ(t, fmt.Sprintf("%s %v for any shape", name, s), oneNaN(free.call(t, name, s, args)), want)
		}
	}
	if subnormal == 0 {
		t.Error("no result is subnormal")
	}
}

// TestLeastSum: two products of which all but the last place cancels, which is 2^-127 for factors whose exponents have
// the greatest sum for which it is subnormal, and 2^-126 for the next.
func TestLeastSum(t *testing.T) {
	const src = `fn f(a: bf16[2, 3], b: bf16[3, 2]) -> f32[2, 2] = (a @ b) as f32`
	for e, want := range map[uint64]uint64{-57 + 127: 0x00400000, -56 + 127: 0x00800000} {
		rows := []uint64{e<<7 | 1, 0, e << 7, e<<7 | 1, 0, e << 7}
		const first, last = 71<<7 | 1, 0x8000 | 71<<7 | 2 // of a column
		a, err1 := tensor.FromBits(types.BF16, []int64{2, 3}, rows)
		b, err2 := tensor.FromBits(types.BF16, []int64{3, 2}, []uint64{first, first, 0, 0, last, last})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		args := []*tensor.Tensor{a, b}
		for _, cpu := range devices.Targets(t) {
			got := call(t, "the least sum", src, engine.Options{Target: codegen.Target{Kind: "cpu", CPU: cpu}}, args)
			differ(t, fmt.Sprintf("the least sum on %q", cpu), got, []uint64{want, want, want, want})
		}
	}
}

// oneNaN makes every NaN the same: which one a result is, is not specified.
func oneNaN(bits []uint64) []uint64 {
	for i, x := range bits {
		if f := math.Float32frombits(uint32(x)); f != f {
			bits[i] = 0x7fc00000
		}
	}
	return bits
}
