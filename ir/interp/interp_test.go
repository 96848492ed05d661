package interp

import (
	"errors"
	"strings"
	"testing"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

func parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	m, list := ir.Parse(diag.NewFile("test.ir", "module \"test\"\n"+text))
	if list.HasErrors() {
		t.Fatalf("%s", list.Error())
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// array makes an array of small whole numbers.
func array(d types.DType, shape []int64, values ...int64) *ir.Array {
	a := ir.NewArray(d, shape...)
	for i, v := range values {
		a.Bits[i] = scalar.IntBits(d, v)
	}
	return a
}

// show writes results as MemSystem prints them.
func show(as []*ir.Array) string {
	s := make([]string, len(as))
	for i, a := range as {
		s[i], _ = (&MemSystem{}).Format(a) // which never fails
	}
	return strings.Join(s, "; ")
}

func TestRun(t *testing.T) {
	cases := []struct {
		name, text string
		args       []*ir.Array
		want       string
	}{
		{"pointwise and constants", `
func @f[N](%x: i32[N]) -> i32[N] {
  %0: i32 = const {value = i32 10}
  %1: i32[N] = broadcast %0 {shape = [N]}
  %2: i32[N] = mul %x, %1
  return %2
}`, []*ir.Array{array(types.I32, []int64{3}, 1, 2, 3)}, "[10, 20, 30]"},
		{"mean and variance are expanded", `
func @f[M, N](%x: f32[M, N]) -> (f32[M], f32[1, N], f32) {
  %0: f32[M] = mean %x {axes = [1]}
  %1: f32[1, N] = var %x {axes = [0], keep = true}
  %2: f32 = var %x {axes = [0, 1]}
  return %0, %1, %2
}`, []*ir.Array{array(types.F32, []int64{2, 2}, 1, 3, 5, 7)}, "[2.0, 6.0]; [[4.0, 4.0]]; 5.0"},
		{"the mean of nothing is NaN", `
func @f[N](%x: f32[N]) -> f32 {
  %0: f32 = mean %x {axes = [0]}
  return %0
}`, []*ir.Array{array(types.F32, []int64{0})}, "nan"},
		{"tabulate with a capture", `
func @f[N](%x: i32[N]) -> i32[2, N] {
  %0: i32[2, N] = tabulate {shape = [2]} ^(%i: i32) {
    %1: i32[N] = broadcast %i {shape = [N]}
    %2: i32[N] = add %x, %1
    yield %2
  }
  return %0
}`, []*ir.Array{array(types.I32, []int64{2}, 5, 7)}, "[[5, 7], [6, 8]]"},
		{"fold is strict and starts with the first element", `
func @f(%x: i32[2, 3]) -> (i32[2], i32) {
  %0: i32[2] = fold %x {axes = [1]} ^(%a: i32, %b: i32) {
    %1: i32 = const {value = i32 10}
    %2: i32 = mul %a, %1
    %3: i32 = add %2, %b
    yield %3
  }
  %4: i32 = const {value = i32 100}
  %5: i32 = fold %4, %x {axes = [0, 1], init = true} ^(%a: i32, %b: i32) {
    %6: i32 = sub %a, %b
    yield %6
  }
  return %0, %5
}`, []*ir.Array{array(types.I32, []int64{2, 3}, 1, 2, 3, 4, 5, 6)}, "[123, 456]; 79"},
		{"if evaluates one arm", `
func @f(%c: bool, %x: i32) -> i32 {
  %0: i32 = const {value = i32 0}
  %1: i32 = if %c ^() {
    %2: i32 = div %x, %0
    yield %2
  } ^() {
    yield %x
  }
  return %1
}`, []*ir.Array{array(types.Bool, nil, 0), array(types.I32, nil, 7)}, "7"},
		{"calls bind shape parameters", `
func @g[A](%x: i32[A]) -> (i32[A], i32) {
  %0: i32 = dim {dim = A}
  return %x, %0
}
func @f[N](%x: i32[N]) -> i32 {
  %0: i32[2*N] = concat %x, %x {axis = 0}
  %1: i32[2*N], %2: i32 = call %0 {callee = "g", dims = [2*N], results = [i32[2*N], i32]}
  return %2
}`, []*ir.Array{array(types.I32, []int64{3}, 1, 2, 3)}, "6"},
		{"recursion", `
func @f(%n: i64) -> i64 {
  %0: i64 = const {value = i64 1}
  %1: bool = le %n, %0
  %2: i64 = if %1 ^() {
    yield %0
  } ^() {
    %3: i64 = sub %n, %0
    %4: i64 = call %3 {callee = "f", results = [i64]}
    %5: i64 = mul %n, %4
    yield %5
  }
  return %2
}`, []*ir.Array{array(types.I64, nil, 20)}, "2432902008176640000"},
		{"an empty axis is no error where nothing asks for it", `
func @f[N](%x: i32[N]) -> (i32, i32[N]) {
  %0: i32 = dim {dim = N}
  %1: bool = gt %0, %0
  %2: i32 = if %1 ^() {
    %3: i32 = reduce_max %x {axes = [0]}
    yield %3
  } ^() {
    yield %0
  }
  %4: i32[N] = tabulate {shape = [N]} ^(%i: i32) {
    %5: i32 = index %x, %i {axes = [0]}
    yield %5
  }
  return %2, %4
}`, []*ir.Array{array(types.I32, []int64{0})}, "0; []"},
		{"argmax takes the first NaN", `
func @f(%x: f32[4]) -> (i32, i32) {
  %0: i32 = argmax %x
  %1: i32 = argmin %x {axis = 0}
  return %0, %1
}`, []*ir.Array{{DType: types.F32, Shape: []int64{4}, Bits: []uint64{0x40000000, 0x7fc00000, 0xff800000, 0x7fc00000}}},
			"1; 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Run(parse(t, c.text), "f", c.args, &MemSystem{})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(show(got), c.want) || len(show(got)) > len(c.want) && c.want != "nan" {
				t.Errorf("got %s, want %s", show(got), c.want)
			}
		})
	}
}

