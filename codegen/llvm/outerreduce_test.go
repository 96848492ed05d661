package llvm

import (
	"fmt"
	"math"
	"testing"
)

// TestColumnsOfNothing has sums down columns without rows, behind others that leave their sums on the stack: the sum of
// nothing is +0, and nothing may be read that was not written.
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
				if math.Float64bits(y[i]) != math.Float64bits(float64(3*rows)) ||
					math.Float64bits(z[i]) != math.Float64bits(float64(9*rows)) {
					t.Fatalf("%s, %d rows: column %d is %v and %v, want %v and %v", cpu, rows, i, y[i], z[i], 3*rows,
						9*rows)
				}
				if b[i] != 3*rows || c[i] != product {
					t.Fatalf("%s, %d rows: column %d is %v and %v, want %v and %v", cpu, rows, i, b[i], c[i], 3*rows,
						product)
				}
			}
		}
	}
}

// TestFewColumns has sums down fewer columns than a strip has in a vector, of one and of several matrices, and nothing
// is written beside them.
func TestFewColumns(t *testing.T) {
	const groups, rows = 3, 21
	for _, n := range []int64{2, 3, 4, 5, 7, 8, 12, 15, 16, 20, 31} {
		text := fmt.Sprintf(`kernels "t"
kernel @k(in x: f32[%[1]d, %[2]d, %[3]d], in a: i64[%[1]d, %[2]d, %[3]d], out y: f32[%[1]d, %[3]d], out z: i64[%[1]d, %[3]d]) over %%0 in 0..%[1]d, %%1 in 0..%[3]d {
  %%2: f32 = reduce sum columns %%3 in 0..%[2]d {
    %%4: f32 = load x[%[4]d*%%0 + %%1 + %[3]d*%%3]
    yield %%4
  }
  store y[%[3]d*%%0 + %%1], %%2
  %%5: i64 = const 7
  %%6: i64 = reduce sum any %%7 in 0..%[2]d {
    %%8: i64 = load a[%[4]d*%%0 + %%1 + %[3]d*%%7]
    %%9: i64 = shr %%8, %%5
    yield %%9
  }
  %%10: i64 = reduce sum any %%11 in 0..%[2]d {
    %%12: i64 = load a[%[4]d*%%0 + %%1 + %[3]d*%%11]
    yield %%12
  }
  %%13: i64 = sub %%10, %%6
  store z[%[3]d*%%0 + %%1], %%13
}`, groups, rows, n, rows*n)
		x, a := make([]float32, groups*rows*n), make([]int64, groups*rows*n)
		for i := range x {
			x[i], a[i] = 1/float32(i+1), int64(i*i*977-i*31)
		}
		for _, cpu := range levels {
			run := loadFor(t, cpu, text)
			y, z := make([]float32, groups*n+2), make([]int64, groups*n+2)
			run("k", nil, 0, groups, ptr(x), ptr(a), ptr(y[1:]), ptr(z[1:]))
			for i := range int64(len(y)) {
				want, whole := float32(0), int64(0)
				if g, c := (i-1)/n, (i-1)%n; i > 0 && g < groups {
					for r := range int64(rows) {
						at := (g*rows+r)*n + c
						want += x[at]
						whole += a[at] - a[at]>>7
					}
				}
				if math.Float32bits(y[i]) != math.Float32bits(want) || z[i] != whole {
					t.Fatalf("%s, %d columns: sum %d is %v and %v, want %v and %v", cpu, n, i-1, y[i], z[i], want,
						whole)
				}
			}
		}
	}
}

// TestHighSums has sums of the upper bits of numbers down columns, of the largest and the least numbers and of as many
// as 32 bits hold the sum of, one less and one more, which stand for themselves in what is computed of them.
func TestHighSums(t *testing.T) {
	const n = 43
	for _, c := range []struct {
		rows, shift int64
	}{{8, 36}, {9, 36}, {15, 36}, {16, 36}, {17, 36}, {64, 43}, {127, 40}, {256, 40}, {30, 63}, {3, 33}, {21, 31}} {
		text := fmt.Sprintf(`kernels "t"
kernel @one(in a: i64[%[1]d, %[2]d], out y: i64[%[2]d]) over %%0 in 0..%[2]d {
  %%1: i64 = const %[3]d
  %%2: i64 = reduce sum any %%3 in 0..%[1]d {
    %%4: i64 = load a[%%0 + %[2]d*%%3]
    %%5: i64 = shr %%4, %%1
    yield %%5
  }
  store y[%%0], %%2
}
kernel @two(in a: i64[%[1]d, %[2]d], out y: i64[%[2]d]) over %%0 in 0..%[2]d {
  %%1: i64 = const %[3]d
  %%2: i64 = reduce sum any %%3 in 0..%[1]d {
    %%4: i64 = load a[%%0 + %[2]d*%%3]
    %%5: i64 = shr %%4, %%1
    yield %%5
  }
  %%6: i64 = reduce sum any %%7 in 0..%[1]d {
    %%8: i64 = load a[%%0 + %[2]d*%%7]
    yield %%8
  }
  %%9: i64 = xor %%2, %%6
  store y[%%0], %%9
}`, c.rows, n, c.shift)
		for _, cpu := range levels {
			run := loadFor(t, cpu, text)
			for _, number := range []func(i int64) int64{
				func(i int64) int64 { return math.MaxInt64 },
				func(i int64) int64 { return math.MinInt64 },
				func(i int64) int64 { return i*i*i*0x1b873593cc9e2d51 - i },
			} {
				a := make([]int64, c.rows*n)
				for i := range a {
					a[i] = number(int64(i))
				}
				one, two := make([]int64, n), make([]int64, n)
				run("one", nil, 0, n, ptr(a), ptr(one))
				run("two", nil, 0, n, ptr(a), ptr(two))
				for j := range int64(n) {
					high, whole := int64(0), int64(0)
					for r := range c.rows {
						high, whole = high+a[r*n+j]>>c.shift, whole+a[r*n+j]
					}
					if one[j] != high || two[j] != high^whole {
						t.Fatalf("%s, %d rows, shift %d, column %d: %d and %d, want %d and %d", cpu, c.rows, c.shift, j,
							one[j], two[j], high, high^whole)
					}
				}
			}
		}
	}
}
