package schedule

import (
	"strings"
	"testing"

	"healc/ir/kernel"
	"healc/lang/diag"
)

// TestTakesApart: all elements may go the second way where nothing but branches on the same condition reads the parts.
func TestTakesApart(t *testing.T) {
	const src = `kernels "t"
kernel @k(in p: u64[9], in x: u64[9, 64], out y: u64[9]) over %0 in 0..9 {
  %1: u64 = const 4096
  %2: u64 = load p[%0]
  %3: bool = lt %2, %1
  %4: bool = CHOICE %3
  %5: u64 = reduce sum any %6 in 0..64 {
    %7: u64 = load x[64*%0 + %6]
    %8: u64 = if %4 {
      %9: u64 = add %7, %1
      yield %9
    } else {
      yield %7
    }
    yield %8
  }
  %10: u64 = if %4 {
    %11: u64 = sub %5, %2
    yield %11
  } else {
    yield %5
  }
  store y[%0], %STORED
}`
	for _, c := range []struct {
		choice, stored string
		want           bool
	}{{"doublesums", "10", true}, {"doublesums", "5", false}, {"doubles", "10", false}} {
		m,
			errs := kernel.Parse(diag.NewFile("t.kernels", strings.NewReplacer("CHOICE", c.choice, "STORED",
			c.stored).Replace(src)))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		body := m.Kernels[0].Body
		var cond kernel.Ref
		kernel.Each(body, func(s *kernel.Let) {
			if s.In.Op.IsChoice() {
				cond = s.ID
			}
		})
		if got := (Code{}).TakesApart(body, cond); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
