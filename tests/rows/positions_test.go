package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// Positions of extremes (Note [Positions in vectors] in codegen/llvm/reduce): at every place of rows around the lengths
// at which vectors are taken together, once, again further on, and among NaNs, zeros of both signs and elements that
// none is worse than.

const positions = `
pub fn rows_N(x: T[M, N]) -> (i32[M], i32[M]) = (argmax(x, axis = 1), argmin(x, axis = 1))
pub fn both_N(x: T[M, N]) -> (i32[M], T[M]) = (argmax(x, axis = 1), max/[axis=1](x))
pub fn least_N(x: T[M, N]) -> (T[M], i32[M]) = (min/[axis=1](x), argmin(x, axis = 1))
pub fn down_N(x: T[N, M]) -> i32[M] = argmax(x, axis = 0)
`

// anyPositions are the same for rows of any length.
const anyPositions = `
pub fn first[M, N](x: T[M, N + 1]) -> (i32[M], i32[M]) = (argmax(x, axis = 1), argmin(x, axis = 1))
pub fn whole[N](x: T[N + 1]) -> i32 = argmax(x)
`

// rowOf is a row of n elements of one kind, whose first extreme is at place p unless the kind says otherwise.
func rowOf(r *rand.Rand, d types.DType, kind, n, p int) []uint64 {
	bits := func(x float64) uint64 {
		if d.IsFloat() {
			return scalar.FloatBits(d, x)
		}
		return scalar.IntBits(d, int64(x))
	}
	low, high := bits(math.Inf(-1)), bits(math.Inf(1))
	if !d.IsFloat() {
		low, high = bits(0), scalar.IntBits(d, -1)
		if d.IsSigned() {
			low, high = uint64(1)<<(d.Bits()-1), uint64(1)<<(d.Bits()-1)-1
		}
	}
	row := make([]uint64, n)
	for i := range row {
		row[i] = bits(float64(40 + r.IntN(3)))
	}
	some := func(x uint64) { // at p, and perhaps later
		for i := p; i < n; i += 1 + r.IntN(n) {
			row[i] = x
		}
	}
	all := func(x ...uint64) {
		for i := range row {
			row[i] = x[r.IntN(len(x))]
		}
	}
	switch kind {
	case 0:
		some(bits(50))
	case 1:
		some(bits(30))
	case 2: // each is the first
		all(low)
	case 3:
		all(high)
	case 4:
		all(low)
		some(high)
	case 5:
		all(high)
		some(low)
	case 6:
		all(bits(math.Copysign(0, -1)), bits(0))
	case 7:
		all(low, high)
		some(bits(math.NaN()))
	case 8:
		some(bits(math.NaN()))
	}
	return row
}

// ofRows is a matrix of rows of one length, of every kind that the type has.
func ofRows(r *rand.Rand, d types.DType, m, n int) *ir.Array {
	kinds := 6
	if d.IsFloat() {
		kinds = 9
	}
	x := &ir.Array{DType: d, Shape: []int64{int64(m), int64(n)}}
	for i := range m {
		x.Bits = append(x.Bits, rowOf(r, d, i%kinds, n, r.IntN(n))...)
	}
	return x
}

// positionLengths are those of rows.
var positionLengths = []int{1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 513,
	1000, 4095, 4096, 4097, 5000}

// TestPositions has one of the types of elements on nine of eleven days, with a third of the lengths.
func TestPositions(t *testing.T) {
	day, step := sample.Today(t), sample.Part(11) // has no factor of the thirds of lengths
	if testing.Short() {
		step = 9
	}
	for i, d := range []types.DType{types.F32, types.F64, types.BF16, types.I32, types.U8, types.F16, types.I64,
		types.I8, types.U64} {
		if (i+day)%step == 0 {
			positionsOf(t, d, i+day)
		}
	}
}

// positionsOf compares code for some processors with the interpreter, of elements of one type.
func positionsOf(t *testing.T, d types.DType, turn int) {
	const m = 45
	var lengths []int
	for i, n := range positionLengths {
		if sample.Has(turn, i, 3) {
			lengths = append(lengths, n)
		}
	}
	var b strings.Builder
	for _, n := range lengths {
		of := strings.NewReplacer("T", d.String(), "N", fmt.Sprint(n), "M", fmt.Sprint(m))
		b.WriteString(of.Replace(positions))
	}
	b.WriteString(strings.ReplaceAll(anyPositions, "T", d.String()))
	source := b.String()
	interp, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	for k, cpu := range []string{"", "haswell", "x86-64", "x86-64-v4"} {
		p := profile.Base().Clone()
		p.Reduce.ArgumentVectors = 2 << ((turn + k) % 4)
		var modules []*engine.Module
		for _, w := range ways.Thorough(turn+k, 3) {
			for _, o := range w.Options(t, engine.Options{Threads: 1 + k%2, SplitAll: k == 1,
				Target: codegen.Target{Kind: "cpu", CPU: cpu}}) {
				o.Debug.Profile = p
				module, err := engine.Compile(source, o)
				if err != nil {
					t.Fatal(err)
				}
				defer module.Close()
				modules = append(modules, module)
			}
		}
		r := rand.New(rand.NewPCG(uint64(turn), uint64(k)))
		compare := func(name string, x *ir.Array) {
			want := outcome(t, interp, name, 1, x)
			for way, module := range modules {
				if diff := random.Diff(want, outcome(t, module, name, 1, x)); diff != "" {
					t.Errorf("%s of %s%v, %d vectors, %q, way %d: %s", name, d, x.Shape, p.Reduce.ArgumentVectors,
						cpu, way, diff)
				}
			}
		}
		for _, n := range lengths {
			x := ofRows(r, d, m, n)
			for _, name := range []string{"rows", "both", "least"} {
				compare(fmt.Sprintf("%s_%d", name, n), x)
			}
			down := &ir.Array{DType: d, Shape: []int64{int64(n), m}, Bits: make([]uint64, len(x.Bits))}
			for at, bits := range x.Bits {
				down.Bits[at%n*m+at/n] = bits
			}
			compare(fmt.Sprintf("down_%d", n), down)
			compare("first", x)
		}
		for kind := range 9 {
			n := 200000 + kind // threads share it
			if d.IsFloat() || kind < 6 {
				x := &ir.Array{DType: d, Shape: []int64{int64(n)}, Bits: rowOf(r, d, kind, n, r.IntN(n))}
				compare("whole", x)
			}
		}
	}
}
