package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
)

// TestTransforms: lengths of one part, of several, elements that are residues and such that are not, small and large
// moduli.
func TestTransforms(t *testing.T) {
	moduli := []int64{257, 1<<30 - 35, 1<<50 - 27, 1<<60 - 93, 1<<59 + 1, 1 << 40, 3}
	for _, n := range []int64{64, 256, 4096, 8192, 1 << 16} {
		if testing.Short() && n > 256 {
			break
		}
		for _, residues := range []bool{true, false} {
			if !residues && n > 64 {
				continue
			}
			p := moduli
			if n > 256 {
				p = moduli[3:4]
			}
			k := int64(len(p))
			shape := fmt.Sprintf("i64[1, 1, %d, %d]", k, n)
			rest := fmt.Sprintf("p: i64[%d], w: i64[%d, %d], perm: i64[%d]", k, k, n, n)
			forward := fmt.Sprintf("fn f(a: %s, %s) -> %s = ntt(a, p, w, perm, axis = -1, skip_perm = true)", shape,
				rest, shape)
			inverse := fmt.Sprintf("fn f(a: %s, %s, s: i64[%d]) -> %s = intt(a, p, w, s, perm, axis = -1)", shape, rest,
				k, shape)
			r := rand.New(rand.NewPCG(5, uint64(n)))
			draw := func(shape ...int64) *ir.Array {
				a := &ir.Array{DType: types.I64, Shape: shape}
				for c := range k {
					for range n {
						if len(a.Bits) == 0 && len(shape) == 1 {
							break
						}
						x := uint64(r.Int64N(p[c]))
						if !residues {
							x = r.Uint64()
						}
						a.Bits = append(a.Bits, x)
					}
				}
				return a
			}
			args := []*ir.Array{draw(1, 1, k, n), {DType: types.I64, Shape: []int64{k}}, draw(k, n),
				{DType: types.I64, Shape: []int64{n}}}
			scale := &ir.Array{DType: types.I64, Shape: []int64{k}}
			for _, m := range p {
				args[1].Bits = append(args[1].Bits, uint64(m))
				scale.Bits = append(scale.Bits, uint64(r.Int64N(m)))
			}
			for i := range uint64(n) {
				args[3].Bits = append(args[3].Bits, i)
			}
			for i, source := range []string{forward, inverse} {
				m, err := engine.Compile(source, engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				km, err := m.Kernels("f", nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := agree(m.IR(), km, "sm_70", nil, nil, append(args, scale)[:len(args)+i]); err != nil {
					t.Errorf("%d elements, residues %v, inverse %v: %v", n, residues, i == 1, err)
				}
				m.Close()
			}
		}
	}
}
