package elementary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"healc/lang/types"
)

// The f32 functions are judged on 2^32 inputs by references in f64 (unaryFuncs), since 200 bits take a
// thousand times as long. Here the judge is judged: with math/big, on inputs of all kinds, and, by
// TestExhaustive, on the worst inputs of every part of [0, 2^32).

// exact returns the value of a function in math/big, good to 200 bits, or nil where the function has left
// the range in which it is neither 0, infinite, NaN nor its limit.
func exact(f unaryFunc, x float64) *big.Float {
	for _, c := range f64Cases {
		if c.name == f.name {
			if x != x || x < c.lo || x > c.hi || x == 0 || math.IsInf(x, 0) {
				return nil
			}
			return c.ref(bigNew(x))
		}
	}
	panic("no reference for " + f.name)
}

// ulpBig32 is ulp32 with an exact value.
func ulpBig32(got float64, want *big.Float) float64 { return ulpBig(got, want, 24, -149, 128) }

// rejudge returns the largest error of f on the given inputs by math/big, and how far the reference in f64
// was off, both in units of the last place of f32.
func rejudge(f unaryFunc, inputs []farOff) (worst, judge float64) {
	p := compileUnary(f, types.F32)
	for _, in := range inputs {
		x := float64(math.Float32frombits(uint32(in.bits)))
		want := exact(f, x)
		if want == nil {
			worst = max(worst, in.ulp)
			continue
		}
		out, _ := p.RunOne(in.bits)
		worst = max(worst, ulpBig32(float64(math.Float32frombits(uint32(out[0]))), want))
		judge = max(judge, ulpBig32(f.ref(x), want))
	}
	return worst, judge
}

// TestJudge: the references in f64 are within 2^-20 ulp of f32, those of sin, cos and tan next to multiples of
// pi/2 too, so that a result they find within 1 ulp is
// no more than a millionth beyond it.
func TestJudge(t *testing.T) {
	n, part := sampleSize(100, 1000, 10000), sampleSize(97, 13, 1)
	near := nearQuarters32()
	for _, f := range unaryFuncs {
		rng := rand.New(rand.NewPCG(11, 13))
		var inputs []farOff
		special := specials32()
		if f.name == "sin" || f.name == "cos" || f.name == "tan" {
			special = append(special, near...)
		}
		for i := 0; i < len(special); i += part {
			inputs = append(inputs, farOff{bits: special[i]})
		}
		for range n {
			inputs = append(inputs, farOff{bits: uint64(rng.Uint32())},
				farOff{bits: uint64(math.Float32bits(float32(rng.NormFloat64() * 3)))})
		}
		_, judge := rejudge(f, inputs)
		t.Logf("%-8s %.3g ulp (2^%.1f) on %d inputs", f.name, judge, math.Log2(judge), len(inputs))
		if judge > 0x1p-20 {
			t.Errorf("the reference of %s is %.3g ulp of f32 off", f.name, judge)
		}
	}
}
