package transform_test

import (
	"testing"

	"healc/ir/kernel/transform"
)

// TestLargeConstant: where a constant says that the modulus is too large for digits, they are not taken on any
// processor.
func TestLargeConstant(t *testing.T) {
	m := parse(t, `kernels "t"
kernel @k(in x: u64[1000], out y: u64[1000]) over %0 in 0..1000 {
  %1: u64 = load x[%0]
  %2: bool = const false
  %3: bool = digits52 %2
  %4: u64 = if %3 {
    %5: u64 = mul52hi %1, %1, %1
    yield %5
  } else {
    yield %1
  }
  store y[%0], %4
}`)
	if !transform.HasDigits(m.Kernels[0]) {
		t.Error("no digits")
	}
	for _, has := range []transform.Ways{{}, {Digits: true}, {Doubles: true}, {KeepDigits: true},
		{Digits: true, Doubles: true}, {Digits: true, KeepDigits: true}, {Doubles: true, KeepDigits: true},
		{Digits: true, Doubles: true, KeepDigits: true}} {
		if transform.HasDigits(transform.Specialise(m, has).Kernels[0]) {
			t.Errorf("%+v multiplies digits", has)
		}
	}
}
