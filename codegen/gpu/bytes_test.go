package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"healc/internal/engine"
	"healc/ir"
	"healc/tests/sample"
)

// TestByteProducts: products of bytes go by dp4a before sm_80 and by mma from there on, and give the interpreter's
// bits: whole tiles and parts of them, chains that end within a step, with any signs and orders of memory. A form has
// two of the sizes a day.
func TestByteProducts(t *testing.T) {
	day := sample.Today(t)
	for i, form := range []string{
		"a: i8[M, K], b: i8[K, N]) -> i32[M, N] = (a as i32) @ (b as i32)",
		"a: u8[K, M], b: i8[N, K]) -> u32[M, N] = transpose(a as u32) @ transpose(b as u32)",
		"a: i8[M, K], b: u8[N, K]) -> i32[M, N] = max((a as i32) @ transpose(b as i32) .+ 7, 0)",
		"a: u8[K, M], b: u8[K, N]) -> f32[M, N] = (transpose(a as i32) @ (b as i32)) as f32",
		"a: i8[M, K], b: i8[K, N]) -> i32[M, N] = (a as i32) @ ((b .> 1) as i32)",
	} {
		m, err := engine.Compile("fn f[M, K, N]("+form, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for k, size := range [][3]int64{{64, 64, 64}, {65, 33, 70}, {32, 130, 33}, {520, 16, 512}, {7, 3, 5},
			{5, 0, 6}} {
			if !sample.Has(day, i+k, 3) {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(size[0]), uint64(size[1])))
			bind := map[string]int64{"M": size[0], "K": size[1], "N": size[2]}
			var args []*ir.Array
			for _, p := range m.IR().Func("f").Params() {
				var shape []int64
				for _, d := range p.Type.Shape {
					n, err := d.Eval(bind)
					if err != nil {
						t.Fatal(err)
					}
					shape = append(shape, n)
				}
				a := ir.NewArray(p.Type.Elem, shape...)
				for i := range a.Bits {
					a.Bits[i] = r.Uint64() >> 56
				}
				args = append(args, a)
			}
			for _, known := range []map[string]int64{bind, nil} {
				km, err := m.Kernels("f", known, nil)
				if err != nil {
					t.Fatal(err)
				}
				free := bind
				if known != nil {
					free = nil
				}
				for arch, want := range map[string]string{"sm_75": "dp4a", "sm_80": "mma.sync"} {
					ptx, err := compiled(km, arch)
					if err != nil {
						t.Fatal(err)
					}
					if size[1] > 0 && !strings.Contains(ptx, want) {
						t.Errorf("%s of %v for %s has no %s", form, size, arch, want)
					}
					if err := agreeOn(m.IR(), km, ptx, bind, free, args); err != nil {
						t.Error(fmt.Errorf("%s of %v for %s, compiled for these extents: %t: %w", form, size, arch,
							known != nil, err))
					}
				}
			}
		}
		m.Close()
	}
}
