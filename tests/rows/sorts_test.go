package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	"healc/tests/sample"
	"healc/tests/ways"
)

// Sorts of every type, along each axis, at lengths around those where the way of sorting changes, on rows that are hard
// for sorting by digits: see
// Note [Sorting by keys] in package ir.

var sorted = []types.DType{
	types.Bool, types.I8, types.U8, types.I16, types.U16, types.I32, types.U32, types.I64, types.U64,
	types.F16, types.BF16, types.F32, types.F64,
}

var sortLengths = []int64{
	1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 192, 193, 200, 255, 256, 257,
	383, 384, 385, 512, 700, 2047, 2048, 2049, 4097, 9000,
}

// sorts is a program with sorts of every type: of rows, of columns, and positions of both.
func sorts() string {
	var b strings.Builder
	for _, t := range sorted {
		fmt.Fprintf(&b, "pub fn rows_%[1]s[M, N](x: %[1]s[M, N]) -> %[1]s[M, N] = sort(x)\n", t)
		fmt.Fprintf(&b, "pub fn columns_%[1]s[M, N](x: %[1]s[N, M]) -> %[1]s[N, M] = sort(x, axis = 0)\n", t)
		fmt.Fprintf(&b, "pub fn places_%[1]s[M, N](x: %[1]s[M, N]) -> i32[M, N] = argsort(x)\n", t)
		fmt.Fprintf(&b, "pub fn column_places_%[1]s[M, N](x: %[1]s[N, M]) -> i32[N, M] = argsort(x, axis = 0)\n", t)
	}
	return b.String()
}

// kindsOfRows is how many kinds of rows there are.
const kindsOfRows = 9

// rowsToSort draws elements, of which every kind of row has its own: any bits; the same bits; what differs in one byte;
// few different ones, among them zeros of both signs, NaNs and the ends of the type; ascending and descending numbers;
// numbers of which pivots are among the least; ascending ones but for one of the last; long runs of equal ones.
func rowsToSort(r *rand.Rand, t types.DType, shape []int64, kind int) *ir.Array {
	a := &ir.Array{DType: t, Shape: shape, Bits: make([]uint64, shape[0]*shape[1])}
	width := 8 * t.Bytes()
	all := ^uint64(0) >> (64 - width)
	sign := uint64(1) << (width - 1)
	few := []uint64{0, 1, sign, sign | 1, all, all - 1, sign - 1, sign - 2}
	if t.IsFloat() {
		inf := scalar.FloatBits(t, math.Inf(1))
		quiet := inf | inf>>1&^inf // the upper bit of what is behind the exponent
		few = []uint64{0, sign, 0, sign, inf, inf | sign, quiet, quiet | 1, quiet | sign, quiet | sign | 5, inf - 1,
			scalar.FloatBits(t, 1), 1, sign | 1}
	}
	var hard []int64
	if kind == 6 {
		hard = hardToCut(int(shape[0]*shape[1]), 512/width)
	}
	base, byteAt := r.Uint64()&all, 8*r.IntN(t.Bytes())
	late := len(a.Bits) - 1 - r.IntN(40)
	number := func(x int64) uint64 {
		if t.IsFloat() {
			return scalar.FloatBits(t, float64(x))
		}
		return scalar.IntBits(t, x)
	}
	for i := range a.Bits {
		x := base
		switch kind {
		case 0:
			x = r.Uint64() & all
		case 1:
		case 2:
			x = base&^(0xff<<byteAt) | uint64(r.IntN(256))<<byteAt
		case 3:
			x = few[r.IntN(len(few))]
		case 4:
			x = scalar.IntBits(t, int64(i))
		case 5:
			x = scalar.IntBits(t, int64(len(a.Bits)-i))
		case 6:
			x = number(hard[i])
		case 7:
			if x = number(int64(i) / 3); i == late {
				x = number(0)
			}
		case 8:
			x = number(int64(i / 300 * 7 % 5))
		}
		if t == types.Bool {
			x &= 1
		}
		a.Bits[i] = x
	}
	return a
}

