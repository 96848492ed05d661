package kernel

import (
	"strings"
	"testing"
)

// blocksProduct is a product of 16-bit floats, in the order of Note [Products by blocks] in ir/ops.
const blocksProduct = `kernels "m"

kernel @k(in x: bf16[4, 70], in y: bf16[70, 6], out z: bf16[4, 6]) over %0 in 0..4, %1 in 0..6 {
  contract %19 by %20 rows %0 columns %1 along %8
  %2: f32 = const 0.0
  %3: i64 = const 31
  %4: i64 = const 0
  %5: f32, %6: f32, %7: f32 = loop %8 in 0..70 carry %9: f32 = %2, %10: f32 = %2, %11: f32 = %2 {
    %12: i64 = and %8, %3
    %13: bool = eq %12, %4
    %14: f32 = add %10, %11
    %15: f32 = add %9, %14
    %16: f32 = select %13, %15, %9
    %17: f32 = select %13, %2, %10
    %18: f32 = select %13, %2, %11
    %27: bf16 = load x[70*%0 + %8]
    %28: bf16 = load y[%1 + 6*%8]
    %19: f32 = cast %27
    %20: f32 = cast %28
    %21: f32 = fma %19, %20, %17
    next %16, %18, %21
  }
  %22: f32 = add %6, %7
  %23: f32 = add %5, %22
  %24: bf16 = cast %23
  store z[6*%0 + %1], %24
}
`

// A contract by blocks is one only as long as the loop says all of it.
func TestContractsByBlocks(t *testing.T) {
	m := parseGood(t, blocksProduct)
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	k := m.Kernels[0]
	c := k.Contract.Chains(k)
	if c == nil || c.Block != 32 || c.Multiply != c.Add || len(c.Turns) != 7 || len(c.Fold) != 2 {
		t.Fatalf("the chains are %+v", c)
	}
	for _, of := range [][2]string{
		{"const 31", "const 30"},                                     // no power of two
		{"%13: bool = eq", "%13: bool = ne"},                         // begins elsewhere
		{"and %8, %3", "and %3, %3"},                                 // of another number than the step
		{"%16: f32 = select %13, %15", "%16: f32 = select %13, %14"}, // the sum is lost
		{"%15: f32 = add %9, %14", "%15: f32 = add %10, %14"},
		{"%14: f32 = add %10, %11", "%14: f32 = add %10, %10"},
		{"%17: f32 = select %13, %2, %10", "%17: f32 = select %13, %2, %11"}, // the chains do not take turns
		{"%18: f32 = select %13, %2, %11", "%18: f32 = select %13, %9, %11"},
		{"next %16, %18, %21", "next %16, %21, %18"},
		{"next %16, %18, %21", "next %18, %16, %21"},
		{"%20: f32 = cast %28", "%29: f32 = cast %28\n    %20: f32 = add %29, %9"}, // a factor that reads the sum
		{"%22: f32 = add %6, %7", "%22: f32 = add %6, %6"},                         // what is behind the loop
		{"%23: f32 = add %5, %22", "%23: f32 = sub %5, %22"},
		{"%24: bf16 = cast %23", "%30: f32 = add %23, %6\n  %24: bf16 = cast %30"},
	} {
		text := strings.Replace(blocksProduct, of[0], of[1], 1)
		if text == blocksProduct {
			t.Fatalf("the kernel has no %s", of[0])
		}
		err := Verify(parseGood(t, text))
		if err == nil || !strings.Contains(err.Error(), "ends with a multiply-add") {
			t.Errorf("with %s for %s: %v", of[1], of[0], err)
		}
	}
	text := strings.Replace(blocksProduct, "const 0.0", "const 1.0", 1)
	if err := Verify(parseGood(t, text)); err == nil || !strings.Contains(err.Error(), "start at the constant 0") {
		t.Errorf("with chains from 1: %v", err)
	}
}
