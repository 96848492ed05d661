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

// sumAlong adds big integers along an axis and reduces them, term giving those of an index of the operand's shape.
func sumAlong(dt types.DType, shape []int64, axis int, p array, acc array, term func(index []int64) *big.Int) array {
	rest := slices.Delete(slices.Clone(shape), axis, axis+1)
	return build(dt, rest, func(index []int64) int64 {
		sum := new(big.Int)
		if acc.v != nil {
			sum.SetInt64(acc.at(index...))
		}
		for s := range shape[axis] {
			sum.Add(sum, term(slices.Insert(slices.Clone(index), axis, s)))
		}
		return residue(sum, p.at(index...))
	})
}

func product(x, y int64) *big.Int { return new(big.Int).Mul(big.NewInt(x), big.NewInt(y)) }

var sumSizes = [][4]int64{{2, 3, 4, 5}, {1, 1, 1, 1}, {0, 3, 2, 2}, {3, 0, 2, 4}, {2, 2, 0, 3}, {2, 3, 5, 0},
	{1, 2, 300, 2}, {3, 5, 7, 33}}

// TestSums: axis_modsum and modmul_axis_sum along every axis but the last, with factors that broadcast, an addend, and
// permutations of every other axis.
func TestSums(t *testing.T) {
	for _, dt := range []types.DType{types.I32, types.I64} {
		t.Run(dt.String(), func(t *testing.T) { testSums(t, dt) })
	}
}

func testSums(t *testing.T, dt types.DType) {
	dims := []string{"A", "B", "C", "K"}
	src := &strings.Builder{}
	// Operands have rank 4: a whole one, one of rank 2 that broadcasts, results of rank 3.
	header := func(name string, axis int, p, perm string, result string) {
		fmt.Fprintf(src,
			"fn %s[A, B, C, K](a: %s[A, B, C, K], b: %s[A, B, C, K], d: %s[C, K], acc: %s[%s], p: %s%s, perm: %s) -> "+
				"%s[%s] = ",
			name, dt, dt, dt, dt, result, dt, p, perm, dt, result)
	}
	for axis := range 3 {
		for k, p := range []string{"", "[K]"} {
			result := strings.Join(slices.Delete(slices.Clone(dims), axis, axis+1), ", ")
			header(fmt.Sprintf("sum_%d%d", axis, k), axis, p, "i32[1]", result)
			fmt.Fprintf(src, "axis_modsum(a, p, %d)\n", axis-4*k)
			header(fmt.Sprintf("dot_%d%d", axis, k), axis, p, "i32[1]", result)
			fmt.Fprintf(src, "modmul_axis_sum(a, b, p, axis = %d)\n", axis)
			header(fmt.Sprintf("acc_%d%d", axis, k), axis, p, "i32[1]", result)
			fmt.Fprintf(src, "modmul_axis_sum(d, a, p, %d, acc = acc)\n", axis-4)
			for along, name := range dims {
				if along == axis {
					continue
				}
				// `perm_axis` is left out where it has its default.
				where := fmt.Sprintf(", perm_axis = %d", along)
				if along == axis-1 || axis == 0 && along == 1 {
					where = ""
				}
				index := []string{"i32", "i64"}[k]
				for _, mode := range []string{"gather", "scatter"} {
					header(fmt.Sprintf("%s_%d%d%d", mode, axis, k, along), axis, p, fmt.Sprintf("%s[%s]", index, name),
						result)
					fmt.Fprintf(src, "modmul_axis_sum(a, b, p, %d, acc = acc, perm = perm, mode = %s%s)\n", axis, mode,
						where)
				}
			}
		}
	}
	prog := newProgram(t, src.String())
	r := rand.New(rand.NewPCG(uint64(dt.Bits()), 2))
	turn := 0
	for s, size := range sumSizes {
		shape := size[:]
		for axis := range 3 {
			for k := range 2 {
				p := moduli(r, dt, shape[3:][:k]...)
				a, b, d := operands(r, dt, p, shape...), operands(r, dt, p, shape...), operands(r, dt, p, shape[2:]...)
				rest := slices.Delete(slices.Clone(shape), axis, axis+1)
				acc := operands(r, dt, p, rest...)
				run := func(name string, perm array, want array) {
					turn++
					cpu := (turn+s)%9 == 0 && (!testing.Short() || turn%4 == 0)
					prog.check(r, fmt.Sprintf("%s_%d%d", name, axis, k), turn+turn/9, cpu,
						[]array{a, b, d, acc, p, perm}, want)
				}
				none := newTensor(types.I32, 1)
				run("sum", none, sumAlong(dt, shape, axis, p, array{}, func(i []int64) *big.Int {
					return big.NewInt(a.at(i...))
				}))
				run("dot", none, sumAlong(dt, shape, axis, p, array{}, func(i []int64) *big.Int {
					return product(a.at(i...), b.at(i...))
				}))
				run("acc", none, sumAlong(dt, shape, axis, p, acc, func(i []int64) *big.Int {
					return product(a.at(i...), d.at(i...))
				}))
				for along := range 4 {
					if along == axis {
						continue
					}
					n := shape[along]
					perm := build([]types.DType{types.I32, types.I64}[k], []int64{n}, func([]int64) int64 {
						return r.Int64N(n)
					})
					name := func(mode string) string { return fmt.Sprintf("%s_%d%d%d", mode, axis, k, along) }
					turn++
					cpu := (turn+s)%9 == 0 && (!testing.Short() || turn%4 == 0)
					args := []array{a, b, d, acc, p, perm}
					permuted := func(i []int64) *big.Int {
						from := slices.Clone(i)
						from[along] = perm.v[i[along]]
						return product(a.at(i...), b.at(from...))
					}
					prog.check(r, name("gather"), turn+turn/9, cpu, args, sumAlong(dt, shape, axis, p, acc, permuted))
					prog.check(r, name("scatter"), turn+turn/9, cpu, args,
						scattered(dt, axis, along, p, acc, perm, sumAlong(dt, shape, axis, p, array{}, permuted)))
				}
			}
		}
	}
}

// scattered is modmul_axis_sum with mode = scatter: the sum that belongs to index n of an axis, with the second factor
// read at perm[n], is added at perm[n]. Where that is the axis of the moduli, the sum is one modulo p[n], and the
// result one modulo p[perm[n]].
func scattered(dt types.DType, axis, along int, p, acc, perm, sums array) array {
	total := make([]*big.Int, len(acc.v))
	for i, v := range acc.v {
		total[i] = big.NewInt(v)
	}
	if along > axis {
		along--
	}
	each(acc.shape, func(index []int64) {
		to := slices.Clone(index)
		to[along] = perm.v[index[along]]
		at := acc.flat(to)
		total[at].Add(total[at], big.NewInt(sums.at(index...)))
	})
	return build(dt, acc.shape, func(index []int64) int64 { return residue(total[acc.flat(index)], p.at(index...)) })
}
