package analysis_test

import (
	"slices"
	"testing"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/lang/diag"
)

// edged is a kernel in which each of six parameters is read under other conditions.
const edged = `kernels "m"

kernel @k(in b0: f64[8], in b1: f64[8], in b2: f64[8], in b3: f64[8], in b5: f64[8], in b6: i64[], out b4: f64[100, 8]) over %0 in 0..100 {
  %1: i64 = const 2
  %2: i64 = const 99
  %3: i64 = const 5
  %4: bool = lt %0, %1
  %5: i64 = add %0, %1
  %6: bool = le %2, %5
  parallel %7 in 0..8 {
    %8: bool = lt %7, %3
    %9: bool = and %4, %8
    %10: f64 = if %9 {
      %11: f64 = load b0[%7]
      yield %11
    } else {
      %12: f64 = if %6 {
        %13: f64 = load b1[%7]
        yield %13
      } else {
        %14: f64 = load b2[%7]
        yield %14
      }
      yield %12
    }
    %15: f64 = load b3[%7]
    %16: f64 = add %10, %15
    %17: i64 = load b6[0]
    %18: i32 = cast %17
    %19: i32 = cast %0
    %20: i32 = add %19, %18
    %21: i32 = const 1
    %22: i32 = sub %20, %21
    %23: i32 = sub %22, %18
    %24: i64 = cast %23
    %25: bool = lt %24, %1
    %26: f64 = if %25 {
      %27: f64 = load b5[%7]
      yield %27
    } else {
      yield %15
    }
    %28: f64 = add %16, %26
    store b4[8*%0 + %7], %28
  }
}
`

// TestEdges: where parameters are read follows from the conditions around.
func TestEdges(t *testing.T) {
	m, errs := kernel.Parse(diag.NewFile("m", edged))
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	want := []analysis.Edge{{First: 2}, {Last: 3}, {First: 97}, {First: 100}, {First: 3}, {First: 100}, {}}
	if got := analysis.EdgesOf(m.Kernels[0]); !slices.Equal(got, want) {
		t.Errorf("parameters are read at %v, not %v", got, want)
	}
}
