package analysis_test

import (
	"testing"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/lang/diag"
)

// stepped is a step of a factorisation: columns behind %1 change, in row %1 in one way and in rows behind it in
// another.
const stepped = `kernels "m"

kernel @k(inplace b0: f64[100, 80], in b1: i32[], in b2: f64[80]) over %0 in 0..100 {
  %1: i32 = load b1[0]
  %2: i32 = cast %0
  %3: bool = lt %1, %2
  %4: bool = eq %1, %2
  %5: bool = le %1, %2
  %6: bool = lt %2, %1
  parallel %7 in 0..80 {
    %8: i32 = cast %7
    %9: bool = lt %1, %8
    %10: bool = le %8, %1
    %11: bool = ne %1, %8
    %12: f64 = load b0[80*%0 + %7]
    %13: f64 = load b2[%7]
    %14: f64 = add %12, %13
    %15: bool = and %3, %9
    %16: f64 = select %15, %14, %12
    %17: bool = and %4, %9
    %18: f64 = select %17, %13, %16
    %19: f64 = select %6, %12, %18
    %20: f64 = select %10, %12, %19
    %21: f64 = select %11, %20, %12
    store b0[80*%0 + %7], %21
  }
}
`

// TestDecided: in the window of an axis a comparison that bounds it holds, its opposite does not, and one that tells
// its indices apart is still to be made.
func TestDecided(t *testing.T) {
	m, errs := kernel.Parse(diag.NewFile("m", stepped))
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	k := m.Kernels[0]
	before, body := transform.HoistInvariants(k)
	for _, c := range []struct {
		axis kernel.Ref
		want map[kernel.Ref]bool
	}{
		{0, map[kernel.Ref]bool{5: true, 6: false}},
		{7, map[kernel.Ref]bool{9: true, 10: false}},
	} {
		w := analysis.WindowOf(k, before, body, c.axis)
		got := analysis.Decided(k, before, body, c.axis, w)
		if len(got) != len(c.want) {
			t.Errorf("along %%%d, whose window is %+v, %v is decided, not %v", c.axis, w, got, c.want)
		}
		for ref, holds := range c.want {
			if is, known := got[ref]; !known || is != holds {
				t.Errorf("along %%%d, whose window is %+v, %%%d is %v (decided: %v), not %v", c.axis, w, ref, is, known,
					holds)
			}
		}
	}
}
