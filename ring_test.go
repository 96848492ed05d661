package heal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"healc/runtime/tensor"
)

// TestRing: functions that call each other in a ring are compiled in time that grows as their number, and may be many.
// The time is far above what they need, and below what the square of their number takes.
func TestRing(t *testing.T) {
	const n, limit = 1500, time.Minute
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "pub fn f%d(x: i32) -> i32 = if x < 1 { %d } else { f%d(x - 1) }\n", i, i, (i+1)%n)
	}
	start := time.Now()
	got, err := function(t, b.String(), "f0", Options{}).Call(context.Background(), tensor.Scalar(int32(n-1)))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if s := got.Bits()[0]; s != n-1 {
		t.Errorf("f0(%d) is %d", n-1, s)
	}
	if d := time.Since(start); d > limit {
		t.Errorf("took %v", d)
	}
}

// TestDerivedTooLong: derivatives of derivatives, and of functions that each call the next one twice, grow as powers of
// two, and end in an error.
func TestDerivedTooLong(t *testing.T) {
	nested, doubled := "fn g0(x: f64) -> f64 = tanh(x)\n", "fn g0(x: f64) -> f64 = x * 1.5\n"
	for k := range 40 {
		nested += fmt.Sprintf("fn g%d(x: f64) -> f64 = grad(g%d)(x)\n", k+1, k)
		doubled += fmt.Sprintf("fn g%d(x: f64) -> f64 = g%d(x) + g%d(x)\n", k+1, k, k)
	}
	for name, source := range map[string]string{
		"nested":  nested + "pub fn f(x: f64) -> f64 = g40(x)\n",
		"doubled": doubled + "pub fn f(x: f64) -> f64 = grad(g40)(x)\n",
	} {
		m, err := Compile(source, Options{})
		if err == nil {
			m.Close()
		}
		const want = "a function that is differentiated has more than 131072 operations"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
