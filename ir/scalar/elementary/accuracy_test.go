package elementary

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"

	"healc/ir/scalar"
	"healc/lang/types"
)

// specials32 returns the f32 neighbourhoods where an expansion can go wrong: zeros, subnormals, powers of two,
// limits of the domain and of the range, multiples of pi/2, switches between formulas.
func specials32() []uint64 {
	centers := []float64{
		0, 0x1p-149, 0x1p-126, 1, math.MaxFloat32, math.Inf(1), math.Sqrt2, math.Sqrt2 / 2,
		88.722839, 87.33655, 103.97208, 89, 105, 110, 9.011, 9.1, 0.6, 0x1p77, 16, 17, 18,
	}
	for e := -149; e < 128; e++ {
		centers = append(centers, math.Ldexp(1, e))
	}
	for k := 1; k < 64; k++ {
		centers = append(centers, float64(k)*math.Pi/2, float64(k)*math.Ln2/2)
	}
	var bits []uint64
	for _, c := range centers {
		b := int64(math.Float32bits(float32(c)))
		for d := int64(-16); d <= 16; d++ {
			if v := b + d; v >= 0 {
				bits = append(bits, uint64(v), uint64(v)|1<<31)
			}
		}
	}
	return bits
}

func TestF32Sample(t *testing.T) {
	step := uint64(1<<12 - 1) // odd: it visits all low bits
	if testing.Short() {
		step = 1<<15 - 1
	}
	t.Log("\n" + tableHead())
	for _, f := range unaryFuncs {
		s := measure(f, listed(specials32()), nil)
		s.merge(measureParallel(f, step, runtime.GOMAXPROCS(0), nil))
		x := math.Float32frombits(uint32(s.worst))
		t.Log(s.row(f.name, fmt.Sprint(x)))
		if s.max > 1 {
			t.Errorf("%s(%v) is %.3f ulp off, more than 1", f.name, x, s.max)
		}
	}
}

// TestExhaustive takes all 2^32 inputs of every function with HEAL_EXHAUSTIVE=1, every 17th with 17, and so on. It
// runs for some minutes, so only on demand; a single function is TestExhaustive/name. Machine code computes the
// function, and the evaluator has to give the same bits for one in 64 of the inputs.
func TestExhaustive(t *testing.T) {
	value := os.Getenv("HEAL_EXHAUSTIVE")
	if value == "" {
		t.Skip("set HEAL_EXHAUSTIVE=1 to test all 2^32 inputs of each function")
	}
	step, err := strconv.ParseUint(value, 10, 32)
	if err != nil || step == 0 {
		t.Fatalf("HEAL_EXHAUSTIVE is %q, not a number of at least 1", value)
	}
	fmt.Println(tableHead())
	for _, f := range unaryFuncs {
		t.Run(f.name, func(t *testing.T) {
			s := measureParallel(f, step, runtime.GOMAXPROCS(0), machineCode(t, f.name, blockSize))
			x := math.Float32frombits(uint32(s.worst))
			fmt.Println(s.row(f.name, fmt.Sprint(x)))
			again, off := rejudge(f, s.far)
			fmt.Printf("%s: the %d worst judged by math/big: max %.6f ulp; f64 was off by %.3g ulp at most\n", f.name,
				len(s.far), again, off)
			if again > 1 {
				t.Errorf("%s is %.6f ulp off, more than 1", f.name, again)
			}
			if s.max > 1 {
				t.Errorf("%s(%v) is %.3f ulp off, more than 1", f.name, x, s.max)
			}
		})
	}
}

// sampleSize chooses the number of random inputs: with -short, without, and with HEAL_EXHAUSTIVE.
func sampleSize(short, usual, exhaustive int) int {
	switch {
	case os.Getenv("HEAL_EXHAUSTIVE") != "":
		return exhaustive
	case testing.Short():
		return short
	}
	return usual
}

// f64Case is a function of one f64 with its reference and its range of interest: |x| <= most, and the
// results neither 0 nor infinite.
type f64Case struct {
	name     string
	emit     func(scalar.Emitter, scalar.Ref) scalar.Ref
	ref      func(*big.Float) *big.Float
	lo, hi   float64
	anywhere bool // exponents of all sizes, not only those between lo and hi
}

