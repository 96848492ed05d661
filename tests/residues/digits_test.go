package residues

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
)

// digit d of x to the base 2^bits, of the bits in two's complement.
func digit(x *big.Int, d, bits int64) int64 {
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(1))
	return mask.And(mask, new(big.Int).Rsh(x, uint(d*bits))).Int64()
}

// TestDigits: g_decomposition of numbers, of tensors of rank 1 and 2.
func TestDigits(t *testing.T) {
	type gadget struct{ power, bits int64 }
	for _, dt := range []types.DType{types.I32, types.I64} {
		gadgets := []gadget{{1, 1}, {3, 2}, {4, 7}, {5, 16}, {70, 1}, {2, int64(dt.Bits()) - 1},
			{3, int64(dt.Bits()) - 1}}
		src := &strings.Builder{}
		for i, g := range gadgets {
			for rank, dims := range []string{"", "N", "M, N"} {
				fmt.Fprintf(src,
					"fn f_%d%d[M, N](a: %s[%s], m: bool[M], n: bool[N]) -> %s[%s] = g_decomposition(a, %d, %d)\n",
					i, rank, dt, dims, dt, strings.TrimPrefix(fmt.Sprintf("%s, %d", dims, g.power), ", "), g.power,
					g.bits)
			}
		}
		prog := newProgram(t, src.String())
		r := rand.New(rand.NewPCG(uint64(dt.Bits()), 3))
		turn := 0
		for _, size := range sizes {
			for i, g := range gadgets {
				for rank := range 3 {
					turn++
					a := operands(r, dt, array{}, size[2-rank:]...)
					want := build(dt, append(slices.Clone(a.shape), g.power), func(index []int64) int64 {
						return digit(big.NewInt(a.at(index[:rank]...)), index[rank], g.bits)
					})
					cpu := turn%10 == 0 && (!testing.Short() || turn%4 == 0)
					prog.check(r, fmt.Sprintf("f_%d%d", i, rank), turn+turn/10, cpu,
						[]array{a, newTensor(types.Bool, size[0]), newTensor(types.Bool, size[1])}, want)
				}
			}
		}
	}
}

// crt is the number from 0 up to the product of the moduli with the given residues.
func crt(residues []*big.Int, q []int64) *big.Int {
	all := big.NewInt(1)
	for _, m := range q {
		all.Mul(all, big.NewInt(m))
	}
	x := new(big.Int)
	for i, m := range q {
		rest := new(big.Int).Div(all, big.NewInt(m))
		inverse := big.NewInt(0)
		if m > 1 {
			inverse.ModInverse(new(big.Int).Mod(rest, big.NewInt(m)), big.NewInt(m))
		}
		x.Add(x, rest.Mul(rest, inverse.Mul(inverse, residues[i])))
	}
	return x.Mod(x, all)
}

// TestDigitsFull: g_decomposition_full against the Chinese remainder theorem.
func TestDigitsFull(t *testing.T) {
	bases := map[types.DType][][]int64{
		types.I32: {{97}, {1<<31 - 1, 1<<31 - 2}, {2, 3, 5, 7}, {1<<31 - 1, 998244353, 12289},
			{17, 13, 11, 1<<31 - 1, 7, 2}},
		types.I64: {{1<<63 - 1}, {1<<62 + 1, 1 << 62}, {1125899906826241, 1125899906629633, 1125899906424833},
			{2, 9223372036854775783, 1152921504606830593, 97, 12289},
			{1125899906826241, 97, 1152921504606830593, 1125899906629633, 3, 9223372036854775783, 1125899906424833,
				12289, 1 << 40}},
	}
	for dt, qs := range bases {
		src := &strings.Builder{}
		type gadget struct{ power, bits int64 }
		gadgets := []gadget{{1, 3}, {9, 7}, {5, int64(dt.Bits()) - 1}, {80, 1}}
		for i, g := range gadgets {
			for k, q := range qs {
				fmt.Fprintf(src,
					"fn f_%d%d[L, R](a: %s[L, %d, R], q: %s[%d]) -> %s[L, %d, R] = g_decomposition_full(a, q, %d, "+
						"%d)\n",
					i, k, dt, len(q), dt, len(q), dt, g.power, g.power, g.bits)
			}
		}
		prog := newProgram(t, src.String())
		r := rand.New(rand.NewPCG(uint64(dt.Bits()), 4))
		turn := 0
		for _, size := range sizes[:7] {
			for i, g := range gadgets {
				for k, moduli := range qs {
					turn++
					q := array{dt, []int64{int64(len(moduli))}, moduli}
					a := operands(r, dt, q, size[0], int64(len(moduli)), size[1])
					numbers := make([]*big.Int, size[0]*size[1])
					want := build(dt, []int64{size[0], g.power, size[1]}, func(x []int64) int64 {
						at := x[0]*size[1] + x[2]
						if numbers[at] == nil {
							residues := make([]*big.Int, len(moduli))
							for c := range moduli {
								residues[c] = big.NewInt(a.at(x[0], int64(c), x[2]))
							}
							numbers[at] = crt(residues, moduli)
						}
						return digit(numbers[at], x[1], g.bits)
					})
					cpu := turn%9 == 0 && (!testing.Short() || turn%2 == 0)
					prog.check(r, fmt.Sprintf("f_%d%d", i, k), turn+turn/9, cpu, []array{a, q}, want)
				}
			}
		}
	}
}

// TestPermute: permute with every pair of axes.
func TestPermute(t *testing.T) {
	dims := []string{"A", "B", "C"}
	src := &strings.Builder{}
	for along := range 3 {
		for axis := range 3 {
			if along == axis {
				continue
			}
			result := slices.Clone(dims)
			result[axis] = "J"
			fmt.Fprintf(src,
				"fn f_%d%d[A, B, C, J](a: i64[A, B, C], perms: %s[%s, J]) -> i64[%s] = permute(a, perms, %d, %d)\n",
				along, axis, []string{"i32", "i64"}[axis%2], dims[along], strings.Join(result, ", "), along, axis-3)
		}
	}
	prog := newProgram(t, src.String())
	r := rand.New(rand.NewPCG(5, 5))
	turn := 0
	for _, size := range [][4]int64{{2, 3, 4, 4}, {1, 1, 1, 1}, {3, 5, 7, 2}, {2, 0, 3, 0}, {2, 3, 33, 40}} {
		for along := range 3 {
			for axis := range 3 {
				if along == axis {
					continue
				}
				turn++
				n, j := size[axis], size[3]
				if n == 0 {
					j = 0 // nothing to take from
				}
				a := operands(r, types.I64, array{}, size[:3]...)
				perms := build([]types.DType{types.I32, types.I64}[axis%2], []int64{size[along], j},
					func([]int64) int64 {
						return r.Int64N(n)
					})
				shape := slices.Clone(size[:3])
				shape[axis] = j
				want := build(types.I64, shape, func(i []int64) int64 {
					from := slices.Clone(i)
					from[axis] = perms.at(i[along], i[axis])
					return a.at(from...)
				})
				prog.check(r, fmt.Sprintf("f_%d%d", along, axis), turn, turn%3 == 0, []array{a, perms}, want)
			}
		}
	}
}
