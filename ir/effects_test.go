package ir_test

import (
	"testing"
)

// TestMayFail: only what can stop the program says so.
func TestMayFail(t *testing.T) {
	m := parse(t, `module "test"
func @f[N](%x: i32[4], %y: i32[4], %z: f32[N], %u: u8, %i: i32) -> () {
  %fine: i32 = const {value = i32 3}
  %bad: i32[4] = const {value = i32[4] [1, 2, 0, 4]}
  %wide: i32[4] = broadcast %fine {shape = [4]}
  %0: i32[4] = div %x, %y
  %1: i32[4] = div %x, %wide
  %2: i32[4] = rem %x, %bad
  %3: f32[N] = div %z, %z
  %4: i32[4] = pow %x, %y
  %5: i32[4] = pow %x, %bad
  %6: u8 = pow %u, %u
  %7: f32 = reduce_max %z {axes = [0]}
  %8: i32 = reduce_max %x {axes = [0]}
  %9: i32 = argmin %x
  %10: i32 = reduce_div %x {axes = [0]}
  %11: i32[4] = tabulate {shape = [4]} ^(%k: i32) {
    %12: i32 = div %k, %k
    yield %12
  }
  %13: i32[4] = tabulate {shape = [4]} ^(%k: i32) {
    %14: i32 = div %k, %fine
    yield %14
  }
  %15: i32 = fold %x {axes = [0]} ^(%a: i32, %b: i32) {
    yield %a
  }
  %16: f32 = fold %z {axes = [0]} ^(%a: f32, %b: f32) {
    yield %a
  }
  %17: i32 = index %x, %i {axes = [0]}
  return
}`)
	can := map[int]bool{3: true, 5: true, 7: true, 10: true, 13: true, 14: true, 17: true, 18: true}
	for i, op := range m.Funcs[0].Body.Ops {
		if op.MayFail() != can[i] {
			t.Errorf("operation %d, %s: MayFail is %v", i, op.Def.Name, op.MayFail())
		}
	}
}

func TestHasEffect(t *testing.T) {
	m := parse(t, `module "test"
func @pure(%x: i32) -> i32 {
  return %x
}
io func @loud(%x: i32) -> i32 {
  %0: i32 = print_i32 %x
  return %0
}
io func @f(%c: bool, %x: i32) -> () {
  %0: i32 = call %x {callee = "pure", results = [i32]}
  %1: i32 = call %0 {callee = "loud", results = [i32]}
  if %c ^() {
    print %x
    yield
  } ^() {
    yield
  }
  %2: i32 = neg %x
  return
}`)
	want := []bool{false, true, true, false}
	for i, op := range m.Func("f").Body.Ops {
		if m.HasEffect(op) != want[i] {
			t.Errorf("operation %d, %s: HasEffect is %v", i, op.Def.Name, m.HasEffect(op))
		}
	}
}
