package residues

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"healc/lang/types"
)

// TestLongSums: sums of the largest products that go one way, as many as fit and more, beside products that go another.
func TestLongSums(t *testing.T) {
	prog := newProgram(t, "fn f[N, M](a: i64[N, M], b: i64[N, M], p: i64) -> i64[M] = modmul_axis_sum(a, b, p, 0)")
	r := rand.New(rand.NewPCG(3, 8))
	turn := 0
	for _, n := range []int64{512, 1027} {
		for _, largest := range []int64{1<<52 - 1, 1<<60 - 1, math.MaxInt64, math.MinInt64} {
			for _, p := range []int64{3, 1<<52 - 47, 1<<60 - 93, math.MaxInt64} {
				turn++
				shape := []int64{n, 19}
				a := build(types.I64, shape, func([]int64) int64 { return largest })
				b := build(types.I64, shape, func(i []int64) int64 {
					if i[0] == 7 && i[1] == 3 {
						return -1
					}
					return largest
				})
				prog.check(r, "f", turn, true, []tensor{a, b, {types.I64, nil, []int64{p}}},
					sumAlong(types.I64, shape, 0, tensor{types.I64, nil, []int64{p}}, tensor{}, func(i []int64) *big.Int { return product(a.at(i...), b.at(i...)) }))
			}
		}
	}
}
