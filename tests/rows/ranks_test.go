package rows

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// Sorts of which a few ranks are read, known ones and others: see Note [Partial sorts] in package ops.

// partialSorts is a program with sorts of every type of which the beginning, the end, the middle, or elements from a
// position on are read.
func partialSorts() string {
	var b strings.Builder
	for _, t := range sorted {
		fmt.Fprintf(&b, `
pub fn rows_%[1]s[M, N](x: %[1]s[M, 2*N + 1], i: i32) -> (%[1]s[M, N], %[1]s[M]) = {
    let s = sort(x);
    (s[.., 0..N], s[.., i])
}
pub fn columns_%[1]s[M, N](x: %[1]s[2*N + 1, M], i: i32) -> (%[1]s[M], %[1]s[1, M], %[1]s[M]) = {
    let s = sort(x, axis = 0);
    (s[N], s[i..i + 1], s[2*N])
}
pub fn places_%[1]s[M, N](x: %[1]s[M, 2*N + 1], i: i32) -> (i32[M, N], i32[M]) = {
    let s = argsort(x);
    (flip(s, -1)[.., 0..N], s[.., i])
}
pub fn column_places_%[1]s[M, N](x: %[1]s[2*N + 1, M], i: i32) -> i32[M] = argsort(x, axis = 0)[i]
`, t)
	}
	return b.String()
}

// rankToRead draws a position of a row: the first ones, the last ones or any.
func rankToRead(r *rand.Rand, n int64) *ir.Array {
	i := r.Int64N(n)
	switch r.IntN(3) {
	case 0:
		i = min(i, 3)
	case 1:
		i = max(i, n-3)
	}
	return &ir.Array{DType: types.I32, Bits: []uint64{scalar.IntBits(types.I32, i)}}
}

// partialArgs draws a row of n elements, or one more, and a rank.
func partialArgs(name string, m, n int64, kind int, seed uint64) []*ir.Array {
	r := rand.New(rand.NewPCG(seed, 3))
	n |= 1
	return []*ir.Array{rowsToSort(r, typeOfSort(name), sortShape(name, m, n), kind), rankToRead(r, n)}
}

// TestPartialSorts is TestSorts for a few ranks, with a 23rd of the lengths a day.
func TestPartialSorts(t *testing.T) {
	step := sample.Part(23)
	if testing.Short() {
		step = 29
	}
	configs := []config{{"", 1, false}, {"x86-64", 2, false}, {"", 2, false}}
	sortsOfLengths(t, partialSorts(), configs, step, partialArgs)
}

// TestPartialSortsOfAnyLength has code that does not know the length, for every type and kind of rows.
func TestPartialSortsOfAnyLength(t *testing.T) {
	var names []string
	for i, t := range sorted {
		names = append(names, []string{"places", "rows", "column_places", "columns"}[i%4]+"_"+t.String())
	}
	names = append(names, "rows_f32", "rows_f64", "column_places_i64")
	lengths := append(slices.Clip(sortLengths), 20001)
	sortsOfAnyLength(t, partialSorts(), names, lengths, partialArgs)
}

// TestRanksOfNoRow: a position that the row does not have stops the program as it does without a partial sort.
func TestRanksOfNoRow(t *testing.T) {
	const source = `
pub fn one(x: f32[1000], i: i32) -> f32 = sort(x)[i]
pub fn some(x: f64[3, 1000], i: i32) -> i32[3, 5] = argsort(x)[.., i..i + 5]
`
	options := []engine.Options{{Backend: heal.Interp}}
	for _, w := range ways.Thorough(sample.Today(t), 2) {
		options = append(options, w.Options(t, engine.Options{})...)
	}
	for _, o := range options {
		backend := o.Backend
		m, err := engine.Compile(source, o)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for _, i := range []int64{-1 << 31, -1, 1000, 1<<31 - 1} {
			at := &ir.Array{DType: types.I32, Bits: []uint64{scalar.IntBits(types.I32, i)}}
			x, y := rowsToSort(r, types.F32, []int64{1, 1000}, 0), rowsToSort(r, types.F64, []int64{3, 1000}, 0)
			x.Shape = x.Shape[1:]
			for name, x := range map[string]*ir.Array{"one": x, "some": y} {
				out, err := random.Call(m, name, []*ir.Array{x, at}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if out.Failed == "" {
					t.Errorf("%s on %s: element %d is there", name, backend, i)
				}
			}
		}
		m.Close()
	}
}
