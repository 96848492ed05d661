package scalar_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
)

// TestInstructions compares every instruction on every type with its definition, on all combinations of edges,
// in columns that do not end with a block.
func TestInstructions(t *testing.T) {
	for op := scalar.Add; op < scalar.Select; op++ {
		for _, d := range types.DTypes {
			if !scalar.Accepts(op, d) {
				continue
			}
			vals := scalartest.Edges(d)
			third := []uint64{0}
			if op.Info().Arity == 3 {
				third = vals
			}
			var cols [3][]uint64
			for _, x := range vals {
				for _, y := range vals {
					for _, z := range third {
						cols[0], cols[1], cols[2] = append(cols[0], x), append(cols[1], y), append(cols[2], z)
					}
				}
			}
			result := d
			switch op {
			case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le:
				result = types.Bool
			}
			fn := scalartest.Record(func(e scalar.Emitter, p []scalar.Ref) scalar.Ref {
				return scalar.Emit(e, op, result, p[:op.Info().Arity]...)
			}, d, d, d)
			n := len(cols[0])
			out := [][]uint64{make([]uint64, n)}
			if err := scalar.Compile(fn).Run(cols[:], out, n); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				x, y, z := cols[0][i], cols[1][i], cols[2][i]
				var want uint64
				if d.IsFloat() {
					want = plainFloat(op, d, x, y, z)
				} else {
					want = plainInt(op, d, x, y, z)
				}
				if got := out[0][i]; !scalartest.SameBits(result, got, want) {
					t.Errorf("%s %s(%s, %s, %s) = %s, want %s", op, d, scalar.FormatBits(d, x), scalar.FormatBits(d, y),
						scalar.FormatBits(d, z), scalar.FormatBits(result, got), scalar.FormatBits(result, want))
					break
				}
			}
			args := []uint64{cols[0][n-1], cols[1][n-1], cols[2][n-1]}[:op.Info().Arity]
			if got := scalar.EvalInstr(op, result, d, args...); !scalartest.SameBits(result, got, out[0][n-1]) {
				t.Errorf("EvalInstr(%s %s) = %#x, and Run gives %#x", op, d, got, out[0][n-1])
			}
		}
	}
}

func TestCast(t *testing.T) {
	for _, src := range types.Operands {
		vals := scalartest.Edges(src)
		if src.Bits() == 64 && src.IsInt() { // ties of every float type, with and without a bit below
			for _, p := range []int{8, 11, 24, 53} {
				for shift := range 64 - p - 1 {
					tie := (uint64(1)<<p | 1) << shift
					vals = append(vals, tie, tie+1, tie-1, -tie, -tie-1, -tie+1)
				}
			}
		}
		if src == types.F64 {
			for _, x := range []float64{1 + 0x1p-11, 1 + 0x1p-8, 0x1p-25, 0x1.8p-24, 65519.99, 0x1p-150, 0x1.ffp127,
				0x1.ffffffp127, 0x1p-134} {
				vals = append(vals, math.Float64bits(x), math.Float64bits(x)+1, math.Float64bits(x)-1,
					math.Float64bits(-x)+1)
			}
		}
		for _, d := range types.Operands {
			if d == src {
				continue
			}
			for _, b := range vals {
				want := plainCast(d, src, b)
				if src.IsFloat() && d.IsFloat() && math.IsInf(scalartest.PlainValue(src, b), 0) {
					want = scalar.FloatBits(d, scalartest.PlainValue(src, b))
				}
				if got := scalar.EvalInstr(scalar.Cast, d, src, b); !scalartest.SameBits(d, got, want) {
					t.Errorf("cast %s %s to %s = %s, want %s", src, scalar.FormatBits(src, b), d,
						scalar.FormatBits(d, got), scalar.FormatBits(d, want))
				}
			}
		}
	}
}

func TestSelectAndBitcast(t *testing.T) {
	fn := scalartest.Record(func(e scalar.Emitter, p []scalar.Ref) scalar.Ref {
		return e.Select(p[0], e.Bitcast(types.F32, p[1]), p[2])
	}, types.Bool, types.U32, types.F32)
	for _, c := range []struct{ cond, x, y, want uint64 }{{1, 0x7fc00001, 5, 0x7fc00001}, {0, 1, 5, 5}} {
		out, err := scalar.Eval(fn, c.cond, c.x, c.y)
		if err != nil || out[0] != c.want {
			t.Errorf("select(%d) = %#x, %v; want %#x", c.cond, out, err, c.want)
		}
	}
}

