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
		for _, largest := range []int64{1<<51 - 1, 1<<52 - 1, 1<<60 - 1, math.MaxInt64, math.MinInt64} {
			for _, p := range []int64{3, 1<<51 - 129, 1<<52 - 47, 1<<60 - 93, math.MaxInt64} {
				turn++
				shape := []int64{n, 19}
				a := build(types.I64, shape, func([]int64) int64 { return largest })
				b := build(types.I64, shape, func(i []int64) int64 {
					if i[0] == 7 && i[1] == 3 {
						return -1
					}
					return largest
				})
				prog.check(r, "f", turn, true, []array{a, b, {types.I64, nil, []int64{p}}},
					sumAlong(types.I64, shape, 0, array{types.I64, nil, []int64{p}}, array{},
						func(i []int64) *big.Int {
							return product(a.at(i...), b.at(i...))
						}))
			}
		}
	}
}

// TestLargestSums: sums of the largest and the least numbers, as many as the high and the low parts have so many bits
// for, and one more.
func TestLargestSums(t *testing.T) {
	prog := newProgram(t, "fn f[N, M](a: i64[N, M], p: i64) -> i64[M] = axis_modsum(a, p, 0)")
	r := rand.New(rand.NewPCG(3, 9))
	turn := 0
	for _, shape := range [][]int64{{8, 43}, {127, 19}, {128, 19}, {511, 35}, {512, 35}, {1<<18 - 1, 2}, {1 << 18, 2}} {
		for _, largest := range []int64{math.MaxInt64, math.MinInt64, 1<<59 - 56, -1} {
			turn++
			p := []int64{1<<59 - 55, 3, math.MaxInt64, 1<<31 - 1}[(turn+turn/4)%4]
			a := build(types.I64, shape, func(i []int64) int64 {
				if i[0] == 7 && i[1] == 1 {
					return 5 - largest
				}
				return largest
			})
			prog.check(r, "f", turn, true, []array{a, {types.I64, nil, []int64{p}}},
				sumAlong(types.I64, shape, 0, array{types.I64, nil, []int64{p}}, array{}, func(i []int64) *big.Int {
					return big.NewInt(a.at(i...))
				}))
		}
	}
}

// TestMixedSums: moduli that suit doubles, that are too large or too small for them, and both, along a short last axis
// and one that vectors go along.
func TestMixedSums(t *testing.T) {
	prog := newProgram(t,
		"fn f[N, M, K](a: i64[N, M, K], b: i64[N, M, K], p: i64[K]) -> i64[M, K] = modmul_axis_sum(a, b, p, 0)")
	r := rand.New(rand.NewPCG(4, 9))
	suits := []int64{1<<51 - 129, 1<<50 - 27, 4096, 1<<49 - 81}
	others := []int64{1<<51 + 65, 4095, 1<<60 - 93, 1}
	for turn, c := range []struct {
		shape []int64
		kinds [][]int64
	}{
		{[]int64{9, 37, 4}, [][]int64{suits}}, {[]int64{9, 37, 4}, [][]int64{others}},
		{[]int64{9, 37, 4}, [][]int64{suits, others}},
		{[]int64{33, 5, 3}, [][]int64{suits, others}}, {[]int64{600, 2, 200}, [][]int64{suits, others}},
		{[]int64{8, 1, 2}, [][]int64{suits}},
	} {
		kinds := c.kinds
		p := build(types.I64, c.shape[2:], func(i []int64) int64 {
			return kinds[int(i[0])%len(kinds)][i[0]/int64(len(kinds))%4]
		})
		next := func(i []int64) int64 {
			if r.IntN(500) == 0 {
				return r.Int64() - r.Int64()
			}
			return r.Int64N(p.at(i[2]))
		}
		a, b := build(types.I64, c.shape, next), build(types.I64, c.shape, next)
		prog.check(r, "f", turn, true, []array{a, b, p},
			sumAlong(types.I64, c.shape, 0, p, array{}, func(i []int64) *big.Int {
				return product(a.at(i...), b.at(i...))
			}))
	}
}

// TestRowsOfSums: sums of products that lie side by side, whose residues are taken some at a time.
func TestRowsOfSums(t *testing.T) {
	prog := newProgram(t,
		"fn f[M, K, N](a: i64[M, K, N], b: i64[M, K, N], p: i64[K]) -> i64[M, K] = modmul_axis_sum(moveaxis(a, -1, "+
			"0), moveaxis(b, -1, 0), p, 0)")
	r := rand.New(rand.NewPCG(5, 1))
	for turn, shape := range [][]int64{{1, 3, 9}, {37, 4, 33}, {50, 2, 8}, {2, 4, 600}, {3, 4, 1}, {5, 4, 20}} {
		kinds := [][]int64{{1<<51 - 129, 4096}, {1<<60 - 93, 17}, {1<<50 - 27, 1<<59 - 55}}[turn%3]
		p := build(types.I64, shape[1:2], func(i []int64) int64 { return kinds[i[0]%2] })
		next := func(i []int64) int64 {
			if r.IntN(200) == 0 {
				return r.Int64() - r.Int64()
			}
			return r.Int64N(p.at(i[1]))
		}
		a, b := build(types.I64, shape, next), build(types.I64, shape, next)
		at := func(x array, i []int64) int64 { return x.at(i[1], i[2], i[0]) }
		prog.check(r, "f", turn, true, []array{a, b, p},
			sumAlong(types.I64, []int64{shape[2], shape[0], shape[1]}, 0, p, array{}, func(i []int64) *big.Int {
				return product(at(a, i), at(b, i))
			}))
	}
}

// TestOneLongFactor: sums of products of residues but one number, which has all rows of its columns added again.
func TestOneLongFactor(t *testing.T) {
	prog := newProgram(t,
		"fn f[N, M, K](a: i64[N, M, K], b: i64[N, M, K], p: i64[K]) -> i64[M, K] = modmul_axis_sum(a, b, p, 0)")
	r := rand.New(rand.NewPCG(5, 1))
	shape := []int64{11, 70, 4}
	for turn, long := range []int64{-1, 1 << 51, 1<<52 + 1, 3<<51 - 1, 1 << 53, 0x433 << 52, -1 << 63, 1<<63 - 1,
		-0x433 << 52, -1 << 52} {
		bits := []int{51, 49, 60, 50}[turn%4]
		p := build(types.I64, shape[2:], func(i []int64) int64 { return 1<<bits - 1 - 2*i[0] })
		factors := [2]array{}
		for k := range factors {
			factors[k] = build(types.I64, shape, func(i []int64) int64 { return 1 + r.Int64N(p.at(i[2])-1) })
		}
		data := factors[turn%2]
		data.v[data.flat([]int64{int64(turn) % shape[0], r.Int64N(shape[1]), r.Int64N(shape[2])})] = long
		prog.check(r, "f", turn, true, []array{factors[0], factors[1], p},
			sumAlong(types.I64, shape, 0, p, array{}, func(i []int64) *big.Int {
				return product(factors[0].at(i...), factors[1].at(i...))
			}))
	}
}
