package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// TestMirror: a matrix times its own transpose, of which one half is computed, has the bits of the whole product: rows
// and columns of any number, infinities and zeros of both signs, with what follows, in the steps of a loop, and of each
// matrix of a batch. Where the two factors of a step are NaNs of different bits, which of them the product is depends
// on their order, so an element may be another NaN than the one across the diagonal: no program sees which (bitcast).
// A third of the programs runs on a day.
func TestMirror(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	cpus, turn, today := devices.Targets(t), 0, sample.Today(t)
	for i, c := range []struct {
		elem, body string
		shape      []int64 // of a
		half       bool
	}{
		{"f32", "a @ transpose(a)", []int64{96, 128}, true},
		{"f64", "a @ transpose(a)", []int64{131, 129}, true},
		{"f32", "transpose(a) @ a", []int64{140, 97}, true},
		{"f64", "transpose(a) @ a", []int64{128, 200}, true},
		{"f32", "{ let b = exp(a) .+ 1.0; b @ transpose(b) .* 0.5 }", []int64{99, 150}, true},
		{"f64", "iterate(3, a @ transpose(a), |m| (m @ transpose(m)) .* 0.01)", []int64{130, 130}, true},
		{"u32", "bitcast[u32](a @ transpose(a))", []int64{97, 130}, true},
		{"u64", "bitcast[u64](transpose(a) @ a)", []int64{130, 97}, true},
		{"i32", "a @ transpose(a)", []int64{101, 128}, true},
		{"u32", "transpose(a) @ a", []int64{128, 96}, true},
		{"i64", "transpose(a) @ a", []int64{128, 99}, true},
		{"u64", "a @ transpose(a)", []int64{99, 130}, true},
		{"f32", "a @ permute_axes(a, [0, 2, 1])", []int64{3, 97, 128}, true},
		{"i64", "permute_axes(a, [0, 1, 3, 2]) @ a", []int64{2, 1, 128, 98}, true},
		{"f64", "permute_axes(a, [1, 0, 2]) @ permute_axes(a, [0, 2, 1])", []int64{2, 2, 128}, false},
		{"f64", "a @ transpose(a)", []int64{95, 128}, false},
		{"f64", "a @ transpose(a)", []int64{96, 127}, false},
		{"i16", "a @ transpose(a)", []int64{128, 128}, false},
	} {
		shape, from := slices.Clone(c.shape), c.elem
		if strings.HasPrefix(c.body, "bitcast") {
			from = "f" + from[1:]
		}
		r := len(shape)
		last := &shape[r-1]
		*last = shape[r-2]
		if strings.HasSuffix(strings.Trim(c.body, ")"), " @ a") {
			shape[r-2] = c.shape[r-1]
			*last = shape[r-2]
		}
		src := fmt.Sprintf("fn f(a: %s) -> %s = %s", typeOf(from, c.shape), typeOf(c.elem, shape), c.body)
		for _, odd := range []bool{false, true} {
			if !sample.Has(today, i, 3) {
				break
			}
			a := randomTensor(t, rng, elemOf(t, from), c.shape)
			if odd && a.DType.IsFloat() {
				putOdd(t, rng, a)
			}
			args := []*tensor.Tensor{a}
			one := func(o engine.Options) []uint64 { return anyNaN(elemOf(t, c.elem), call(t, src, src, o, args)) }
			want := one(engine.Options{Backend: heal.Interp, Threads: 1})
			cpu, threads := cpus[turn%len(cpus)], threads[turn%len(threads)]
			turn++
			opts := engine.Options{Threads: threads, SplitAll: true, Target: codegen.Target{Kind: "cpu", CPU: cpu}}
			for _, w := range ways.Thorough(drawn(src), 4) {
				for _, o := range w.Options(t, opts) {
					differ(t, fmt.Sprintf("%s on %q, %s", src, cpu, w), one(o), want)
				}
			}
			a.Close()
		}
		if half := guards(t, src) > 0; half != c.half {
			t.Errorf("one half of %s is computed: %v", src, half)
		}
	}
}

func elemOf(t *testing.T, name string) types.DType {
	t.Helper()
	d, ok := types.ParseDType(name)
	if !ok {
		t.Fatal(name)
	}
	return d
}

// typeOf is the text of a type.
func typeOf(elem string, shape []int64) string {
	return elem + strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

// putOdd puts zeros, infinities and NaNs of many bits into a tensor of floats, some of them in whole columns of a
// matrix, so that both factors of a step are NaNs of different bits.
func putOdd(t *testing.T, rng *rand.Rand, a *tensor.Tensor) {
	anywhere := func() []int64 {
		at := make([]int64, len(a.Shape))
		for i, n := range a.Shape {
			at[i] = rng.Int64N(n)
		}
		return at
	}
	nan := func() uint64 {
		if a.DType == types.F32 {
			return 0x7fc00000 | rng.Uint64()&0x803fffff
		}
		return 0x7ff8<<48 | rng.Uint64()&0x8007ffffffffffff
	}
	for _, x := range []float64{math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0} {
		put(t, a, scalar.FloatBits(a.DType, x), anywhere())
	}
	put(t, a, nan(), anywhere())
	for range 2 {
		at := anywhere()
		axis := len(at) - 1 - rng.IntN(2)
		for i := range a.Shape[axis] {
			at[axis] = i
			if rng.IntN(2) == 0 {
				put(t, a, nan(), at)
			}
		}
	}
}

func put(t *testing.T, x *tensor.Tensor, bits uint64, at []int64) {
	t.Helper()
	if err := x.SetBits(bits, at...); err != nil {
		t.Fatal(err)
	}
}

// anyNaN makes every NaN of a type the same: which one a result is, is not specified.
func anyNaN(d types.DType, bits []uint64) []uint64 {
	for i, x := range bits {
		if d.IsFloat() && scalartest.IsNaNBits(d, x) {
			bits[i] = scalar.FloatBits(d, math.NaN())
		}
	}
	return bits
}
