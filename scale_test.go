package heal

import (
	"context"
	"math"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// TestPowersOfTwo compares the functions that end in a product with a power of two, which some processors have an
// instruction for, with the interpreter: dense where results are subnormal, round to 0 or overflow.
func TestPowersOfTwo(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		dtype  types.DType
		lo, hi float64
	}{{types.F32, -160, 140}, {types.F64, -1120, 1050}} {
		var bits []uint64
		add := func(x float64) {
			if c.dtype == types.F32 {
				bits = append(bits, uint64(math.Float32bits(float32(x))))
			} else {
				bits = append(bits, math.Float64bits(x))
			}
		}
		for _, x := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, 1e-45,
			math.MaxFloat64} {
			add(x)
			add(-x)
		}
		const n = 20000
		for i := range n {
			add(c.lo + (c.hi-c.lo)*float64(i)/n)
		}
		for i := range n { // around the least results
			add(c.lo*0.62 + float64(i)/n*c.lo*0.1)
		}
		x, err := tensor.FromBits(c.dtype, []int64{int64(len(bits))}, bits)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		for _, name := range []string{"exp", "exp2", "sinh", "silu", "erf"} {
			src := "fn f[N](x: " + c.dtype.String() + "[N]) -> " + c.dtype.String() + "[N] = " + name + "(x)"
			want, err := function(t, src, "f", Options{Backend: Interp}).Call(ctx, x)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			got, err := function(t, src, "f", Options{}).Call(ctx, x)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			g, w := got.Bits(), want.Bits()
			isNaN := func(b uint64) bool {
				if c.dtype == types.F32 {
					return b&0x7fffffff > 0x7f800000
				}
				return b&^(1<<63) > 0x7ff<<52
			}
			for i := range g {
				if g[i] != w[i] && !(isNaN(g[i]) && isNaN(w[i])) {
					t.Fatalf("%s of %s %#x is %#x, and %#x by the interpreter", name, c.dtype, bits[i], g[i], w[i])
				}
			}
		}
	}
}
