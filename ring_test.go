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
