package elementary

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
)

// unaryFunc is a function of one f32 with its reference in f64.
//
// The references are Go's math package, or expressions in it where it is not good to a few units of the last
// place of a float64 everywhere. TestJudge measures how far they are off.
type unaryFunc struct {
	name string
	emit func(scalar.Emitter, scalar.Ref) scalar.Ref
	ref  func(float64) float64
}

var unaryFuncs = []unaryFunc{
	{"exp", Exp, math.Exp},
	{"exp2", Exp2, math.Exp2},
	{"expm1", Expm1, math.Expm1},
	{"log", Log, math.Log},
	{"log2", Log2, refLog2},
	{"log10", Log10, math.Log10},
	{"log1p", Log1p, math.Log1p},
	{"sin", Sin, refSin},
	{"cos", Cos, refCos},
	{"tanh", Tanh, math.Tanh},
	{"sigmoid", Sigmoid, refSigmoid},
	{"sqrt", scalar.Emitter.Sqrt, math.Sqrt},
	{"rsqrt", Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
	{"cbrt", Cbrt, math.Cbrt},
	{"tan", Tan, refTan},
	{"asin", Asin, refAsin},
	{"acos", Acos, refAcos},
	{"atan", Atan, math.Atan},
	{"sinh", Sinh, math.Sinh},
	{"cosh", Cosh, math.Cosh},
	{"erf", Erf, math.Erf},
	{"silu", Silu, refSilu},
	{"gelu", Gelu, refGelu},
	{"softplus", Softplus, refSoftplus},
}

// refLog2 is not Go's, which for arguments just above 1 adds the exponent 1 to the logarithm of a number near 1/2.
func refLog2(x float64) float64 { return math.Log(x) * (1 / math.Ln2) }

// refAsin and refAcos avoid the cancellation near 1 that Go's have.
func refAsin(x float64) float64 {
	return math.Atan2(x, math.Sqrt((1-x)*(1+x)))
}

func refAcos(x float64) float64 {
	return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x))
}

func refSilu(x float64) float64 {
	if x < -1000 {
		return math.Copysign(0, -1)
	}
	return x * refSigmoid(x)
}

// refGelu is good to 2^-45 relative: the rounded argument of erfc, whose relative error grows with its square.
func refGelu(x float64) float64 {
	if x < -1000 {
		return math.Copysign(0, -1)
	}
	return x * 0.5 * math.Erfc(-x/math.Sqrt2)
}

