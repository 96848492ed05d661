package shard_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/interp"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/passes/shard"
	"healc/tests/random"
	"healc/tests/sample"
)

// productOf is a product of two factors, each of which is cut along an axis or not, -1, and its operands.
func productOf(r *rand.Rand, elem types.DType, batch []int64, m, k, n int64, left, right int) (*ir.Module,
	[]*ir.Array) {
	f := &ir.Func{Name: "f", Body: &ir.Block{}, Public: true}
	b := &ir.Builder{Block: f.Body}
	var input []*ir.Array
	factor := func(name string, axis int, shape ...int64) *ir.Value {
		shape = slices.Concat(batch, shape)
		a := random.Data(r, elem, shape)
		input = append(input, a)
		x := f.Body.Param(name, a.Type(), f.Span)
		if axis < 0 {
			return x
		}
		return b.Emit(ops.Shard, ir.A{"axis": int64(axis)}, x)
	}
	y := b.Emit(ops.Matmul, nil, factor("a", left, m, k), factor("b", right, k, n))
	f.Body.Yields = []*ir.Value{y}
	f.Results = []types.Tensor{y.Type}
	return &ir.Module{Funcs: []*ir.Func{f}}, input
}

// TestProducts: a product has the same bits on any number of ranks, whatever its factors hold, and along which of their
// axes they are cut: as a whole, where messages are dear, and by pieces, where they cost nothing.
func TestProducts(t *testing.T) {
	n := 150
	if sample.All() {
		n = 3000
	} else if testing.Short() {
		n = 50
	}
	elems := []types.DType{types.F32, types.F64, types.F16, types.BF16, types.I8, types.U16, types.I32, types.U64}
	counts, day := map[string]int{}, sample.Today(t)
	for i := range n {
		seed := uint64(day*n + i)
		r := rand.New(rand.NewPCG(seed, 5))
		elem := elems[r.IntN(len(elems))]
		batch := []int64{}
		for range r.IntN(3) {
			batch = append(batch, r.Int64N(9))
		}
		extent := func() int64 { return []int64{0, 1, 2, 5, 7, 16, 33, 40}[r.IntN(8)] }
		rank := len(batch) + 2
		// The left one is cut as the result is, or along k; so is the right one.
		left, right := rank-2, rank-1-r.IntN(2)
		switch r.IntN(4) {
		case 0:
			left, right = rank-1, rank-1
		case 1:
			left, right = r.IntN(rank+1)-1, r.IntN(rank+1)-1
		}
		rows, inner, columns := extent(), extent(), extent()
		name := fmt.Sprintf("seed %d: %s %v %d %d %d, cut along %d and %d", seed, elem, batch, rows, inner, columns,
			left, right)
		m, input := productOf(r, elem, batch, rows, inner, columns, left, right)
		want, err := interp.RunDims(m.Clone(), "f", nil, input, &interp.MemSystem{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		counts["repaired"] += shard.Repair(m.Func("f"))
		func() {
			if i%3 > 0 {
				defer shard.SetLatency(0)()
			}
			if err := onRanks(m, nil, input, want, nil, counts); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	if counts["repaired"] > n/2 {
		t.Errorf("of %d products %d are none of ranks", n, counts["repaired"])
	}
}

// TestPieces: where both factors are cut, no rank gathers more of one at once than half of what it has, and what is
// short, or smaller than a rank's result, is gathered as a whole.
func TestPieces(t *testing.T) {
	const ranks = 4
	for _, c := range []struct {
		batch       []int64
		m, k, n     int64
		left, right int
		most        int64 // that is gathered at once, in elements
	}{
		{nil, 64, 512, 1024, 0, 0, 512 * 1024 / ranks / 2},
		{nil, 64, 512, 1024, 0, 1, 512 * 1024 / ranks / 2},
		{nil, 1024, 512, 64, 1, 1, 512 * 1024 / ranks / 2},
		{nil, 64, 511, 1023, 0, 1, 511 * 1024 / ranks / 2},
		{[]int64{64}, 8, 128, 32, 1, 1, 64 * 128 * 32 / ranks / 2},
		{[]int64{64}, 32, 128, 8, 2, 2, 64 * 128 * 32 / ranks / 2},
		{nil, 64, 64, 64, 0, 1, 64 * 64},
		{nil, 4096, 256, 1024, 0, 0, 256 * 1024},
	} {
		m, _ := productOf(rand.New(rand.NewPCG(1, 2)), types.F32, c.batch, c.m, c.k, c.n, c.left, c.right)
		if n := shard.Repair(m.Func("f")); n > 0 {
			t.Errorf("%+v: %d operations are none of ranks", c, n)
		}
		if err := shard.Run(m, shard.Ranks{Rank: 1, Size: ranks}); err != nil {
			t.Fatal(err)
		}
		gathers, most := 0, int64(0)
		result := m.Func("f").Body.Yields[0] // which is gathered as a whole
		ir.Walk(m.Func("f").Body, func(op *ir.Op) {
			if op.Def == exchange.Gather && op.Result() != result {
				d, err := op.Type().Shape.Elems()
				if err != nil {
					t.Fatal(err)
				}
				n, _ := d.Const()
				gathers, most = gathers+1, max(most, n)
			}
		})
		if gathers == 0 || most > c.most || 2*most < c.most {
			t.Errorf("%+v: %d gathers, of %d elements, and not of about %d", c, gathers, most, c.most)
		}
	}
}
