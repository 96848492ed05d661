package transform_test

import (
	"testing"

	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// TestMergeBodies: what two sums have in common stands once, branches on one condition are one, and each sum still has
// its own value.
func TestMergeBodies(t *testing.T) {
	sums := reductions(parse(t, `kernels "t"[N]
kernel @k(in x: i64[N, 8], out y: i64[8], out z: i64[8]) over %0 in 0..8 {
  %1: i64 = const 0
  %2: i64 = const 5
  %3: i64 = reduce sum any %4 in 0..N {
    %5: i64 = load x[%0 + 8*%4]
    %6: bool = lt %5, %1
    %7: i64 = if %6 {
      %8: i64 = mul %5, %2
      yield %8
    } else {
      yield %5
    }
    yield %7
  }
  %9: i64 = reduce sum any %10 in 0..N {
    %11: i64 = load x[%0 + 8*%10]
    %12: bool = lt %11, %1
    %13: i64 = if %12 {
      %14: i64 = mul %11, %2
      %15: i64 = add %14, %14
      yield %15
    } else {
      %16: i64 = mul %11, %11
      yield %16
    }
    yield %13
  }
  store y[%0], %3
  store z[%0], %9
}`).Kernels[0])
	out := transform.MergeBodies(sums)
	stmts := out[0].Body.Stmts
	if len(stmts) != 3 || len(out[1].Body.Stmts) != 0 {
		t.Fatalf("%d statements, and %d in the second body, want 3 and 0", len(stmts), len(out[1].Body.Stmts))
	}
	branch, ok := stmts[2].(*kernel.If)
	if !ok || len(branch.IDs) != 2 || len(branch.Then.Stmts) != 2 || len(branch.Else.Stmts) != 1 {
		t.Fatalf("the branches are %+v", stmts[2])
	}
	if out[0].Val != branch.IDs[0] || out[1].Val != branch.IDs[1] || branch.ElseVals[0] != stmts[0].(*kernel.Load).ID {
		t.Errorf("the sums are of %v and %v, of branches that give %v", out[0].Val, out[1].Val, branch.IDs)
	}
	if first := sums[0].Body.Stmts[2].(*kernel.If); len(first.IDs) != 1 || len(first.Then.Stmts) != 1 {
		t.Error("the body of the first sum has been changed")
	}
}