func TestRuntimeErrors(t *testing.T) {
	cases := []struct {
		name, text string
		args       []*ir.Array
		kind       scalar.CheckKind
		want       string
	}{
		{"index", `
func @f(%x: i32[5], %i: i32) -> i32 {
  %0: i32 = index %x, %i {axes = [0]}
  return %0
}`, []*ir.Array{array(types.I32, []int64{5}), array(types.I32, nil, -1)}, scalar.CheckIndex,
			"index -1 is out of range"},
		{"an index where the result is empty", `
func @f(%x: i32[5, 0], %i: i32) -> i32[0] {
  %0: i32[0] = index %x, %i {axes = [0]}
  return %0
}`, []*ir.Array{array(types.I32, []int64{5, 0}), array(types.I32, nil, 9)}, scalar.CheckIndex,
			"index 9 is out of range"},
		{"dynamic slice names the index outside", `
func @f(%x: i32[5], %i: i64) -> i32[3] {
  %0: i32[3] = dynamic_slice %x, %i {axes = [0], sizes = [3]}
  return %0
}`, []*ir.Array{array(types.I32, []int64{5}), array(types.I64, nil, 4)}, scalar.CheckIndex, "index 5 is out of range"},
		{"division", `
func @f(%x: i32[2], %y: i32[2]) -> i32[2] {
  %0: i32[2] = div %x, %y
  return %0
}`, []*ir.Array{array(types.I32, []int64{2}), array(types.I32, []int64{2}, 1, 0)}, scalar.CheckDivideByZero,
			"integer division by zero"},
		{"power", `
func @f(%x: i8, %y: i8) -> i8 {
  %0: i8 = pow %x, %y
  return %0
}`, []*ir.Array{array(types.I8, nil, 2), array(types.I8, nil, -1)}, scalar.CheckNegativeExponent, "negative"},
		{"the maximum of nothing", `
func @f[N](%x: i32[N]) -> i32 {
  %0: i32 = reduce_max %x {axes = [0]}
  return %0
}`, []*ir.Array{array(types.I32, []int64{0})}, scalar.CheckEmpty, "max/ of no elements has no value"},
		{"endless recursion", `
func @f(%x: i32) -> i32 {
  %0: i32 = call %x {callee = "f", results = [i32]}
  return %0
}`, []*ir.Array{array(types.I32, nil, 0)}, scalar.CheckRecursion, "10000"},
		{"too much memory", `
func @f() -> f32 {
  %0: f32 = const {value = f32 1.0}
  %1: f32[1000000, 1000000] = broadcast %0 {shape = [1000000, 1000000]}
  %2: f32 = reduce_sum %1 {axes = [0, 1]}
  return %2
}`, nil, 0, "out of memory: there is no room for f32[1000000, 1000000], which takes 8000000000000 bytes"},
		{"more bytes than there are numbers", `
func @f() -> i8 {
  %0: i8 = const {value = i8 1}
  %1: i8[2000000000, 2000000000] = broadcast %0 {shape = [2000000000, 2000000000]}
  %2: i8 = reduce_sum %1 {axes = [0, 1]}
  return %2
}`, nil, 0, "out of memory"},
		{"a slice that fits only some shapes", `
func @f[N](%x: i32[N]) -> i32[5] {
  %0: i32[5] = slice %x {starts = [0], steps = [1], shape = [5]}
  return %0
}`, []*ir.Array{array(types.I32, []int64{3})}, 0, "slice is out of range"},
		{"a negative extent", `
func @f[N](%x: i32[N]) -> i32[N-1] {
  %0: i32[N-1] = slice %x {starts = [1], steps = [1], shape = [N-1]}
  return %0
}`, []*ir.Array{array(types.I32, []int64{0})}, 0, "extent -1 is out of range"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Run(parse(t, c.text), "f", c.args, &MemSystem{})
			var failed *RuntimeError
			if !errors.As(err, &failed) {
				t.Fatalf("got %v, want a run-time error", err)
			}
			if failed.Kind != c.kind || !strings.Contains(failed.Message, c.want) {
				t.Errorf("got kind %v, %q; want %v, %q", failed.Kind, failed.Message, c.kind, c.want)
			}
			if !failed.Span.Valid() {
				t.Error("the error has no position")
			}
		})
	}
}

