package ir_test

import (
	"testing"

	"healc/ir"
	"healc/lang/diag"
)

// TestReadsAll lists which operands are read in full, for each operation of a function.
func TestReadsAll(t *testing.T) {
	m, errs := ir.Parse(diag.NewFile("in.ir", `module "m"
func @f[M, N](%x: f32[M, N], %i: i32, %c: bool, %p: f32[2, 3], %q: f32[3, 0], %v: f32[3]) -> f32 {
  %0: f32[M, N] = add %x, %x
  %1: f32[M, M, N] = broadcast %x {shape = [M, M, N]}
  %2: f32[4, 2, 3] = broadcast %p {shape = [4, 2, 3]}
  %3: f32[0, 2, 3] = broadcast %p {shape = [0, 2, 3]}
  %4: f32[M, N] = slice %x {starts = [M-1, 0], steps = [-1, 1], shape = [M, N]}
  %5: f32[2, 2] = slice %p {starts = [0, 1], steps = [1, 1], shape = [2, 2]}
  %6: f32[N] = index %x, %i {axes = [0]}
  %7: f32[3] = index %p, %i {axes = [0]}
  %8: f32[2, 0] = matmul %p, %q
  %9: f32 = reduce_sum %x {axes = [0, 1]}
  %10: f32[N, M] = permute %x {perm = [1, 0]}
  %11: f32[M*N] = reshape %x {shape = [M*N]}
  %12: f32[3] = if %c ^() {
    yield %v
  } ^() {
    yield %7
  }
  %13: f32[N] = if %c ^() {
    yield %6
  } ^() {
    yield %6
  }
  return %9
}`))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	want := [][]bool{
		{true, true},   // add
		{false},        // a new axis M may be empty
		{true},         // four times
		{false},        // no times
		{true},         // backwards
		{false},        // a part
		{false, false}, // a row of N elements, which may be none
		{false, true},  // a row of 3 elements
		{false, true},  // the left is not read for 0 columns, the right has its 2 rows
		{true},         // reduce_sum
		{true},         // permute
		{true},         // reshape
		{true},         // if with elements
		{false},        // if with perhaps none
	}
	for i, op := range m.Funcs[0].Body.Ops {
		for k, w := range want[i] {
			if op.ReadsAll(k) != w {
				t.Errorf("%%%d = %s reads all of operand %d: %v", i, op.Def.Name, k, !w)
			}
		}
	}
}

// TestFullyRead: what reaches the results, or an operation that can fail, through full reads.
func TestFullyRead(t *testing.T) {
	m, errs := ir.Parse(diag.NewFile("in.ir", `module "m"
func @f(%x: i32[4], %y: i32[4]) -> i32[2] {
  %0: i32[4] = neg %x
  %1: i32[4] = abs %x
  %2: i32[4] = neg %1
  %3: i32[4] = div %2, %y
  %4: i32[2] = slice %0 {starts = [0], steps = [2], shape = [2]}
  return %4
}`))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	body := m.Funcs[0].Body
	full := ir.FullyRead(body)
	want := []bool{false, true, true, false, true} // the division is evaluated, but nothing reads it
	for i, op := range body.Ops {
		if full[op.Result()] != want[i] {
			t.Errorf("%%%d is fully read: %v", i, !want[i])
		}
	}
}
