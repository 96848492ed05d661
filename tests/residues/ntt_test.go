package residues

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
)

// primeBelow is the largest prime below a limit that is 1 modulo 2m.
func primeBelow(limit, m int64) int64 {
	for p := (limit-2)/(2*m)*(2*m) + 1; p > 1; p -= 2 * m {
		if big.NewInt(p).ProbablyPrime(20) {
			return p
		}
	}
	panic("BUG in the test: there is no such prime")
}

func power(x, e, p int64) int64 {
	return new(big.Int).Exp(big.NewInt(x), big.NewInt(e), big.NewInt(p)).Int64()
}

// rootOf is a number of order 2m modulo p, for a power of two m.
func rootOf(p, m int64) int64 {
	for x := int64(2); ; x++ {
		if y := power(x, (p-1)/(2*m), p); power(y, m, p) == p-1 {
			return y
		}
	}
}

func bitrev(i, m int64) int64 {
	return int64(bits.Reverse64(uint64(i)) >> (bits.LeadingZeros64(uint64(m)) + 1) & uint64(m-1))
}

// tables are what ntt and intt take for moduli p and the length m.
func tables(dt types.DType, p []int64, m int64) (moduli, forward, backward, inverse array) {
	k := int64(len(p))
	roots := make([]int64, k)
	for i, q := range p {
		roots[i] = rootOf(q, m)
	}
	forward = build(dt, []int64{k, m}, func(x []int64) int64 { return power(roots[x[0]], bitrev(x[1], m), p[x[0]]) })
	backward = build(dt, []int64{k, m}, func(x []int64) int64 {
		return power(roots[x[0]], (2*m-bitrev(x[1], m))%(2*m), p[x[0]])
	})
	inverse = build(dt, []int64{k}, func(x []int64) int64 { return power(m%p[x[0]], p[x[0]]-2, p[x[0]]) })
	return array{dt, []int64{k}, p}, forward, backward, inverse
}

// transform is the definition: value i is the sum of a[j] * psi^((2 bitrev(perm[i]) + 1) j).
func transform(dt types.DType, a, p, twiddles array, axis int, perm []int64) array {
	m, channel := a.shape[axis], len(a.shape)-1
	if axis == channel {
		channel--
	}
	return build(dt, a.shape, func(x []int64) int64 {
		q := p.v[x[channel]]
		psi := twiddles.at(x[channel], bitrev(1, m))
		i := x[axis]
		if perm != nil {
			i = perm[i]
		}
		w := power(psi, 2*bitrev(i, m)+1, q)
		// Horner's rule, from the last coefficient.
		sum, at := new(big.Int), slices.Clone(x)
		for j := m - 1; j >= 0; j-- {
			at[axis] = j
			sum.Mul(sum, big.NewInt(w))
			sum.Mod(sum.Add(sum, big.NewInt(a.at(at...))), big.NewInt(q))
		}
		return sum.Int64()
	})
}

// TestNtt: ntt against its definition and intt as its inverse, in both layouts, with and without the permutation, at
// all lengths up to 64, for operands outside of the residues, narrower ones that widen, and no elements.
func TestNtt(t *testing.T) {
	src := &strings.Builder{}
	shapes := []string{"L, M, R, K", "L, R, K, M"}
	for _, dt := range []types.DType{types.I32, types.I64} {
		for _, from := range []types.DType{types.I8, types.I32, types.I64} {
			if from.Bits() > dt.Bits() {
				continue
			}
			for i, axis := range []int{-3, -1} {
				params := fmt.Sprintf(
					"[L, M, R, K](a: %s[%s], p: %s[K], w: %s[K, M], v: %s[K, M], n: %s[K], perm: i32[M])", from,
					shapes[i], dt, dt, dt, dt)
				result := fmt.Sprintf("%s[%s]", dt, shapes[i])
				axisText := []string{"", ", axis = -1"}[i]
				fmt.Fprintf(src, "fn gathered_%s_%s_%d%s -> %s = ntt(a, p, w, perm%s)\n", dt, from, -axis, params,
					result, axisText)
				fmt.Fprintf(src, "fn plain_%s_%s_%d%s -> %s = ntt(a, p, w, perm, axis = %d, skip_perm = true)\n", dt,
					from, -axis, params, result, axis)
				fmt.Fprintf(src, "fn back_%s_%s_%d%s -> %s = intt(ntt(a, p, w, perm%s), p, v, n, perm, axis = %d)\n",
					dt, from, -axis, params, result, axisText, axis)
			}
		}
	}
	prog := newProgram(t, src.String())
	r := rand.New(rand.NewPCG(6, 6))
	turn := 0
	for _, dt := range []types.DType{types.I32, types.I64} {
		for _, m := range []int64{1, 2, 4, 8, 16, 32, 64} {
			_, hi := limits(dt)
			primes := []int64{primeBelow(hi, m), primeBelow(1<<20, m), primeBelow(1<<(dt.Bits()-3), m)}
			if dt == types.I64 {
				primes[2] = primeBelow(1<<50, m)
			}
			p, w, v, n := tables(dt, primes, m)
			for _, from := range []types.DType{types.I8, types.I32, types.I64} {
				if from.Bits() > dt.Bits() {
					continue
				}
				for i, axis := range []int{1, 3} {
					turn++
					l, rest := int64(turn%3), int64(1+turn%4/3)
					shape := [][]int64{{l, m, rest, 3}, {l, rest, 3, m}}[i]
					a := operands(r, from, p, shape...)
					perm := array{types.I32, []int64{m}, nil}
					for _, x := range r.Perm(int(m)) {
						perm.v = append(perm.v, int64(x))
					}
					args := []array{a, p, w, v, n, perm}
					name := func(what string) string {
						return fmt.Sprintf("%s_%s_%s_%d", what, dt, from, []int{3, 1}[i])
					}
					cpu := turn%3 == 0 && (!testing.Short() || turn%2 == 0)
					prog.check(r, name("gathered"), turn, cpu, args, transform(dt, a, p, w, axis, perm.v))
					prog.check(r, name("plain"), turn, cpu, args, transform(dt, a, p, w, axis, nil))
					channel := []int{3, 2}[i]
					prog.check(r, name("back"), turn, cpu, args, build(dt, shape, func(x []int64) int64 {
						return residue(big.NewInt(a.at(x...)), primes[x[channel]])
					}))
				}
			}
		}
	}
}