func TestHost(t *testing.T) {
	m := parse(t, `
io func @f[N](%x: f32[N]) -> () {
  %0: string = const {value = string "out.npy"}
  %1: string = const {value = string "a\n"}
  print %x
  %2: string = print_str %1
  print %2
  save_npy %0, %x
  %3: f32[N] = load_npy %0 {dtype = f32, shape = [N]}
  %4: f32 = reduce_sum %3 {axes = [0]}
  %5: f32 = print_f32 %4
  %6: i64 = cast %4 {to = i64}
  %7: i64 = print_i64 %6
  return
}`)
	sys := &MemSystem{}
	x := &ir.Array{DType: types.F32, Shape: []int64{2}, Bits: []uint64{0x3fffffff, 0}}
	if _, err := Run(m, "f", []*ir.Array{x}, sys); err != nil {
		t.Fatal(err)
	}
	want := "[1.9999999, 0.0]\na\na\n\n1.999999\n1\n" // cut, not rounded
	if got := sys.Out.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	sys.Files["out.npy"] = array(types.F64, []int64{2})
	bad := parse(t, `
io func @f() -> f32[3] {
  %0: string = const {value = string "out.npy"}
  %1: f32[3] = load_npy %0 {dtype = f32, shape = [3]}
  return %1
}`)
	if _, err := Run(bad, "f", nil, sys); err == nil || !strings.Contains(err.Error(),
		"out.npy holds f64[2], not f32[3]") {
		t.Errorf("got %v", err)
	}
}

