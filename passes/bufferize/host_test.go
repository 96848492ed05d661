package bufferize_test

import (
	"testing"

	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel/keval"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes/bufferize"
	"healc/passes/fusion"
)

func ints(values ...int64) *ir.Array {
	a := ir.NewArray(types.I32, int64(len(values)))
	for i, v := range values {
		a.Bits[i] = scalar.IntBits(types.I32, v)
	}
	return a
}

func oneOf(t types.DType, v int64) *ir.Array {
	a := ir.NewArray(t)
	a.Shape = []int64{}
	a.Bits[0] = scalar.IntBits(t, v)
	return a
}

// TestHost runs programs whose plans have more steps than launches.
func TestHost(t *testing.T) {
	for _, c := range []struct {
		name, text string
		args       []*ir.Array
		fails      bool
	}{
		{"recursion with effects is calls of the plan", `
io func @f(%n: i32) -> i32 {
  %0: i32 = const {value = i32 0}
  %1: bool = le %n, %0
  %2: i32 = if %1 ^() {
    yield %n
  } ^() {
    %3: i32 = print_i32 %n
    %4: i32 = const {value = i32 1}
    %5: i32 = sub %3, %4
    %6: i32 = call %5 {callee = "f", results = [i32]}
    %7: i32 = add %6, %n
    yield %7
  }
  return %2
}`, []*ir.Array{oneOf(types.I32, 5)}, false},
		{"endless recursion stops", `
func @f(%n: i32) -> i32 {
  %0: i32 = call %n {callee = "f", results = [i32]}
  return %0
}`, []*ir.Array{oneOf(types.I32, 5)}, true},
		{"endless recursion with effects stops", `
io func @f(%n: i32) -> i32 {
  %0: i32 = call %n {callee = "f", results = [i32]}
  print %0
  return %0
}`, []*ir.Array{oneOf(types.I32, 5)}, true},
		{"mutual recursion with several results", `
func @f(%n: i32) -> (i32, bool) {
  %0: i32, %1: bool = call %n {callee = "g", results = [i32, bool]}
  return %0, %1
}
func @g(%n: i32) -> (i32, bool) {
  %0: i32 = const {value = i32 0}
  %1: bool = le %n, %0
  %2: i32, %3: bool = if %1 ^() {
    yield %n, %1
  } ^() {
    %4: i32 = const {value = i32 1}
    %5: i32 = sub %n, %4
    %6: i32, %7: bool = call %5 {callee = "f", results = [i32, bool]}
    %8: bool = not %7
    %9: i32 = add %6, %n
    yield %9, %8
  }
  return %2, %3
}`, []*ir.Array{oneOf(types.I32, 30)}, false},
		{"a call with tensors that was not inlined", `
func @f(%x: i32[4]) -> (i32[2], i32[4]) {
  %0: i32[2] = slice %x {starts = [3], steps = [-2], shape = [2]}
  %1: i32[2] = call %0 {callee = "g", dims = [2], results = [i32[2]]}
  %2: i32[4] = call %x {callee = "g", dims = [4], results = [i32[4]]}
  return %1, %2
}
func @g[N](%x: i32[N]) -> i32[N] {
  %0: i32[N] = mul %x, %x
  %1: i32[N] = iota {start = N, extent = N}
  %2: i32[N] = add %0, %1
  return %2
}`, []*ir.Array{ints(1, 2, 3, 4)}, false},
		{"files", `
io func @f() -> i32[2, 2] {
  %0: string = const {value = string "in.npy"}
  %1: i32[2, 2] = load_npy %0 {dtype = i32, shape = [2, 2]}
  %2: i32[2, 2] = permute %1 {perm = [1, 0]}
  %3: string = const {value = string "out.npy"}
  save_npy %3, %2
  %4: string = print_str %3
  %5: i32[2, 2] = load_npy %4 {dtype = i32, shape = [2, 2]}
  print %5
  return %5
}`, nil, false},
		{"a constant table in a recursive function", `
func @f(%n: i32) -> i32 {
  %0: i32 = const {value = i32 0}
  %1: bool = lt %n, %0
  %2: i32 = if %1 ^() {
    yield %0
  } ^() {
    %3: i32[5] = const {value = i32[5] [3, 1, 4, 1, 5]}
    %4: i32 = index %3, %n {axes = [0]}
    %5: i32 = const {value = i32 1}
    %6: i32 = sub %n, %5
    %7: i32 = call %6 {callee = "f", results = [i32]}
    %8: i32 = add %7, %4
    yield %8
  }
  return %2
}`, []*ir.Array{oneOf(types.I32, 4)}, false},
		{"views of constants, of inputs and of results", `
func @f(%x: i32[2, 3]) -> (i32[3], i32[3, 2], i32[6], i32[2, 3], i32[6]) {
  %0: i32[3] = const {value = i32[3] [7, 8, 9]}
  %1: i32[3, 2] = permute %x {perm = [1, 0]}
  %2: i32[6] = reshape %1 {shape = [6]}
  %3: i32[2, 3] = neg %x
  %4: i32[6] = reshape %3 {shape = [6]}
  return %0, %1, %2, %3, %4
}`, []*ir.Array{{DType: types.I32, Shape: []int64{2, 3}, Bits: []uint64{1, 2, 3, 4, 5, 6}}}, false},
		{"a failure in the arm that is not taken", `
func @f(%x: i32[4], %i: i32) -> i32 {
  %0: i32 = const {value = i32 4}
  %1: bool = lt %i, %0
  %2: i32 = if %1 ^() {
    %3: i32 = index %x, %i {axes = [0]}
    yield %3
  } ^() {
    yield %0
  }
  return %2
}`, []*ir.Array{ints(1, 2, 3, 4), oneOf(types.I32, 9)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, errs := ir.Parse(diag.NewFile("in.ir", "module \"m\"\n"+c.text))
			if errs.HasErrors() {
				t.Fatal(errs.Error())
			}
			if err := ir.Verify(m); err != nil {
				t.Fatal(err)
			}
			file := &ir.Array{DType: types.I32, Shape: []int64{2, 2}, Bits: []uint64{1, 2, 3, 4}}
			want := interp.MemSystem{Files: map[string]*ir.Array{"in.npy": file}}
			got := interp.MemSystem{Files: map[string]*ir.Array{"in.npy": file}}
			out, err := interp.Run(m, "f", c.args, &want)
			if (err != nil) != c.fails {
				t.Fatal(err)
			}
			if err := fusion.Fuse(m, nil); err != nil {
				t.Fatal(err)
			}
			k, err := bufferize.Lower(m, "f", bufferize.Options{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := keval.Run(k, nil, c.args, &got)
			if (err != nil) != c.fails {
				t.Fatalf("%v\n%s", err, k)
			}
			if want.Out.String() != got.Out.String() {
				t.Errorf("printed %q, not %q", got.Out.String(), want.Out.String())
			}
			for i := range out {
				if d := difference(out[i], res[i]); d != "" {
					t.Errorf("result %d: %s\n%s", i, d, k)
				}
			}
		})
	}
}

// TestUnsupported checks the errors of programs that cannot be lowered.
func TestUnsupported(t *testing.T) {
	m, errs := ir.Parse(diag.NewFile("in.ir", `module "m"
func @f(%n: i32) -> i32 {
  %0: i32 = call %n {callee = "g", dims = [1], results = [i32]}
  return %0
}
func @g[N](%n: i32) -> i32 {
  %0: i32 = call %n {callee = "g", dims = [N+1], results = [i32]}
  return %0
}`))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	_, err := bufferize.Lower(m, "f", bufferize.Options{})
	if err == nil || err.Error() != "in.ir:7:3: unsupported: the recursion of `g` uses too many different shapes" {
		t.Errorf("%v", err)
	}
	if _, err := bufferize.Lower(m, "h", bufferize.Options{}); err == nil {
		t.Error("a function that is not there")
	}
}
