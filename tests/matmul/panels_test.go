package matmul

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"healc"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// TestManyPanels: products of several panels of columns, whose tiles in registers overlap where this processor has
// such, with chains of all lengths beside those of a register, and with sums that are rounded, stored as they are, or
// subnormal.
func TestManyPanels(t *testing.T) {
	halves := func(b, result, product string) string {
		return "fn f[M, K, N](a: bf16[M, K], b: bf16[" + b + "]) -> " + result + "[M, N] = " + product
	}
	bytes := func(b, product string) string {
		return "fn f[M, K, N](a: i8[M, K], b: i8[" + b + "]) -> i32[M, N] = " + product
	}
	sources := []struct {
		text   string
		elem   types.DType
		turned bool // the second factor lies along the chains
	}{
		{halves("K, N", "bf16", "a @ b"), types.BF16, false},
		{halves("K, N", "bf16", "(a @ b) .* 3.0"), types.BF16, false},
		{halves("K, N", "f32", "(a @ b) as f32"), types.BF16, false},
		{halves("N, K", "bf16", "a @ transpose(b)"), types.BF16, true},
		{bytes("K, N", "(a as i32) @ (b as i32)"), types.I8, false},
		{bytes("K, N", "(a as i32) @ (b as i32) .+ 1"), types.I8, false},
		{bytes("N, K", "(a as i32) @ transpose(b as i32)"), types.I8, true},
	}
	code := &cache.Cache{Dir: t.TempDir()} // which is the same for all numbers and for any number of threads
	sizes := [][3]int64{{68, 1, 64}, {33, 20, 100}, {36, 40, 96}, {4, 64, 70}, {70, 79, 128}, {48, 128, 160},
		{34, 300, 67}}
	for n, src := range sources {
		for i, s := range sizes {
			for _, tiny := range []bool{false, true} {
				if tiny && src.elem != types.BF16 || testing.Short() && (i+n)%2 == 0 {
					continue
				}
				rng := rand.New(rand.NewPCG(uint64(i), 12))
				factor := func(rows, columns int64) *tensor.Tensor {
					bits := make([]uint64, rows*columns)
					for i := range bits {
						switch {
						case src.elem == types.I8:
							bits[i] = rng.Uint64() & 0xff
						case tiny && i > len(bits)/2:
							bits[i] = powerOf(rng, -63, 4)
						default:
							bits[i] = powerOf(rng, 0, 3)
						}
					}
					x, err := tensor.FromBits(src.elem, []int64{rows, columns}, bits)
					if err != nil {
						t.Fatal(err)
					}
					return x
				}
				rows, columns := s[1], s[2]
				if src.turned {
					rows, columns = columns, rows
				}
				args := []*tensor.Tensor{factor(s[0], s[1]), factor(rows, columns)}
				name := fmt.Sprintf("%s of %v, tiny: %v", src.text, s, tiny)
				want := call(t, name, src.text, engine.Options{Backend: heal.Interp, Threads: 1}, args)
				for threads := 1; threads <= 2; threads++ {
					got := call(t, name, src.text, engine.Options{Threads: threads, SplitAll: true, Cache: code},
						args)
					differ(t, fmt.Sprintf("%s on %d threads", name, threads), got, want)
				}
				for _, a := range args {
					a.Close()
				}
			}
		}
	}
}