var f64Cases = []f64Case{
	{"exp", Exp, bigExp, -745, 709.7, false},
	{"exp2", Exp2, func(x *big.Float) *big.Float { return bigExp(bigOp().Mul(x, bigLn2)) }, -1074.9, 1024, false},
	{"expm1", Expm1, bigExpm1, -60, 709.7, false},
	{"log", Log, bigLog, 0, math.MaxFloat64, true},
	{"log2", Log2, func(x *big.Float) *big.Float { return bigOp().Quo(bigLog(x), bigLn2) }, 0, math.MaxFloat64, true},
	{"log10", Log10, func(x *big.Float) *big.Float {
		return bigOp().Quo(bigLog(x), bigLn10)
	}, 0, math.MaxFloat64, true},
	{"log1p", Log1p, bigLog1p, -0.99999999999, math.MaxFloat64, true},
	{"sin", Sin, func(x *big.Float) *big.Float { return bigSinCos(x, 0) }, -math.MaxFloat64, math.MaxFloat64, true},
	{"cos", Cos, func(x *big.Float) *big.Float { return bigSinCos(x, 1) }, -math.MaxFloat64, math.MaxFloat64, true},
	{"tanh", Tanh, bigTanh, -20, 20, false},
	{"sigmoid", Sigmoid, bigSigmoid, -744, 744, false},
	{"sqrt", scalar.Emitter.Sqrt, func(x *big.Float) *big.Float { return bigOp().Sqrt(x) }, 0, math.MaxFloat64, true},
	{"rsqrt", Rsqrt, bigRsqrt, 0, math.MaxFloat64, true},
	{"cbrt", Cbrt, bigCbrt, -math.MaxFloat64, math.MaxFloat64, true},
	{"tan", Tan, bigTan, -math.MaxFloat64, math.MaxFloat64, true},
	{"asin", Asin, bigAsin, -1, 1, true},
	{"acos", Acos, bigAcos, -1, 1, true},
	{"atan", Atan, bigAtan, -math.MaxFloat64, math.MaxFloat64, true},
	{"sinh", Sinh, bigSinh, -710.47, 710.47, false},
	{"cosh", Cosh, bigCosh, -710.47, 710.47, false},
	{"erf", Erf, bigErf, -6, 6, false},
	{"silu", Silu, bigSilu, -750, 800, false},
	{"gelu", Gelu, bigGelu, -38.5, 40, false},
	{"softplus", Softplus, bigSoftplus, -745, 800, false},
}

// hard64 has arguments that are known to be hard: multiples of pi/2 (the last is the f64 nearest to one of all,
// 2^-61 off), of ln 2, neighbours of 1, switches between formulas, and the ends of the range.
func hard64() []float64 {
	var xs []float64
	for k := 1.0; k < 200; k++ {
		xs = append(xs, k*math.Pi/2, k*math.Ln2/2, k*math.Pi/4)
	}
	for d := -8.0; d <= 8; d++ {
		xs = append(xs, 1+d*0x1p-52, 0.6+d*0x1p-53, math.Sqrt2/2+d*0x1p-53, math.Sqrt2+d*0x1p-52, math.Pi/4+d*0x1p-53,
			20+d*0x1p-48,
			0.5+d*0x1p-53, tanOfEighthPi+d*0x1p-54, 1/tanOfEighthPi+d*0x1p-51, 1-d*0x1p-53, 5.8636+d*0x1p-50, 9+
				d*0x1p-49)
	}
	for e := -1074; e < 1024; e += 7 {
		xs = append(xs, math.Ldexp(1, e), math.Ldexp(1.999, e))
	}
	xs = append(xs, 6381956970095103*0x1p797, 0x1p-1022, 0x1.fffffffffffffp-1023, math.MaxFloat64, 709.78271289338397,
		-745.13321910194111, -708.4)
	for _, x := range xs {
		xs = append(xs, -x)
	}
	return xs
}