// hardToCut is a row of n numbers whose pivots, medians of vectors of w elements (codegen/llvm/sorting), are among its
// least elements, so that each cut takes few of them away.
func hardToCut(n, w int) []int64 {
	x := make([]int64, n) // 0 for what is not decided yet, and is above all others
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	samples := map[int][]int{
		3: {9175, 34734, 55050},
		9: {2257, 12889, 15437, 26070, 35899, 39613, 44055, 55998, 60148},
	}
	next := int64(1)
	take := func(at int) int64 {
		if x[at] == 0 {
			x[at], next = next, next+1
		}
		return x[at]
	}
	median := func(x []int64) int64 { return max(min(x[0], x[1]), min(max(x[0], x[1]), x[2])) }
	lanes := func(v ...[]int64) (out []int64) {
		for i := range v[0] {
			out = append(out, median([]int64{v[0][i], v[1][i], v[2][i]}))
		}
		return out
	}
	for len(left) > 32*w {
		many := 3
		if len(left) >= 2048 {
			many = 9
		}
		var v [][]int64
		for _, at := range samples[many] {
			var x []int64
			for i := range w {
				x = append(x, take(left[at*(len(left)-w)>>16+i]))
			}
			v = append(v, x)
		}
		if many == 9 {
			v = [][]int64{lanes(v[:3]...), lanes(v[3:6]...), lanes(v[6:]...)}
		}
		m := lanes(v...)
		turned := func(x []int64, by int) []int64 { return slices.Concat(x[by:], x[:by]) }
		for _, by := range []int{(w + 2) / 3, 1} {
			m = lanes(m, turned(m, by), turned(m, 2*by))
		}
		left = slices.DeleteFunc(left, func(at int) bool { return x[at] > 0 && x[at] < m[0] })
	}
	for at := range x {
		take(at)
	}
	return x
}

func sortShape(name string, m, n int64) []int64 {
	if strings.HasPrefix(name, "column") {
		return []int64{n, m}
	}
	return []int64{m, n}
}

// sameSort describes the first difference. Sorting moves elements, and gives NaNs of f32 and f64 with all of their
// bits.
func sameSort(want, got *random.Outcome) string {
	if d := random.Diff(want, got); d != "" {
		return d
	}
	for i, a := range want.Results {
		if b := got.Results[i]; a.DType.Bytes() >= 4 && !slices.Equal(a.Bits, b.Bits) {
			return "NaNs changed their places or bits"
		}
	}
	return ""
}

// TestSorts compiles for lengths that are known. On a day each function has a twentieth of the lengths, and each length
// a twentieth of the functions; after twenty days all have met, and go on with another kind of rows and another
// processor.
func TestSorts(t *testing.T) {
	step := sample.Part(20)
	if testing.Short() {
		step = 29
	}
	configs := []config{{"", 1, false}, {"x86-64", 2, false}, {"haswell", 1, false}, {"", 2, false}}
	sortsOfLengths(t, sorts(), configs, step,
		func(name string, m, n int64, kind int, seed uint64) []*ir.Array {
			r := rand.New(rand.NewPCG(seed, 1))
			return []*ir.Array{rowsToSort(r, typeOfSort(name), sortShape(name, m, n), kind)}
		})
}

// sortsOfLengths compares the functions of a program, each with one of `step` lengths of rows, others on the next day,
// with the interpreter.
func sortsOfLengths(t *testing.T, source string, configs []config, step int,
	input func(name string, m, n int64, kind int, seed uint64) []*ir.Array) {
	t.Helper()
	interp, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	modules := &compiled{t: t, source: source}
	for i := range configs {
		configs[i].cpu = devices.InTurn(i, configs[i].cpu)
	}
	day := sample.Today(t)
	round := day / step
	for i, name := range interp.Names() {
		for j, n := range sortLengths {
			if (i+j+day)%step != 0 {
				continue
			}
			kind, seed := (i+j/3+round)%kindsOfRows, uint64(100*i+j+10000*round)
			m := int64(1 + (i+2*j+round)%4)
			args := input(name, m, n, kind, seed)
			want := outcome(t, interp, name, seed, args...)
			c := configs[(i/2+j+round)%len(configs)]
			for _, w := range ways.Thorough(i+j/step, 3) {
				for _, code := range modules.in(c, w) {
					if d := sameSort(want, outcome(t, code, name, seed, args...)); d != "" {
						t.Errorf("%s, N = %d, M = %d, kind %d, %+v, %s: %s", name, n, m, kind, c, w, d)
					}
				}
			}
		}
	}
}

func typeOfSort(name string) types.DType {
	return sorted[slices.IndexFunc(sorted, func(d types.DType) bool { return strings.HasSuffix(name, "_"+d.String()) })]
}

