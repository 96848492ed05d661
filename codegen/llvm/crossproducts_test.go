package llvm

import (
	"testing"
)

// TestCrosses has products of halves across each other taken off, with one factor the same for all and with one for
// each element, and what looks alike: the same halves twice, those of another number, and another shift.
func TestCrosses(t *testing.T) {
	const text = `kernels "t"
kernel @k(in x: u64[37], in y: u64[37], in m: u64[37], in p: u64[1], out r: u64[5, 37]) over %0 in 0..37 {
  %1: u64 = const 32
  %2: u64 = const 4294967295
  %3: u64 = load p[0]
  %4: u64 = load x[%0]
  %5: u64 = load y[%0]
  %6: u64 = load m[%0]
  %7: u64 = shr %4, %1
  %8: u64 = and %4, %2
  %9: u64 = shr %3, %1
  %10: u64 = and %3, %2
  %11: u64 = shr %5, %1
  %12: u64 = and %5, %2
  %13: u64 = mul %7, %10
  %14: u64 = mul %8, %9
  %15: u64 = add %13, %14
  %16: u64 = sub %6, %15
  %17: u64 = shl %16, %1
  store r[%0], %17
  %18: u64 = mul %7, %12
  %19: u64 = mul %8, %11
  %20: u64 = add %18, %19
  %21: u64 = sub %6, %20
  %22: u64 = shl %21, %1
  store r[%0 + 37], %22
  %23: u64 = mul %7, %9
  %24: u64 = mul %8, %10
  %25: u64 = add %23, %24
  %26: u64 = sub %6, %25
  %27: u64 = shl %26, %1
  store r[%0 + 74], %27
  %28: u64 = mul %7, %10
  %29: u64 = mul %12, %9
  %30: u64 = add %28, %29
  %31: u64 = sub %6, %30
  %32: u64 = shl %31, %1
  store r[%0 + 111], %32
  %33: u64 = const 31
  %34: u64 = shl %16, %33
  store r[%0 + 148], %34
}`
	const n = 37
	x, y, m, p := make([]uint64, n), make([]uint64, n), make([]uint64, n), []uint64{0xfedcba9876543210}
	for i := range x {
		z := uint64(i) + 1
		x[i], y[i], m[i] = z*0x9e3779b97f4a7c15, ^(z * z * 0xc2b2ae3d27d4eb4f), z*z*z*0x165667b19e3779f9
	}
	const low = 1<<32 - 1
	for _, cpu := range levels {
		r := make([]uint64, 5*n)
		loadFor(t, cpu, text)("k", nil, 0, n, ptr(x), ptr(y), ptr(m), ptr(p), ptr(r))
		for i := range n {
			x, y, m, p := x[i], y[i], m[i], p[0]
			for k, want := range []uint64{
				(m - (x>>32)*(p&low) - (x&low)*(p>>32)) << 32,
				(m - (x>>32)*(y&low) - (x&low)*(y>>32)) << 32,
				(m - (x>>32)*(p>>32) - (x&low)*(p&low)) << 32,
				(m - (x>>32)*(p&low) - (y&low)*(p>>32)) << 32,
				(m - (x>>32)*(p&low) - (x&low)*(p>>32)) << 31,
			} {
				if got := r[k*n+i]; got != want {
					t.Fatalf("%s: number %d of %d is %#x, want %#x", cpu, k, i, got, want)
				}
			}
		}
	}
}
