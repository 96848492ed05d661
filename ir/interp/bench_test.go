package interp

import (
	"testing"

	"healc/ir"
	"healc/lang/types"
)

// BenchmarkTabulate evaluates a region of five operations for each of 2^16 elements.
func BenchmarkTabulate(b *testing.B) {
	m := parse(b, `
func @f(%x: f32[256, 256]) -> f32[256, 256] {
  %0: f32[256, 256] = tabulate {shape = [256, 256]} ^(%i: i32, %j: i32) {
    %1: f32 = index %x, %j, %i {axes = [0, 1]}
    %2: f32 = index %x, %i, %j {axes = [0, 1]}
    %3: f32 = add %1, %2
    %4: f32 = neg %3
    %5: f32 = mul %4, %1
    yield %5
  }
  return %0
}`)
	x := ir.NewArray(types.F32, 256, 256)
	for b.Loop() {
		if _, err := Run(m, "f", []*ir.Array{x}, &MemSystem{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<16), "ns/element")
}