// TestCheck: the first check in instruction order wins, with its own first element, across blocks.
func TestCheck(t *testing.T) {
	r, p := scalar.NewRecorder(types.I32, types.I64)
	e := scalar.Emitter{Sink: r}
	zero := e.Int(types.I32, 0)
	e.Check(scalar.CheckDivideByZero, e.Ne(p[0], zero))
	bound := e.Int(types.I64, 10)
	e.Check(scalar.CheckIndex, e.Lt(p[1], bound), p[1], bound)
	r.Func.Results = []scalar.Ref{e.Div(e.Int(types.I32, 100), p[0])}
	fn := scalar.Compile(&r.Func)
	n := 3*scalar.BlockLen + 7
	x, y, out := make([]uint64, n), make([]uint64, n), make([]uint64, n)
	for i := range x {
		x[i] = 5
	}
	run := func() *scalar.CheckError { return fn.Run([][]uint64{x, y}, [][]uint64{out}, n) }
	if err := run(); err != nil || out[n-1] != 20 {
		t.Fatalf("got %v, %d", err, out[n-1])
	}
	y[3], y[600] = 12, 13
	err := run()
	if err == nil || err.Kind != scalar.CheckIndex || err.Element != 3 || !slices.Equal(err.Details, []uint64{12, 10}) {
		t.Fatalf("got %+v", err)
	}
	if want := "index at element 3: 12, 10"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	x[700], x[701] = 0, 0
	if err := run(); err == nil || err.Kind != scalar.CheckDivideByZero || err.Element != 700 {
		t.Errorf("got %+v", err)
	}
	for i := range x {
		x[i], y[i] = 5, 0
	}
	if err := run(); err != nil {
		t.Errorf("after failures: %v", err)
	}
}

// TestColumns runs a function whose temporaries share columns, with an unused value, a repeated operand and
// a parameter as a result, against one element at a time.
func TestColumns(t *testing.T) {
	r, p := scalar.NewRecorder(types.U32, types.U32)
	e := scalar.Emitter{Sink: r}
	a := e.Mul(p[0], p[0])
	b := e.Add(a, p[1])
	e.Xor(a, b)
	c := e.Sub(e.Add(b, b), a)
	d := e.Xor(e.Mul(c, b), e.Shr(c, e.Int(types.U32, 7)))
	r.Func.Results = []scalar.Ref{d, p[1], a, d}
	fn := scalar.Compile(&r.Func)
	n := 2*scalar.BlockLen + 3
	in := [][]uint64{make([]uint64, n), make([]uint64, n)}
	var out [][]uint64
	for range r.Func.Results {
		out = append(out, make([]uint64, n))
	}
	for i := range n {
		in[0][i], in[1][i] = uint64(uint32(i*2654435761)), uint64(i)
	}
	if err := fn.Run(in, out, n); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		x, y := uint32(in[0][i]), uint32(in[1][i])
		a := x * x
		b := a + y
		c := b + b - a
		d := c*b ^ c>>7
		for k, want := range []uint32{d, y, a, d} {
			if out[k][i] != uint64(want) {
				t.Fatalf("result %d of element %d is %d, want %d", k, i, out[k][i], want)
			}
		}
	}
}

