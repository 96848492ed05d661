package elementary

import (
	"math"
	"testing"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
)

var (
	nan     = math.NaN()
	inf     = math.Inf(1)
	negZero = math.Copysign(0, -1)
)

// TestSpecialValues has the results that IEEE 754 and C99 annex F fix, for every float type; here the sign of
// a zero counts.
func TestSpecialValues(t *testing.T) {
	for _, c := range []struct {
		name string
		emit func(scalar.Emitter, scalar.Ref) scalar.Ref
		want [][2]float64
	}{
		{"exp", Exp, [][2]float64{{0, 1}, {negZero, 1}, {inf, inf}, {-inf, 0}, {nan, nan}, {1e4, inf}, {-1e4, 0}}},
		{"exp2", Exp2, [][2]float64{{0, 1}, {negZero, 1}, {inf, inf}, {-inf, 0}, {nan, nan}, {1e4, inf}, {-1e4, 0},
			{10, 1024}, {-3, 0.125}}},
		{"expm1", Expm1, [][2]float64{{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, -1}, {nan, nan}, {1e4, inf},
			{-1e4, -1}}},
		{"log2", Log2, [][2]float64{{1, 0}, {8, 3}, {0.25, -2}, {0, -inf}, {negZero, -inf}, {inf, inf}, {-inf, nan},
			{-1, nan}, {nan, nan}}},
		{"log10", Log10, [][2]float64{{1, 0}, {100, 2}, {1000, 3}, {0, -inf}, {negZero, -inf}, {inf, inf}, {-inf, nan},
			{-1, nan}, {nan, nan}}},
		{"log1p", Log1p, [][2]float64{{0, 0}, {negZero, negZero}, {-1, -inf}, {inf, inf}, {-inf, nan}, {-2, nan},
			{nan, nan}}},
		{"log", Log, [][2]float64{{1, 0}, {0, -inf}, {negZero, -inf}, {inf, inf}, {-inf, nan}, {-1, nan}, {nan, nan}}},
		{"sin", Sin, [][2]float64{{0, 0}, {negZero, negZero}, {inf, nan}, {-inf, nan}, {nan, nan}}},
		{"cos", Cos, [][2]float64{{0, 1}, {negZero, 1}, {inf, nan}, {-inf, nan}, {nan, nan}}},
		{"tanh", Tanh, [][2]float64{{0, 0}, {negZero, negZero}, {inf, 1}, {-inf, -1}, {nan, nan}, {50, 1}, {-50, -1}}},
		{"sigmoid", Sigmoid, [][2]float64{{0, 0.5}, {negZero, 0.5}, {inf, 1}, {-inf, 0}, {nan, nan}, {100, 1},
			{-1e4, 0}}},
		{"rsqrt", Rsqrt, [][2]float64{{0, inf}, {negZero, -inf}, {inf, 0}, {-inf, nan}, {-1, nan}, {nan, nan},
			{4, 0.5}}},
		{"cbrt", Cbrt, [][2]float64{{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, -inf}, {nan, nan}, {8, 2}, {-27, -3},
			{1000, 10}, {0x1p-24, 0x1p-8}}},
		{"tan", Tan, [][2]float64{{0, 0}, {negZero, negZero}, {inf, nan}, {-inf, nan}, {nan, nan}}},
		{"asin", Asin, [][2]float64{{0, 0}, {negZero, negZero}, {1, math.Pi / 2}, {-1, -math.Pi / 2}, {1.5, nan},
			{-inf, nan}, {inf, nan}, {nan, nan}}},
		{"acos", Acos, [][2]float64{{0, math.Pi / 2}, {negZero, math.Pi / 2}, {1, 0}, {-1, math.Pi}, {1.5, nan},
			{-inf, nan}, {inf, nan}, {nan, nan}}},
		{"atan", Atan, [][2]float64{{0, 0}, {negZero, negZero}, {1, math.Pi / 4}, {inf, math.Pi / 2},
			{-inf, -math.Pi / 2}, {nan, nan}}},
		{"sinh", Sinh, [][2]float64{{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, -inf}, {nan, nan}, {1e4, inf},
			{-1e4, -inf}}},
		{"cosh", Cosh, [][2]float64{{0, 1}, {negZero, 1}, {inf, inf}, {-inf, inf}, {nan, nan}, {1e4, inf},
			{-1e4, inf}}},
		{"erf", Erf, [][2]float64{{0, 0}, {negZero, negZero}, {inf, 1}, {-inf, -1}, {nan, nan}, {7, 1}, {-7, -1}}},
		{"silu", Silu, [][2]float64{{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, negZero}, {nan, nan}, {1e4, 1e4},
			{-1e4, negZero}}},
		{"gelu", Gelu, [][2]float64{{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, negZero}, {nan, nan}, {1e4, 1e4},
			{-1e4, negZero}}},
		{"softplus", Softplus, [][2]float64{{0, math.Ln2}, {negZero, math.Ln2}, {inf, inf}, {-inf, 0}, {nan, nan},
			{1e4, 1e4}, {-1e4, 0}}},
		{"sqrt", scalar.Emitter.Sqrt,
			[][2]float64{{0, 0}, {negZero, negZero}, {inf, inf}, {-1, nan}, {nan, nan}, {4, 2}}},
		{"sign", Sign, [][2]float64{{0, 0}, {negZero, negZero}, {inf, 1}, {-inf, -1}, {nan, nan}, {-3, -1}, {0.5, 1}}},
		{"relu", Relu, [][2]float64{{0, 0}, {negZero, negZero}, {inf, inf}, {-inf, 0}, {nan, nan}, {-3, 0},
			{0.5, 0.5}}},
	} {
		for _, d := range []types.DType{types.F16, types.BF16, types.F32, types.F64} {
			fn := scalar.Compile(recordUnary(c.emit, d))
			for _, w := range c.want {
				out, _ := fn.RunOne(scalar.FloatBits(d, w[0]))
				if want := scalar.FloatBits(d, w[1]); !scalartest.SameBits(d, out[0], want) {
					t.Errorf("%s %s(%v) = %s, want %v", d, c.name, w[0], scalar.FormatBits(d, out[0]), w[1])
				}
			}
		}
	}
}

