package interp

import (
	"fmt"
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

// BenchmarkMatmul multiplies matrices of several types and shapes.
func BenchmarkMatmul(b *testing.B) {
	for _, elem := range []types.DType{types.F32, types.F64, types.BF16, types.F16, types.I32} {
		for _, s := range [][3]int64{{140, 1030, 70}, {3, 2000, 40}, {270, 129, 1}, {1, 129, 270}} {
			b.Run(fmt.Sprint(elem, s), func(b *testing.B) {
				m := parse(b, fmt.Sprintf(`
func @f(%%x: %[1]s[%[2]d, %[3]d], %%y: %[1]s[%[3]d, %[4]d]) -> %[1]s[%[2]d, %[4]d] {
  %%0: %[1]s[%[2]d, %[4]d] = matmul %%x, %%y
  return %%0
}`, elem, s[0], s[1], s[2]))
				x, y := ir.NewArray(elem, s[0], s[1]), ir.NewArray(elem, s[1], s[2])
				for b.Loop() {
					if _, err := Run(m, "f", []*ir.Array{x, y}, &MemSystem{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s[0]*s[1]*s[2]), "ns/step")
			})
		}
	}
}
