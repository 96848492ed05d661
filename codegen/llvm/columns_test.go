package llvm

import (
	"math"
	"testing"
)

// TestColumnsOfNothing has sums down columns without rows, behind others that leave their sums on the stack: the sum of nothing is +0, and
// nothing may be read that was not written.
func TestColumnsOfNothing(t *testing.T) {
	const n = 150
	text := `kernels "t"[N]
kernel @floats(in x: f64[N, 150], out y: f64[150], out z: f64[150]) over %0 in 0..150 {
  %1: f64 = reduce sum columns %2 in 0..N {
    %3: f64 = load x[%0 + 150*%2]
    yield %3
  }
  %4: f64 = reduce sum columns %5 in 0..N {
    %6: f64 = load x[%0 + 150*%5]
    %7: f64 = mul %6, %6
    yield %7
  }
  store y[%0], %1
  store z[%0], %4
}
kernel @integers(in x: i64[N, 150], out y: i64[150], out z: i64[150]) over %0 in 0..150 {
  %1: i64 = reduce sum any %2 in 0..N {
    %3: i64 = load x[%0 + 150*%2]
    yield %3
  }
  %4: i64 = reduce prod any %5 in 0..N {
    %6: i64 = load x[%0 + 150*%5]
    yield %6
  }
  store y[%0], %1
  store z[%0], %4
}`
	for _, cpu := range levels {
		run := loadFor(t, cpu, text)
		for _, rows := range []int64{3, 0, 600, 0} {
			x, y, z := make([]float64, (rows+1)*n), make([]float64, n), make([]float64, n)
			a, b, c := make([]int64, (rows+1)*n), make([]int64, n), make([]int64, n)
			for i := range x {
				x[i], a[i] = 3, 3
			}
			run("floats", []int64{rows}, 0, n, ptr(x), ptr(y), ptr(z))
			run("integers", []int64{rows}, 0, n, ptr(a), ptr(b), ptr(c))
			product := int64(1)
			for range rows {
				product *= 3
			}
			for i := range n {
				if math.Float64bits(y[i]) != math.Float64bits(float64(3*rows)) || math.Float64bits(z[i]) != math.Float64bits(float64(9*rows)) {
					t.Fatalf("%s, %d rows: column %d is %v and %v, want %v and %v", cpu, rows, i, y[i], z[i], 3*rows, 9*rows)
				}
				if b[i] != 3*rows || c[i] != product {
					t.Fatalf("%s, %d rows: column %d is %v and %v, want %v and %v", cpu, rows, i, b[i], c[i], 3*rows, product)
				}
			}
		}
	}
}
