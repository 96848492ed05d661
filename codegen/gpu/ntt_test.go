package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"healc/codegen"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/tests/sample"
)

// transformCase is a transform of rows of one length.
type transformCase struct {
	length, rows int64 // rows for each modulus
	moduli       []int64
	source       string // of what is transformed
	numbers      func(r *rand.Rand, p int64) int64
}

// below draws residues, highest gives the largest one, any draws all numbers.
func below(r *rand.Rand, p int64) int64 { return r.Int64N(p) }

func highest(_ *rand.Rand, p int64) int64 { return p - 1 }

func any64(r *rand.Rand, _ int64) int64 { return int64(r.Uint64()) }

// TestTransforms: lengths of several rows a block, of one part, of several parts behind one pass of outer stages and
// two; moduli of all sizes; elements and factors that are residues, the largest of them, and such that are none; a
// source that is a product modulo p, and one that a loop has to make first. A third of the long ones runs a day.
func TestTransforms(t *testing.T) {
	all := []int64{257, 1<<30 - 35, 1<<50 - 27, 1<<60 - 93, 1<<59 + 1, 1 << 40, 3, 1, 2, 1 << 59, 1<<61 - 1, 1 << 60}
	high := []int64{1<<60 - 93, 1<<50 - 27}
	cases := []transformCase{
		{64, 1, all, "a", below}, {64, 1, all[:4], "a", any64}, {64, 5, high, "a", highest},
		{128, 3, all[:5], "a", below}, {256, 3, high, "modmul(a, a, unsqueeze(p, 1))", below},
		{256, 1, all[:10], "a", highest}, {64, 1, all[:4], "modmul(a, a, unsqueeze(p, 1))", any64},
		{128, 2, high, "a + 1_i64", below},
	}
	long := []transformCase{
		{512, 3, all[:5], "a", below}, {1024, 3, high, "a", highest}, {2048, 2, high, "a", below},
		{4096, 1, high, "a", highest}, {4096, 2, high, "modmul(a, a, unsqueeze(p, 1))", below},
		{8192, 1, high, "a", below}, {8192, 1, high[:1], "a - 1_i64 + 1_i64", below}, {1 << 14, 1, high, "a", highest},
		{1 << 15, 1, high[:1], "modmul(a, a, unsqueeze(p, 1))", below}, {1 << 16, 1, high[:1], "a", highest},
		{1 << 17, 1, high[:1], "a", below}, {1 << 18, 1, high[:1], "a", highest},
	}
	day := sample.Today(t)
	for i, c := range long {
		if sample.Has(day, i, 3) && !testing.Short() {
			cases = append(cases, c)
		}
	}
	for _, c := range cases {
		r := rand.New(rand.NewPCG(5, uint64(c.length)))
		for _, odd := range []int64{-1, r.Int64N(c.length)} {
			if odd >= 0 && c.length > 64 {
				continue // its stages would run one by one
			}
			c.check(t, r, odd)
		}
	}
}

// check compares the forward transform and the inverse with the interpreter. One factor of the first modulus is out of
// range where odd says which.
func (c transformCase) check(t *testing.T, r *rand.Rand, odd int64) {
	k, n := int64(len(c.moduli)), c.length
	draw := func(shape ...int64) *ir.Array {
		a := &ir.Array{DType: types.I64, Shape: shape}
		count := int64(1)
		for _, d := range shape {
			count *= d
		}
		line := count / k
		if len(shape) == 4 {
			line = n
		}
		for i := range count {
			a.Bits = append(a.Bits, uint64(c.numbers(r, c.moduli[i/line%k])))
		}
		return a
	}
	p := &ir.Array{DType: types.I64, Shape: []int64{k}}
	for _, m := range c.moduli {
		p.Bits = append(p.Bits, uint64(m))
	}
	perm := &ir.Array{DType: types.I64, Shape: []int64{n}}
	for i := range uint64(n) {
		perm.Bits = append(perm.Bits, i)
	}
	table := draw(k, n)
	if odd >= 0 {
		table.Bits[odd] = uint64(c.moduli[0]) + 5
	}
	args := []*ir.Array{draw(1, c.rows, k, n), p, table, perm, draw(k)}
	shape := fmt.Sprintf("i64[1, %d, %d, %d]", c.rows, k, n)
	rest := fmt.Sprintf("p: i64[%d], w: i64[%d, %d], perm: i64[%d]", k, k, n, n)
	for i, source := range []string{
		fmt.Sprintf("fn f(a: %s, %s) -> %s = ntt(%s, p, w, perm, axis = -1, skip_perm = true)", shape, rest, shape, c.source),
		fmt.Sprintf("fn f(a: %s, %s, s: i64[%d]) -> %s = intt(%s, p, w, s, perm, axis = -1)", shape, rest, k, shape,
			c.source),
	} {
		m, err := engine.Compile(source, engine.Options{Target: codegen.Target{Kind: "gpu"}})
		if err != nil {
			t.Fatal(err)
		}
		km, err := m.Kernels("f", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := agree(m.IR(), km, "sm_70", nil, nil, args[:4+i]); err != nil {
			t.Errorf("%d rows of %d elements, %s, odd %d, inverse %v: %v", c.rows, n, c.source, odd, i == 1, err)
		}
		m.Close()
	}
}