// TestPowSpecialValues has the list of C99, F.9.4.4, and some exact powers.
func TestPowSpecialValues(t *testing.T) {
	cases := [][3]float64{
		{0, -1, inf}, {negZero, -1, -inf}, {negZero, -3, -inf}, {0, -2, inf}, {negZero, -2, inf}, {0, -0.5, inf},
		{negZero, -0.5, inf},
		{0, -inf, inf}, {negZero, -inf, inf}, {0, 3, 0}, {negZero, 3, negZero}, {negZero, 2, 0}, {negZero, 0.5, 0},
		{0, inf, 0}, {negZero, inf, 0},
		{-1, inf, 1}, {-1, -inf, 1}, {1, nan, 1}, {1, inf, 1}, {1, -inf, 1}, {1, 3.5, 1},
		{nan, 0, 1}, {nan, negZero, 1}, {0, 0, 1}, {inf, 0, 1}, {-inf, negZero, 1}, {negZero, 0, 1},
		{-2, 0.5, nan}, {-0.5, -1.5, nan}, {-2, 3, -8}, {-2, 2, 4}, {-2, -1, -0.5}, {-1, 3, -1}, {-1, 4, 1},
		{0.5, -inf, inf}, {-0.5, -inf, inf}, {2, -inf, 0}, {-2, -inf, 0}, {0.5, inf, 0}, {-0.5, inf, 0}, {2, inf, inf},
		{-2, inf, inf},
		{-inf, -1, negZero}, {-inf, -2, 0}, {-inf, -0.5, 0}, {-inf, 3, -inf}, {-inf, 2, inf}, {-inf, 0.5, inf},
		{-inf, inf, inf}, {-inf, -inf, 0},
		{inf, -1, 0}, {inf, -0.5, 0}, {inf, 1, inf}, {inf, 0.5, inf}, {inf, inf, inf}, {inf, -inf, 0},
		{nan, 1, nan}, {nan, inf, nan}, {2, nan, nan}, {-1, nan, nan}, {0, nan, nan}, {negZero, nan, nan},
		{inf, nan, nan}, {-inf, nan, nan}, {nan, nan, nan},
		{2, 10, 1024}, {4, 0.5, 2}, {3, 4, 81}, {10, -1e4, 0}, {10, 1e4, inf}, {0.5, 1e4, 0}, {-3, 9999, -inf},
	}
	for _, d := range []types.DType{types.F16, types.BF16, types.F32, types.F64} {
		fn := compileBinary(Pow, d)
		for _, c := range cases {
			if c[1] == 9999 && d != types.F32 && d != types.F64 {
				continue // 9999 is even there
			}
			out, _ := fn.RunOne(scalar.FloatBits(d, c[0]), scalar.FloatBits(d, c[1]))
			if want := scalar.FloatBits(d, c[2]); !scalartest.SameBits(d, out[0], want) {
				t.Errorf("%s pow(%v, %v) = %s, want %v", d, c[0], c[1], scalar.FormatBits(d, out[0]), c[2])
			}
		}
	}
}

func TestPowInt(t *testing.T) {
	for _, d := range types.DTypes {
		if !d.IsInt() {
			continue
		}
		fn := compileBinary(Pow, d)
		for _, x := range scalartest.Edges(d) {
			want := scalar.IntBits(d, 1)
			for y := range uint64(100) {
				out, err := fn.RunOne(x, y)
				if err != nil || out[0] != want {
					t.Fatalf("%s pow(%s, %d) = %v, %v; want %s", d, scalar.FormatBits(d, x), y, out, err,
						scalar.FormatBits(d, want))
				}
				want = scalar.EvalInstr(scalar.Mul, d, d, want, x)
			}
		}
		minus := scalar.IntBits(d, -1) // the largest exponent of an unsigned type, -1 of a signed one
		_, err := fn.RunOne(3, minus)
		switch {
		case d.IsUnsigned() && err != nil:
			t.Errorf("%s: %v", d, err)
		case d.IsSigned() && (err == nil || err.Kind != scalar.CheckNegativeExponent || len(err.Details) != 1 ||
			int64(err.Details[0]) != -1):
			t.Errorf("%s pow(3, -1): %v", d, err)
		}
	}
}

