package elementary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
)

// TestAtan2SpecialValues has the list of C99, F.9.1.4.
func TestAtan2SpecialValues(t *testing.T) {
	const pi = math.Pi
	cases := [][3]float64{
		{0, 0, 0}, {negZero, 0, negZero}, {0, negZero, pi}, {negZero, negZero, -pi},
		{0, -3, pi}, {negZero, -3, -pi}, {0, 3, 0}, {negZero, 3, negZero},
		{-2, 0, -pi / 2}, {-2, negZero, -pi / 2}, {2, 0, pi / 2}, {2, negZero, pi / 2},
		{5, -inf, pi}, {-5, -inf, -pi}, {5, inf, 0}, {-5, inf, negZero}, {0, -inf, pi}, {0, inf, 0},
		{inf, 5, pi / 2}, {-inf, 5, -pi / 2}, {inf, -5, pi / 2}, {inf, 0, pi / 2}, {-inf, negZero, -pi / 2},
		{inf, -inf, 3 * pi / 4}, {-inf, -inf, -3 * pi / 4}, {inf, inf, pi / 4}, {-inf, inf, -pi / 4},
		{nan, 1, nan}, {1, nan, nan}, {nan, inf, nan}, {inf, nan, nan}, {nan, 0, nan}, {0, nan, nan}, {nan, nan, nan},
		{1, 1, pi / 4}, {1, -1, 3 * pi / 4}, {-1, -1, -3 * pi / 4}, {7, 7, pi / 4},
	}
	for _, d := range []types.DType{types.F16, types.BF16, types.F32, types.F64} {
		fn := compileBinary(Atan2, d)
		for _, c := range cases {
			out, _ := fn.RunOne(scalar.FloatBits(d, c[0]), scalar.FloatBits(d, c[1]))
			if want := scalar.FloatBits(d, c[2]); !scalartest.SameBits(d, out[0], want) {
				t.Errorf("%s atan2(%v, %v) = %s, want %v", d, c[0], c[1], scalar.FormatBits(d, out[0]), c[2])
			}
		}
	}
}

// points returns pairs (y, x) in all quadrants: of all magnitudes, of similar ones, along the lines where the formulas
// change, and with quotients that are subnormal.
func points(n int, t types.DType) [][2]float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	least, span, eps := -149, 276, 0x1p-23
	if t == types.F64 {
		least, span, eps = -1074, 2097, 0x1p-52
	}
	anything := func() float64 { return math.Ldexp(1+rng.Float64(), least+rng.IntN(span)) }
	slopes := []float64{1, math.Sqrt2 - 1, math.Sqrt2 + 1}
	var out [][2]float64
	for i := range n {
		var y, x float64
		switch i % 4 {
		case 0:
			y, x = anything(), anything()
		case 1:
			x = anything()
			y = x * math.Ldexp(1+rng.Float64(), rng.IntN(20)-10)
		case 2:
			x = math.Ldexp(1+rng.Float64(), rng.IntN(60)-30)
			y = x * slopes[rng.IntN(3)] * (1 + float64(rng.IntN(9)-4)*eps)
		case 3:
			x = math.Ldexp(1+rng.Float64(), rng.IntN(-least)+least+span/2+1)
			y = math.Ldexp(x, least+rng.IntN(30)) * (1 + rng.Float64())
		}
		x, y = x*float64(1-2*rng.IntN(2)), y*float64(1-2*rng.IntN(2))
		if t == types.F32 {
			x, y = float64(float32(x)), float64(float32(y))
		}
		if x != 0 && y != 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			out = append(out, [2]float64{y, x})
		}
	}
	return out
}

func TestAtan2F64(t *testing.T) {
	n := sampleSize(1000, 20000, 200000)
	fn := compileBinary(Atan2, types.F64)
	var s stat
	var worst [2]float64
	for _, p := range points(n, types.F64) {
		out, _ := fn.RunOne(math.Float64bits(p[0]), math.Float64bits(p[1]))
		before := s.max
		s.addBig(0, math.Float64frombits(out[0]), bigAtan2(bigNew(p[0]), bigNew(p[1])))
		if s.max > before {
			worst = p
		}
	}
	t.Log("\n" + tableHead() + "\n" + s.row("atan2", fmt.Sprint(worst)))
	if s.max > 2 {
		t.Errorf("atan2%v is %.3f ulp off, more than 2", worst, s.max)
	}
}

// TestAtan2F32 takes Go's atan2 as the reference, on more pairs than big numbers allow.
func TestAtan2F32(t *testing.T) {
	n := sampleSize(1<<15, 1<<20, 1<<24)
	fn := compileBinary(Atan2, types.F32)
	pairs := points(n, types.F32)
	in := [][]uint64{make([]uint64, len(pairs)), make([]uint64, len(pairs))}
	out := [][]uint64{make([]uint64, len(pairs))}
	for i, p := range pairs {
		in[0][i], in[1][i] = scalar.FloatBits(types.F32, p[0]), scalar.FloatBits(types.F32, p[1])
	}
	if err := fn.Run(in, out, len(pairs)); err != nil {
		t.Fatal(err)
	}
	var s stat
	for i, p := range pairs {
		s.add(uint64(i), math.Float32frombits(uint32(out[0][i])), math.Atan2(p[0], p[1]))
	}
	t.Log("\n" + tableHead() + "\n" + s.row("atan2", fmt.Sprint(pairs[s.worst])))
	if s.max > 1 {
		t.Errorf("atan2%v is %.3f ulp off, more than 1", pairs[s.worst], s.max)
	}
}
