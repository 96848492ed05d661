package residues

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"healc/lang/types"
)

// definition is an element-wise function of a, b and p.
type definition func(a, b *big.Int, p int64) int64

var (
	sumOf  definition = func(a, b *big.Int, p int64) int64 { return residue(new(big.Int).Add(a, b), p) }
	diffOf definition = func(a, b *big.Int, p int64) int64 { return residue(new(big.Int).Sub(a, b), p) }
	prodOf definition = func(a, b *big.Int, p int64) int64 { return residue(new(big.Int).Mul(a, b), p) }
	negOf  definition = func(a, _ *big.Int, p int64) int64 { return residue(new(big.Int).Neg(a), p) }
	modOf  definition = func(a, _ *big.Int, p int64) int64 { return residue(a, p) }
	powOf  definition = func(a, b *big.Int, p int64) int64 {
		base := new(big.Int).Mod(a, big.NewInt(p))
		return residue(new(big.Int).Exp(base, b, big.NewInt(p)), p)
	}
	invOf definition = func(a, _ *big.Int, p int64) int64 {
		base := new(big.Int).Mod(a, big.NewInt(p))
		if p == 1 {
			return 0
		}
		return new(big.Int).ModInverse(base, big.NewInt(p)).Int64()
	}
)

// pointwise applies a definition with broadcasting.
func pointwise(f definition, a, b, p array) array {
	shape := broadcast(broadcast(a.shape, b.shape), p.shape)
	return build(a.dt, shape, func(i []int64) int64 {
		return f(big.NewInt(a.at(i...)), big.NewInt(b.at(i...)), p.at(i...))
	})
}

func broadcast(a, b []int64) []int64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append([]int64{}, a...)
	for k, d := range b {
		if at := len(a) - len(b) + k; out[at] == 1 {
			out[at] = d
		}
	}
	return out
}

// forms are the shapes that an operand of an element-wise function takes for extents M and N.
var forms = []struct {
	name, text string
	shape      func(m, n int64) []int64
}{
	{"number", "", func(_, _ int64) []int64 { return nil }},
	{"row", "[N]", func(_, n int64) []int64 { return []int64{n} }},
	{"column", "[M, 1]", func(m, _ int64) []int64 { return []int64{m, 1} }},
	{"full", "[M, N]", func(m, n int64) []int64 { return []int64{m, n} }},
}

// resultText is the shape of what operands of three forms give.
func resultText(i, j, k int) string {
	row, column := false, false
	for _, f := range []int{i, j, k} {
		row = row || f == 1 || f == 3
		column = column || f == 2 || f == 3
	}
	switch {
	case row && column:
		return "[M, N]"
	case row:
		return "[N]"
	case column:
		return "[M, 1]"
	}
	return ""
}

// sizes are around the vectors of the CPUs, and without elements.
var sizes = [][2]int64{{3, 5}, {1, 1}, {2, 17}, {0, 4}, {5, 0}, {1, 64}, {4, 33}, {2, 300}}

// TestElementwise: modsum, modsub, modmul, modneg, mod, modpow and modinv in every form of their operands.
func TestElementwise(t *testing.T) {
	for _, dt := range []types.DType{types.I32, types.I64} {
		t.Run(dt.String(), func(t *testing.T) { testElementwise(t, dt) })
	}
}

func testElementwise(t *testing.T, dt types.DType) {
	src := &strings.Builder{}
	for i, a := range forms {
		for j, b := range forms {
			for k, p := range forms[:2] {
				ty := func(shape string) string { return dt.String() + shape }
				y, u := ty(resultText(i, j, k)), ty(resultText(i, i, k))
				params := fmt.Sprintf("[M, N](a: %s, b: %s, e: %s, c: %s, p: %s, m: bool[M], n: bool[N])", ty(a.text),
					ty(b.text), ty(b.text), ty(a.text), ty(p.text))
				fmt.Fprintf(src,
					"fn two_%d%d%d%s -> (%s, %s, %s, %s) = (modsum(a, b, p), modsub(a, b, p), modmul(a, b, p), "+
						"modpow(a, e, p))\n", i, j, k, params, y, y, y, y)
				if j == 0 {
					fmt.Fprintf(src, "fn one_%d%d%d%s -> (%s, %s, %s) = (modneg(a, p), mod(a, p), modinv(c, p))\n", i,
						j, k, params, u, u, u)
				}
			}
		}
	}
	prog := newProgram(t, src.String())
	r := rand.New(rand.NewPCG(uint64(dt.Bits()), 1))
	turn := 0
	for s, size := range sizes {
		for i, fa := range forms {
			for j, fb := range forms {
				for k, fp := range forms[:2] {
					turn++
					m, n := size[0], size[1]
					p := moduli(r, dt, fp.shape(m, n)...)
					a, b := operands(r, dt, p, fa.shape(m, n)...), operands(r, dt, p, fb.shape(m, n)...)
					e, c := newTensor(dt, b.shape...), newTensor(dt, a.shape...)
					for x := range e.v {
						e.v[x] = b.v[x] & (1<<(dt.Bits()-1) - 1)
					}
					for x := range c.v {
						c.v[x] = coprime(a.v[x], p)
					}
					args := []array{a, b, e, c, p, newTensor(types.Bool, m), newTensor(types.Bool, n)}
					// Code is made for each size, so the CPU takes a part of the combinations, other ones for each
					// size.
					cpu := (turn+s)%8 == 0 && (!testing.Short() || turn%5 == 0)
					prog.check(r, fmt.Sprintf("two_%d%d%d", i, j, k), turn+turn/8, cpu, args,
						pointwise(sumOf, a, b, p), pointwise(diffOf, a, b, p), pointwise(prodOf, a, b, p),
						pointwise(powOf, a, e, p))
					if j == 0 {
						prog.check(r, fmt.Sprintf("one_%d%d%d", i, j, k), turn+turn/8, cpu, args,
							pointwise(negOf, a, a, p), pointwise(modOf, a, a, p), pointwise(invOf, c, c, p))
					}
				}
			}
		}
	}
}

// coprime is a if it shares no factor with any of the moduli, else 1.
func coprime(a int64, p array) int64 {
	for _, q := range p.v {
		if new(big.Int).GCD(nil, nil, new(big.Int).Abs(big.NewInt(a)), big.NewInt(q)).Cmp(big.NewInt(1)) != 0 {
			return 1
		}
	}
	return a
}