// TestHalf goes through all values of f16 and bf16, and through the ties between neighbours.
func TestHalf(t *testing.T) {
	for _, c := range []struct {
		dtype types.DType
		value func(uint16) float32
		round func(float32) uint16
	}{{types.F16, scalar.F16Value, scalar.F16Bits}, {types.BF16, scalar.BF16Value, scalar.BF16Bits}} {
		for b := range uint64(1 << 16) {
			v := scalartest.PlainValue(c.dtype, b)
			got := c.value(uint16(b))
			if v != v {
				if got == got || !scalartest.IsNaNBits(c.dtype, uint64(c.round(got))) {
					t.Fatalf("%s %#x: NaN is lost", c.dtype, b)
				}
				continue
			}
			if float64(got) != v || math.Signbit(float64(got)) != math.Signbit(v) {
				t.Fatalf("%s %#x is %v, want %v", c.dtype, b, got, v)
			}
			if back := c.round(got); uint64(back) != b {
				t.Fatalf("%s %v rounds to %#x, want %#x", c.dtype, v, back, b)
			}
			next := b + 1 // further from zero
			if math.IsInf(v, 0) {
				continue
			}
			after := scalartest.PlainValue(c.dtype, next)
			if math.IsInf(after, 0) {
				after = v + (v - scalartest.PlainValue(c.dtype, b-1))
			}
			tie := v/2 + after/2
			even := b + b&1
			away := math.Copysign(math.Inf(1), tie)
			for _, x := range []struct {
				x    float64
				want uint64
			}{{tie, even}, {math.Nextafter(tie, 0), b}, {math.Nextafter(tie, away), next}} {
				if got := scalar.FloatBits(c.dtype, x.x); got != x.want {
					t.Fatalf("%s: %v rounds to %#x, want %#x", c.dtype, x.x, got, x.want)
				}
				f := float32(x.x)
				want := x.want
				if float64(f) == tie {
					want = even
				}
				if got := uint64(c.round(f)); got != want {
					t.Fatalf("%s: %v rounds to %#x, want %#x", c.dtype, f, got, want)
				}
			}
		}
	}
}

func TestFma32RoundsOnce(t *testing.T) {
	// 1 + 2^-23 times 1 + 2^-24 ... : sums whose f64 rounding is a tie of f32.
	cases := [][3]float32{
		{1 + 0x1p-23, 1 - 0x1p-23, 0x1p-24}, {0x1p-60, 0x1p-60, 1 + 0x1p-23}, {0x1.000002p0, 0x1.000002p0, 0x1p-24},
		{0x1p-100, 0x1p-50, -0x1p-126}, {0x1.fffffep-75, 0x1.fffffep-75, 0x1p-149}, {0x1p-75, -0x1p-76, 0x1.8p-148},
	}
	for i := uint32(1); i < 1<<16; i++ { // x*y + z a tie plus or minus something tiny
		z := math.Float32frombits(0x3f800000 | i<<7)
		cases = append(cases, [3]float32{0x1p-12 * (1 + 0x1p-20), 0x1p-12, z},
			[3]float32{0x1p-12 * (1 - 0x1p-20), -0x1p-12, z}, [3]float32{z, 0x1p-24 + 0x1p-45, z})
	}
	for _, c := range cases {
		exact := new(big.Float).SetPrec(1000).SetFloat64(float64(c[0]))
		exact.Mul(exact, big.NewFloat(float64(c[1]))).Add(exact, big.NewFloat(float64(c[2])))
		want, _ := exact.Float32()
		got := scalar.EvalInstr(scalar.Fma, types.F32, types.F32, floatBits(c[0]), floatBits(c[1]), floatBits(c[2]))
		if got != floatBits(want) {
			t.Fatalf("fma(%v, %v, %v) = %v, want %v", c[0], c[1], c[2], math.Float32frombits(uint32(got)), want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	r, p := scalar.NewRecorder(types.F32, types.F32)
	e := scalar.Emitter{Sink: r}
	x := p[0]
	for range 8 {
		x = e.Add(e.Mul(x, p[1]), p[0])
	}
	for range 8 {
		x = e.Fma(x, p[1], p[0])
	}
	r.Func.Results = []scalar.Ref{x}
	fn := scalar.Compile(&r.Func)
	n := 1 << 12
	in := [][]uint64{make([]uint64, n), make([]uint64, n)}
	out := [][]uint64{make([]uint64, n)}
	for i := range n {
		in[0][i] = scalar.FloatBits(types.F32, float64(i)*1.37)
		in[1][i] = scalar.FloatBits(types.F32, 0.3)
	}
	for b.Loop() {
		fn.Run(in, out, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/24, "ns/instr/elem")
}

func floatBits(x float32) uint64 { return uint64(math.Float32bits(x)) }