func refSoftplus(x float64) float64 {
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

func refSigmoid(x float64) float64 {
	if x < 0 {
		w := math.Exp(x)
		return w / (1 + w)
	}
	return 1 / (1 + math.Exp(-x))
}

// recordUnary is the Func of an expansion with one operand.
func recordUnary(f func(scalar.Emitter, scalar.Ref) scalar.Ref, t types.DType) *scalar.Func {
	return scalartest.Record(func(e scalar.Emitter, p []scalar.Ref) scalar.Ref { return f(e, p[0]) }, t)
}

// compileBinary is the program of an expansion with two operands.
func compileBinary(f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref, t types.DType) *scalar.Program {
	return scalar.Compile(scalartest.Record(func(e scalar.Emitter, p []scalar.Ref) scalar.Ref {
		return f(e, p[0], p[1])
	}, t, t))
}

func compileUnary(f unaryFunc, t types.DType) *scalar.Program {
	return scalar.Compile(recordUnary(f.emit, t))
}

// ulp32 returns how far got is from want, in units of the last place of an f32 at want. Where one is NaN
// and the other is not, it is infinite. An infinite result counts as 2^128, the float that would follow.
func ulp32(got float32, want float64) float64 {
	return ulpDistance(float64(got), want, 24, -149, 0x1p128)
}

func ulpDistance(got, want float64, precision, least int, beyond float64) float64 {
	if got == want || got != got && want != want {
		return 0
	}
	if got != got || want != want {
		return math.Inf(1)
	}
	got = min(max(got, -beyond), beyond)
	want = min(max(want, -beyond), beyond)
	if got == want {
		return 0
	}
	_, exp := math.Frexp(want)
	exp = min(exp, 128)
	return math.Abs(got-want) / math.Ldexp(1, max(exp-precision, least))
}

// stat sums up the errors over some inputs. The nearest float is at most half an ulp off, so the distance
// is only taken for the others.
type stat struct {
	inputs, wrong uint64 // wrong: not the float nearest to the reference
	max           float64
	worst         uint64
	far           []farOff // the worst, up to 2*farKept and in no order
	least         float64  // nothing that is this near belongs to far
}

// farOff is an input whose result is far from the exact value, in units of the last place.
type farOff struct {
	bits uint64
	ulp  float64
}

// farKept is how many of its worst inputs a stat keeps at least, for a second judge.
const farKept = 64

func (s *stat) keep(bits uint64, d float64) {
	if d <= s.least {
		return
	}
	if s.far = append(s.far, farOff{bits, d}); len(s.far) == 2*farKept {
		slices.SortFunc(s.far, func(a, b farOff) int { return cmp.Compare(b.ulp, a.ulp) })
		s.far = s.far[:farKept]
		s.least = s.far[farKept-1].ulp
	}
}

func (s *stat) add(bits uint64, got float32, want float64) {
	s.inputs++
	nearest := float32(want)
	if got == nearest || got != got && nearest != nearest {
		return
	}
	s.wrong++
	d := ulp32(got, want)
	if d > s.max {
		s.max, s.worst = d, bits
	}
	s.keep(bits, d)
}

func (s *stat) merge(o stat) {
	s.inputs += o.inputs
	s.wrong += o.wrong
	if o.max > s.max {
		s.max, s.worst = o.max, o.worst
	}
	s.far = append(s.far, o.far...)
}

// blockSize is how many inputs measure takes at once, and checked says which blocks of machine code are compared with
// the evaluator: the first and every 64th.
const (
	blockSize = 1 << 14
	checked   = 64
)

// measure evaluates f on the f32 inputs of next, which fills a block and returns how many it put there. With code it is
// that which computes, at a fifth of the time, and the evaluator on every 64th block.
func measure(f unaryFunc, next func(block []uint64) int, code func(in, out []float32)) stat {
	p := compileUnary(f, types.F32)
	in, out := make([]uint64, blockSize), make([]uint64, blockSize)
	x, y := make([]float32, blockSize), make([]float32, blockSize)
	var s stat
	for block := 0; ; block++ {
		m := next(in)
		if m == 0 {
			return s
		}
		for i, b := range in[:m] {
			x[i] = math.Float32frombits(uint32(b))
		}
		if code != nil {
			code(x, y)
		}
		if code == nil || block%checked == 0 {
			if err := p.Run([][]uint64{in}, [][]uint64{out}, m); err != nil {
				panic(err)
			}
			for i, b := range out[:m] {
				v := math.Float32frombits(uint32(b))
				if code != nil && uint32(b) != math.Float32bits(y[i]) && (v == v || y[i] == y[i]) {
					panic(fmt.Sprintf("%s(%v) is %v in machine code, and %v", f.name, x[i], y[i], v))
				}
				y[i] = v
			}
		}
		for i, b := range in[:m] {
			s.add(b, y[i], f.ref(float64(x[i])))
		}
	}
}

// every returns the source of all f32 bits first, first+step, ... below limit.
func every(first, limit, step uint64) func([]uint64) int {
	return func(block []uint64) int {
		i := 0
		for ; i < len(block) && first < limit; i++ {
			block[i] = first
			first += step
		}
		return i
	}
}

// listed returns the source of the given values.
func listed(bits []uint64) func([]uint64) int {
	return func(block []uint64) int {
		n := copy(block, bits)
		bits = bits[n:]
		return n
	}
}

// measureParallel runs measure on the 64 parts of [0, 2^32), several at once.
func measureParallel(f unaryFunc, step uint64, workers int, code func(in, out []float32)) stat {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var total stat
	const parts = 64
	queue := make(chan uint64, parts)
	for i := range uint64(parts) {
		queue <- i
	}
	close(queue)
	for range workers {
		wg.Go(func() {
			for i := range queue {
				s := measure(f, every(i<<26, (i+1)<<26, step), code)
				mu.Lock()
				total.merge(s)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return total
}

func tableHead() string {
	return fmt.Sprintf("| %-8s | %-8s | %-15s | %-24s | %s |\n|%s", "function", "max ulp", "worst input",
		"not correctly rounded", "inputs", strings.Repeat("---|", 5))
}

func (s stat) row(name string, worst string) string {
	if s.wrong == 0 {
		s.max, worst = 0.5, ""
	}
	return fmt.Sprintf("| %-8s | %-8.4f | %-15s | %-24s | %d |", name, s.max, worst,
		fmt.Sprintf("%d (%.4f%%)", s.wrong, 100*float64(s.wrong)/float64(s.inputs)), s.inputs)
}