func TestF64(t *testing.T) {
	n := sampleSize(400, 2000, 50000)
	t.Log("\n" + tableHead())
	for _, c := range f64Cases {
		rng := rand.New(rand.NewPCG(1, 2))
		xs := hard64()
		for range n {
			x := c.lo + rng.Float64()*(c.hi-c.lo)
			if c.anywhere || rng.IntN(2) == 0 { // any exponent
				x = math.Ldexp(1+rng.Float64(), rng.IntN(2098)-1074) * float64(1-2*rng.IntN(2))
			}
			if rng.IntN(4) == 0 {
				x = (rng.Float64() - 0.5) * 16
			}
			xs = append(xs, x)
		}
		fn := compileUnary(unaryFunc{emit: c.emit}, types.F64)
		var s stat
		for _, x := range xs {
			if x < c.lo || x > c.hi || x == 0 {
				continue
			}
			out, _ := fn.RunOne(math.Float64bits(x))
			got := math.Float64frombits(out[0])
			want := c.ref(bigNew(x))
			s.addBig(math.Float64bits(x), got, want)
		}
		x := math.Float64frombits(s.worst)
		t.Log(s.row(c.name, fmt.Sprint(x)))
		if s.max > 2 {
			t.Errorf("%s(%v) is %.3f ulp off, more than 2", c.name, x, s.max)
		}
	}
}

func (s *stat) addBig(bits uint64, got float64, want *big.Float) {
	s.inputs++
	if nearest, _ := want.Float64(); got != nearest {
		s.wrong++
	}
	if d := ulp64(got, want); d > s.max {
		s.max, s.worst = d, bits
	}
}

// powPairs returns pairs with results of all sizes: random ones, x near 1 with a large y, subnormal x.
func powPairs(n int, t types.DType) [][2]float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	least, top, eps := -149, 127.9, 0x1p-23
	if t == types.F64 {
		least, top, eps = -1074, 1023.9, 0x1p-52
	}
	var pairs [][2]float64
	for i := range n {
		var x, y float64
		switch i % 4 {
		case 0: // result anywhere
			x = math.Ldexp(1+rng.Float64(), rng.IntN(-2*least)+least)
			y = (rng.Float64()*(top-float64(least)) + float64(least)) / math.Log2(x)
		case 1: // x near 1
			x = 1 + (rng.Float64()-0.5)*math.Ldexp(1, -rng.IntN(40))
			y = (rng.Float64()*(top-float64(least)) + float64(least)) / math.Log2(x)
		case 2:
			x, y = rng.Float64()*10, (rng.Float64()-0.5)*20
		case 3: // neighbours of 1
			x = 1 + float64(rng.IntN(17)-8)*eps/2
			y = (rng.Float64()*(top-float64(least)) + float64(least)) / math.Log2(x)
		}
		if t == types.F32 {
			x, y = float64(float32(x)), float64(float32(y))
		}
		if x > 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0) && y == y {
			pairs = append(pairs, [2]float64{x, y})
		}
	}
	return pairs
}

func TestPowF64(t *testing.T) {
	n := sampleSize(1000, 12000, 200000)
	fn := compileBinary(Pow, types.F64)
	var s stat
	var worst [2]float64
	for _, p := range powPairs(n, types.F64) {
		out, _ := fn.RunOne(math.Float64bits(p[0]), math.Float64bits(p[1]))
		before := s.max
		s.addBig(0, math.Float64frombits(out[0]), bigPow(bigNew(p[0]), bigNew(p[1])))
		if s.max > before {
			worst = p
		}
	}
	t.Log("\n" + tableHead() + "\n" + s.row("pow", fmt.Sprint(worst)))
	if s.max > 2 {
		t.Errorf("pow%v is %.3f ulp off, more than 2", worst, s.max)
	}
}

// TestPowF32 takes Go's pow as the reference for the nearest float, and math/big where that is not the result: Go's
// squares the base again and again, and for an exponent of n loses log2(n) bits.
func TestPowF32(t *testing.T) {
	n := sampleSize(1<<15, 1<<20, 1<<24)
	fn := compileBinary(Pow, types.F32)
	pairs := powPairs(n, types.F32)
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
		got, want := math.Float32frombits(uint32(out[0][i])), math.Pow(p[0], p[1])
		if got != float32(want) && !math.IsInf(want, 0) && want != 0 {
			want, _ = bigPow(bigNew(p[0]), bigNew(p[1])).Float64()
		}
		s.add(uint64(i), got, want)
	}
	t.Log("\n" + tableHead() + "\n" + s.row("pow", fmt.Sprint(pairs[s.worst])))
	if s.max > 1 {
		t.Errorf("pow%v is %.3f ulp off, more than 1", pairs[s.worst], s.max)
	}
}
