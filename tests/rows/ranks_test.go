package rows

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/tests/devices"
	"healc/tests/library"
	"healc/tests/random"
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

func outcomeOf(t *testing.T, m *engine.Module, name string, args []*ir.Array, seed uint64) *random.Outcome {
	t.Helper()
	out, err := random.Call(m, name, args, seed)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// TestPartialSorts is TestSorts for a few ranks.
func TestPartialSorts(t *testing.T) {
	interp, err := engine.Compile(partialSorts(), engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	modules := &compiled{t: t, source: partialSorts()}
	configs := []config{{"", 1, false}, {"x86-64", 2, false}, {"", 2, false}}
	for i := range configs {
		configs[i].cpu = devices.InTurn(i, configs[i].cpu)
	}
	step := 7
	if testing.Short() {
		step = 19
	}
	for i, name := range interp.Names() {
		for j, n := range sortLengths {
			if (i+j)%step != 0 {
				continue
			}
			kind, seed := (i+j/3)%kindsOfRows, uint64(100*i+j)
			m := int64(1 + (i+2*j)%4)
			args := partialArgs(name, m, n, kind, seed)
			want := outcomeOf(t, interp, name, args, seed)
			c := configs[(i/2+j)%len(configs)]
			for _, w := range ways.Thorough(i+j/step, 3) {
				for _, code := range modules.in(c, w) {
					if d := sameSort(want, outcomeOf(t, code, name, args, seed)); d != "" {
						t.Errorf("%s, N = %d, M = %d, kind %d, %+v, %s: %s", name, n, m, kind, c, w, d)
					}
				}
			}
		}
	}
}

// TestPartialSortsOfAnyLength has code that does not know the length, for every type and kind of rows.
func TestPartialSortsOfAnyLength(t *testing.T) {
	m, err := engine.Compile(partialSorts(), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	interp, err := engine.Compile(partialSorts(), engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	var names []string
	for i, t := range sorted {
		names = append(names, []string{"places", "rows", "column_places", "columns"}[i%4]+"_"+t.String())
	}
	names = append(names, "rows_f32", "rows_f64", "column_places_i64")
	l, err := m.Library("sorts", names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	lib, err := library.Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	for i, e := range l.Entries {
		f := m.IR().Func(e.Name)
		for j, n := range append(sortLengths, 20001) {
			kind, seed := (i+j)%kindsOfRows, uint64(100*i+j)
			args := partialArgs(e.Name, 2, n, kind, seed)
			got, err := lib.Run(f, e, args, seed)
			if err != nil {
				t.Fatalf("%s, N = %d: %v", e.Name, n, err)
			}
			if d := sameSort(outcomeOf(t, interp, e.Name, args, seed), got); d != "" {
				t.Errorf("%s, N = %d, kind %d: %s", e.Name, n, kind, d)
			}
		}
	}
}

// TestRanksOfNoRow: a position that the row does not have stops the program as it does without a partial sort.
func TestRanksOfNoRow(t *testing.T) {
	const source = `
pub fn one(x: f32[1000], i: i32) -> f32 = sort(x)[i]
pub fn some(x: f64[3, 1000], i: i32) -> i32[3, 5] = argsort(x)[.., i..i + 5]
`
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := engine.Compile(source, engine.Options{Backend: backend})
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
