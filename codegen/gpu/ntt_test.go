package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
// source that is a product modulo p, and one that a loop has to make first. A third runs a day.
func TestTransforms(t *testing.T) {
	all := []int64{257, 1<<30 - 35, 1<<50 - 27, 1<<60 - 93, 1<<59 + 1, 1 << 40, 3, 1, 2, 1 << 59, 1<<61 - 1, 1 << 60}
	high := []int64{1<<60 - 93, 1<<50 - 27}
	cases := []transformCase{
		{64, 1, all, "a", below}, {64, 1, all[:4], "a", any64}, {64, 5, high, "a", highest},
		{128, 3, all[:5], "a", below}, {256, 3, high, "modmul(a, a, unsqueeze(p, 1))", below},
		{256, 1, all[:10], "a", highest}, {64, 1, all[:4], "modmul(a, a, unsqueeze(p, 1))", any64},
		{128, 2, high, "a + 1_i64", below},
		{512, 3, all[:5], "a", below}, {1024, 3, high, "a", highest}, {2048, 2, high, "a", below},
		{4096, 1, high, "a", highest}, {4096, 2, high, "modmul(a, a, unsqueeze(p, 1))", below},
		{8192, 1, high, "a", below}, {8192, 1, high[:1], "a - 1_i64 + 1_i64", below}, {1 << 14, 1, high, "a", highest},
		{1 << 15, 1, high[:1], "modmul(a, a, unsqueeze(p, 1))", below}, {1 << 16, 1, high[:1], "a", highest},
		{1 << 17, 1, high[:1], "a", below}, {1 << 18, 1, high[:1], "a", highest},
	}
	day := sample.Today(t)
	for i, c := range cases {
		if !sample.Has(day, i, 3) || testing.Short() && c.length > 256 {
			continue
		}
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
	perm, turned := &ir.Array{DType: types.I64, Shape: []int64{n}}, &ir.Array{DType: types.I64, Shape: []int64{n}}
	for i := range uint64(n) {
		perm.Bits, turned.Bits = append(perm.Bits, i), append(turned.Bits, uint64(n)-1-i)
	}
	table := draw(k, n)
	if odd >= 0 {
		table.Bits[odd] = uint64(c.moduli[0]) + 5
	}
	args, scale := []*ir.Array{draw(1, c.rows, k, n), p, table, perm}, draw(k)
	shape := fmt.Sprintf("i64[1, %d, %d, %d]", c.rows, k, n)
	rest := fmt.Sprintf("p: i64[%d], w: i64[%d, %d], perm: i64[%d]", k, k, n, n)
	for i, source := range []string{
		fmt.Sprintf("fn f(a: %s, %s) -> %s = ntt(%s, p, w, perm, axis = -1, skip_perm = true)", shape, rest, shape,
			c.source),
		fmt.Sprintf("fn f(a: %s, %s) -> %s = ntt(%s, p, w, perm, axis = -1)", shape, rest, shape, c.source),
		fmt.Sprintf("fn f(a: %s, %s, s: i64[%d]) -> %s = intt(%s, p, w, s, perm, axis = -1)", shape, rest, k, shape,
			c.source),
	} {
		given := args[:4]
		switch i {
		case 1:
			given = []*ir.Array{args[0], p, table, turned}
		case 2:
			given = []*ir.Array{args[0], p, table, perm, scale}
		}
		m, err := engine.Compile(source, engine.Options{Target: codegen.Target{Kind: "gpu"}})
		if err != nil {
			t.Fatal(err)
		}
		km, err := m.Kernels("f", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := agree(m.IR(), km, "sm_70", nil, nil, given); err != nil {
			t.Errorf("%d rows of %d elements, %s, odd %d, program %d: %v", c.rows, n, c.source, odd, i, err)
		}
		m.Close()
	}
}

// TestTransformFails: the failure of a row's modulus, and that of the permutation, which a loop behind the transform
// reads in a grid of its own, is the first.
func TestTransformFails(t *testing.T) {
	const k, n = 3, 2048
	source := fmt.Sprintf("fn f(a: i64[%[1]d, %[2]d], p: i64[%[1]d], w: i64[%[1]d, %[2]d], perm: i64[%[2]d]) -> "+
		"i64[%[1]d, %[2]d] = ntt(a, p, w, perm, axis = -1)", k, n)
	m, err := engine.Compile(source, engine.Options{Target: codegen.Target{Kind: "gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 1))
	args := []*ir.Array{{DType: types.I64, Shape: []int64{k, n}}, {DType: types.I64, Shape: []int64{k}},
		{DType: types.I64, Shape: []int64{k, n}}, {DType: types.I64, Shape: []int64{n}}}
	for range k {
		args[1].Bits = append(args[1].Bits, 257)
	}
	for i := range k * n {
		args[0].Bits, args[2].Bits = append(args[0].Bits, r.Uint64N(257)), append(args[2].Bits, r.Uint64N(257))
		if i < n {
			args[3].Bits = append(args[3].Bits, uint64(n-1-i))
		}
	}
	for _, c := range []struct {
		zero, wrong int // the row whose modulus is 0, the place of a wrong position; below 0 for none
		kind        string
		info        int64
	}{{1, -1, "modulus", 0}, {2, 700, "index", n + 700}, {0, 700, "modulus", 0}, {-1, 1500, "index", n + 1500}} {
		given := slices.Clone(args)
		for _, i := range []int{1, 3} {
			given[i] = &ir.Array{DType: types.I64, Shape: args[i].Shape, Bits: slices.Clone(args[i].Bits)}
		}
		if c.zero >= 0 {
			given[1].Bits[c.zero] = 0
		}
		if c.wrong >= 0 {
			given[3].Bits[c.wrong], given[3].Bits[n-1] = n+uint64(c.wrong), n
		}
		_, failure, err := simulate(km, "sm_70", nil, given, c.wrong == 700)
		if err != nil {
			t.Fatal(err)
		}
		if failure.Site == 0 || km.Sites[failure.Site-1].Kind != c.kind || failure.Info[0] != c.info {
			t.Errorf("%+v: failure %+v", c, failure)
		}
	}
}