func TestArguments(t *testing.T) {
	m := parse(t, `
func @f[N](%x: f32[N, 2*N], %y: f32[N+1]) -> i32 {
  %0: i32 = dim {dim = N}
  return %0
}
func @g[N]() -> i32 {
  %0: i32 = dim {dim = N}
  return %0
}
func @h[N](%x: f32[2*N+1]) -> i32 {
  %0: i32 = dim {dim = N}
  return %0
}`)
	f32 := func(shape ...int64) *ir.Array { return ir.NewArray(types.F32, shape...) }
	cases := []struct {
		entry string
		args  []*ir.Array
		want  string // the result, or a part of the error
	}{
		{"f", []*ir.Array{f32(2, 4), f32(3)}, "2"},
		{"f", []*ir.Array{f32(2, 5), f32(3)}, "axis 1 of x has extent 5, but 2*N is 4, with N = 2 by axis 0 of x"},
		{"f", []*ir.Array{f32(2, 4), f32(2)}, "axis 0 of y has extent 2, but N+1 is 3"},
		{"f", []*ir.Array{f32(2, 4)}, "takes 2 arguments, not 1"},
		{"f", []*ir.Array{f32(2), f32(3)}, "rank 1"},
		{"f", []*ir.Array{f32(2, 4), ir.NewArray(types.F64, 3)}, "f64[3]"},
		{"g", nil, "no argument of g determines the shape parameter N"},
		{"h", []*ir.Array{f32(7)}, "3"},
		{"h", []*ir.Array{f32(8)}, "axis 0 of x has extent 8, which is 2*N+1 for no N"},
		{"nothing", nil, "there is no function nothing"},
	}
	for _, c := range cases {
		got, err := Run(m, c.entry, c.args, &MemSystem{})
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = show(got)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: got %q, want %q", c.entry, text, c.want)
		}
	}
	got, err := RunDims(m, "g", map[string]int64{"N": 5}, nil, &MemSystem{})
	if err != nil || show(got) != "5" {
		t.Errorf("RunDims gave %v, %v", show(got), err)
	}
}

// Two parameters of one name have to agree, and the message shows both places.
func TestConflict(t *testing.T) {
	m := parse(t, `
func @f[N](%x: f32[N], %y: f32[3, N]) -> i32 {
  %0: i32 = dim {dim = N}
  return %0
}`)
	_, err := Run(m, "f", []*ir.Array{ir.NewArray(types.F32, 3), ir.NewArray(types.F32, 3, 4)}, &MemSystem{})
	if want := "N is 3 by axis 0 of x, but 4 by axis 1 of y"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// A long program needs no more memory than its widest place.
func TestMemoryIsFreed(t *testing.T) {
	var b strings.Builder
	b.WriteString("func @f(%x: f32[1000]) -> f32[1000] {\n  %0: f32[1000] = neg %x\n")
	for i := range 200 {
		b.WriteString(strings.NewReplacer("A", itoa(i+1), "B", itoa(i)).Replace("  %A: f32[1000] = neg %B\n"))
	}
	b.WriteString("  return %200\n}")
	m := parse(t, b.String())
	mc := &machine{module: m, system: &MemSystem{}, codes: map[string]*code{}, limit: 3 * 8000, live: 8000}
	if _, err := mc.call(m.Func("f"), nil, []*ir.Array{ir.NewArray(types.F32, 1000)}); err != nil {
		t.Fatal(err)
	}
	if mc.live != 0 {
		t.Errorf("%d bytes are still counted", mc.live)
	}
}

func itoa(i int) string { return scalar.FormatBits(types.I32, uint64(i)) }