func TestIntegerFunctions(t *testing.T) {
	for _, d := range types.DTypes {
		if !d.IsInt() {
			continue
		}
		for _, x := range scalartest.Edges(d) {
			v := scalartest.BigInteger(d, x)
			for _, c := range []struct {
				name string
				emit func(scalar.Emitter, scalar.Ref) scalar.Ref
				want uint64
			}{
				{"sign", Sign, scalar.IntBits(d, int64(v.Sign()))},
				{"relu", Relu, x * uint64(max(v.Sign(), 0))},
				{"is_nan", IsNaN, 0}, {"is_inf", IsInf, 0}, {"is_finite", IsFinite, 1},
				{"clamp", func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
					return Clamp(e, x, e.Int(d, 2), e.Int(d, 9))
				}, min(max(x, 2), 9)},
			} {
				if c.name == "clamp" && v.Sign() < 0 {
					c.want = 2
				}
				out, _ := scalar.Eval(recordUnary(c.emit, d), x)
				if out[0] != c.want {
					t.Errorf("%s %s(%s) = %#x, want %#x", d, c.name, v, out[0], c.want)
				}
			}
		}
	}
}

func TestClassify(t *testing.T) {
	for _, d := range []types.DType{types.F16, types.BF16, types.F32, types.F64} {
		for _, b := range scalartest.Edges(d) {
			v := scalartest.PlainValue(d, b)
			for _, c := range []struct {
				name string
				emit func(scalar.Emitter, scalar.Ref) scalar.Ref
				want bool
			}{
				{"is_nan", IsNaN, v != v}, {"is_inf", IsInf, math.IsInf(v, 0)}, {"is_finite", IsFinite, v-v == 0},
			} {
				out, _ := scalar.Eval(recordUnary(c.emit, d), b)
				if out[0] != scalartest.Bit(c.want) {
					t.Errorf("%s %s(%v) = %d", d, c.name, v, out[0])
				}
			}
		}
		clamp := scalar.Compile(scalartest.Record(func(e scalar.Emitter, p []scalar.Ref) scalar.Ref {
			return Clamp(e, p[0], p[1], p[2])
		}, d, d, d))
		for _, c := range [][4]float64{{5, 0, 1, 1}, {-5, 0, 1, 0}, {0.5, 0, 1, 0.5}, {nan, 0, 1, nan},
			{0, nan, 1, nan}, {0, 0, nan, nan}, {3, 2, 1, 1}, {inf, -1, 1, 1}} {
			out, _ := clamp.RunOne(scalar.FloatBits(d, c[0]), scalar.FloatBits(d, c[1]), scalar.FloatBits(d, c[2]))
			if !scalartest.SameBits(d, out[0], scalar.FloatBits(d, c[3])) {
				t.Errorf("%s clamp(%v, %v, %v) = %s, want %v", d, c[0], c[1], c[2], scalar.FormatBits(d, out[0]), c[3])
			}
		}
	}
}

// TestHalfFunctions: on f16 and bf16 every function is that of f32 rounded once more.
func TestHalfFunctions(t *testing.T) {
	for _, f := range unaryFuncs {
		wide := compileUnary(f, types.F32)
		for _, d := range []types.DType{types.F16, types.BF16} {
			in, out := make([]uint64, 1<<16), make([]uint64, 1<<16)
			in32, out32 := make([]uint64, 1<<16), make([]uint64, 1<<16)
			for i := range in {
				in[i] = uint64(i)
				in32[i] = scalar.EvalInstr(scalar.Cast, types.F32, d, uint64(i))
			}
			compileUnary(f, d).Run([][]uint64{in}, [][]uint64{out}, len(in))
			wide.Run([][]uint64{in32}, [][]uint64{out32}, len(in))
			for i := range in {
				want := scalar.EvalInstr(scalar.Cast, d, types.F32, out32[i])
				if !scalartest.SameBits(d, out[i], want) {
					t.Fatalf("%s %s(%s) = %s, want %s", d, f.name, scalar.FormatBits(d, in[i]),
						scalar.FormatBits(d, out[i]), scalar.FormatBits(d, want))
				}
			}
		}
	}
}

func TestFuncRoundTrip(t *testing.T) {
	for _, f := range unaryFuncs {
		for _, d := range []types.DType{types.F16, types.F32, types.F64} {
			fn := recordUnary(f.emit, d)
			text := fn.String()
			back, err := scalar.ParseFunc(text)
			if err != nil {
				t.Fatalf("%s %s: %v", f.name, d, err)
			}
			if again := back.String(); again != text {
				t.Errorf("%s %s changes in a round trip:\n%s\n%s", f.name, d, text, again)
			}
		}
	}
}