func outcome(t *testing.T, m *engine.Module, name string, seed uint64, args ...*ir.Array) *random.Outcome {
	t.Helper()
	out, err := random.Call(m, name, args, seed)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// TestSortsOfAnyLength has code that does not know the length, for one function of each type, every kind of rows and
// lengths from 0 on.
func TestSortsOfAnyLength(t *testing.T) {
	var names []string
	for i, t := range sorted {
		names = append(names, []string{"rows", "columns", "places", "column_places"}[i%4]+"_"+t.String())
	}
	sortsOfAnyLength(t, sorts(), names, append([]int64{0}, sortLengths...),
		func(name string, m, n int64, kind int, seed uint64) []*ir.Array {
			r := rand.New(rand.NewPCG(seed, 2))
			return []*ir.Array{rowsToSort(r, typeOfSort(name), sortShape(name, m, n), kind)}
		})
}

// sortsOfAnyLength compares functions of a program, in a library that knows no lengths, with the interpreter.
func sortsOfAnyLength(t *testing.T, source string, names []string, lengths []int64,
	input func(name string, m, n int64, kind int, seed uint64) []*ir.Array) {
	t.Helper()
	m, err := engine.Compile(source, engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	interp, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
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
		for j, n := range lengths {
			kind, seed := (i+j)%kindsOfRows, uint64(100*i+j)
			args := input(e.Name, 2, n, kind, seed)
			if _, err := lib.Do(lib.Own("set_threads"), uintptr(1+j%2)); err != nil {
				t.Fatal(err)
			}
			got, err := lib.Run(f, e, args, seed)
			if err != nil {
				t.Fatalf("%s, N = %d: %v", e.Name, n, err)
			}
			if d := sameSort(outcome(t, interp, e.Name, seed, args...), got); d != "" {
				t.Errorf("%s, N = %d, kind %d: %s", e.Name, n, kind, d)
			}
		}
	}
}

// TestSortsWithoutMemory: functions of scalars that call themselves have no memory for a row, and find its elements one
// by one, in short rows and in long ones.
func TestSortsWithoutMemory(t *testing.T) {
	lengths := []int{1, 64, 65, 700}
	if testing.Short() {
		lengths = []int{64, 65}
	}
	for i, n := range lengths {
		var b strings.Builder
		for _, elem := range sorted {
			number := "((i * 7919 + n * 31) % 23 - 11)"
			switch {
			case elem == types.Bool:
				number += " % 2 == 0"
			case elem.IsFloat(): // with zeros of both signs, infinities and NaNs
				number = fmt.Sprintf("(%s as %s) / ((i * 31 %% 5 - 2) as %s)", number, elem, elem)
			default:
				number = fmt.Sprintf("((%s as i64) * 300000000019) as %s", number, elem)
			}
			fmt.Fprintf(&b, `fn value_%[1]s(n: i32, k: i32) -> %[1]s =
    if n > 3 { value_%[1]s(n - 4, k) } else { sort(tabulate(%[2]d, |i| %[3]s))[k] }
fn place_%[1]s(n: i32, k: i32) -> i32 =
    if n > 3 { place_%[1]s(n - 4, k) } else { argsort(tabulate(%[2]d, |i| %[3]s))[k] }
pub fn f_%[1]s(n: i32) -> (%[1]s[40], i32[40]) =
    (tabulate(40, |j| value_%[1]s(n, j * %[2]d / 40)), tabulate(40, |j| place_%[1]s(n, j * %[2]d / 40)))
`, elem, n, number)
		}
		interp, err := engine.Compile(b.String(), engine.Options{Backend: heal.Interp})
		if err != nil {
			t.Fatal(err)
		}
		backends := []string{heal.CPU}
		if n < 100 && devices.Takes(i, 3) {
			backends = append(backends, devices.Backend())
		}
		for _, backend := range backends {
			m, err := engine.Compile(b.String(), engine.Options{Backend: backend})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range interp.Names() {
				if !strings.HasPrefix(name, "f_") {
					continue
				}
				x := &ir.Array{DType: types.I32, Bits: []uint64{uint64(5 + i)}}
				if d := sameSort(outcome(t, interp, name, 1, x), outcome(t, m, name, 1, x)); d != "" {
					t.Errorf("%s of %d elements on %s: %s", name, n, backend, d)
				}
			}
			m.Close()
		}
		interp.Close()
	}
}
