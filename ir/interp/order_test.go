package interp

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// naiveReduce is section 9 once more, written element by element and from its words alone. combine joins
// two elements.
func naiveReduce(x []uint64, lastAxis bool, combine func(a, b uint64) uint64) uint64 {
	chunk, lanes := 4096, 128
	if !lastAxis {
		chunk, lanes = 256, 1
	}
	for {
		var results []uint64
		for begin := 0; begin < len(x); begin += chunk {
			part := x[begin:min(begin+chunk, len(x))]
			lane, present := make([]uint64, lanes), make([]bool, lanes)
			for i, v := range part {
				j := i % lanes
				if !present[j] {
					lane[j], present[j] = v, true
				} else {
					lane[j] = combine(lane[j], v)
				}
			}
			for w := lanes / 2; w >= 1; w /= 2 {
				for j := 0; j < w; j++ {
					if present[j+w] {
						lane[j] = combine(lane[j], lane[j+w])
					}
				}
			}
			results = append(results, lane[0])
		}
		if len(results) == 1 {
			return results[0]
		}
		x, chunk, lanes = results, 4096, 128
	}
}

func f32combine(op scalar.Op) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
		if op == scalar.Mul {
			return uint64(math.Float32bits(x * y))
		}
		return uint64(math.Float32bits(x + y))
	}
}

func orderSizes() []int64 {
	var sizes []int64
	for n := int64(0); n <= 300; n++ {
		sizes = append(sizes, n)
	}
	return append(sizes, 511, 512, 513, 4095, 4096, 4097, 2*4096, 3*4096+5, 256*256+1)
}

// reduceModule sums or multiplies f32[N] as its last axis (f), and f32[N, 1] as its first (g).
func reduceModule(t testing.TB, op string) *ir.Module {
	return parse(t, fmt.Sprintf(`
func @f[N](%%x: f32[N]) -> f32 {
  %%0: f32 = %s %%x {axes = [0]}
  return %%0
}
func @g[N](%%x: f32[N]) -> f32[1] {
  %%0: f32[N, 1] = reshape %%x {shape = [N, 1]}
  %%1: f32[1] = %s %%0 {axes = [0]}
  return %%1
}`, op, op))
}

func TestOrderOfSumsAndProducts(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, c := range []struct {
		name     string
		op       scalar.Op
		identity uint64
	}{{"reduce_sum", scalar.Add, 0}, {"reduce_prod", scalar.Mul, 0x3f800000}} {
		m := reduceModule(t, c.name)
		for _, n := range orderSizes() {
			x := ir.NewArray(types.F32, n)
			for i := range x.Bits {
				x.Bits[i] = scalar.FloatBits(types.F32, 1+rng.NormFloat64()/8)
			}
			for _, entry := range []string{"f", "g"} {
				checkOrder(t, m, entry, x, f32combine(c.op), c.identity)
			}
		}
	}
}

func checkOrder(t *testing.T, m *ir.Module, entry string, x *ir.Array, combine func(a, b uint64) uint64,
	identity uint64) {
	t.Helper()
	got, err := Run(m, entry, []*ir.Array{x}, &MemSystem{})
	if err != nil {
		t.Fatal(err)
	}
	want := identity
	if x.Len() > 0 {
		want = naiveReduce(x.Bits, entry == "f", combine)
	}
	if got[0].Bits[0] != want {
		t.Fatalf("%s of %d elements is %x, want %x", entry, x.Len(), got[0].Bits[0], want)
	}
}

func TestOrderOfALargeSum(t *testing.T) {
	if testing.Short() {
		t.Skip("a large sum takes a second")
	}
	x := ir.NewArray(types.F32, 4096*4096+1) // three rounds
	state := uint32(1)
	for i := range x.Bits {
		state = state*1664525 + 1013904223
		x.Bits[i] = uint64(0x3f800000 | state>>9) // in [1, 2)
	}
	checkOrder(t, reduceModule(t, "reduce_sum"), "f", x, f32combine(scalar.Add), 0)
}

// The sum starts with its first element, so it keeps -0; the sum of nothing is +0.
func TestSumOfNegativeZeros(t *testing.T) {
	m := reduceModule(t, "reduce_sum")
	for _, n := range []int64{1, 2, 129, 300} {
		x := ir.NewArray(types.F32, n)
		for i := range x.Bits {
			x.Bits[i] = 0x80000000
		}
		got, err := Run(m, "f", []*ir.Array{x}, &MemSystem{})
		if err != nil || got[0].Bits[0] != 0x80000000 {
			t.Errorf("the sum of %d negative zeros is %x, %v", n, got[0].Bits[0], err)
		}
	}
}

// Several axes: the elements are numbered in row-major order of the reduced axes, and the order depends on
// whether the last axis of the operand is among them.
func TestOrderOverSeveralAxes(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	shape := []int64{7, 5, 61}
	x := ir.NewArray(types.F32, shape...)
	for i := range x.Bits {
		x.Bits[i] = scalar.FloatBits(types.F32, rng.NormFloat64())
	}
	at := func(i, j, k int64) uint64 { return x.Bits[(i*5+j)*61+k] }
	add := f32combine(scalar.Add)
	var want02, want01, all []uint64
	for j := range shape[1] {
		var e []uint64
		for i := range shape[0] {
			for k := range shape[2] {
				e = append(e, at(i, j, k))
			}
		}
		want02 = append(want02, naiveReduce(e, true, add))
	}
	for k := range shape[2] {
		var e []uint64
		for i := range shape[0] {
			for j := range shape[1] {
				e = append(e, at(i, j, k))
			}
		}
		want01 = append(want01, naiveReduce(e, false, add))
	}
	all = append(all, naiveReduce(x.Bits, true, add))
	m := parse(t, `
func @f(%x: f32[7, 5, 61]) -> (f32[5], f32[61], f32) {
  %0: f32[5] = reduce_sum %x {axes = [0, 2]}
  %1: f32[61] = reduce_sum %x {axes = [0, 1]}
  %2: f32 = reduce_sum %x {axes = [0, 1, 2]}
  return %0, %1, %2
}`)
	got, err := Run(m, "f", []*ir.Array{x}, &MemSystem{})
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range [][]uint64{want02, want01, all} {
		for i := range want {
			if got[r].Bits[i] != want[i] {
				t.Fatalf("result %d, element %d is %x, want %x", r, i, got[r].Bits[i], want[i])
			}
		}
	}
}

// A matrix product is one fma chain an element: the rounding of a*b alone would show.
func TestMatmulIsAnFmaChain(t *testing.T) {
	m := parse(t, `
func @f[M, K, N](%a: f64[M, K], %b: f64[K, N]) -> f64[M, N] {
  %0: f64[M, N] = matmul %a, %b
  return %0
}`)
	rng := rand.New(rand.NewSource(3))
	a, b := ir.NewArray(types.F64, 3, 17), ir.NewArray(types.F64, 17, 4)
	for _, x := range []*ir.Array{a, b} {
		for i := range x.Bits {
			x.Bits[i] = scalar.FloatBits(types.F64, rng.NormFloat64())
		}
	}
	got, err := Run(m, "f", []*ir.Array{a, b}, &MemSystem{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		for j := range 4 {
			sum := uint64(0)
			for k := range 17 {
				sum = scalar.EvalInstr(scalar.Fma, types.F64, types.F64, a.Bits[i*17+k], b.Bits[k*4+j], sum)
			}
			if got[0].Bits[i*4+j] != sum {
				t.Fatalf("element %d, %d is %x, want %x", i, j, got[0].Bits[i*4+j], sum)
			}
		}
	}
}
