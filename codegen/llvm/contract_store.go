package llvm

import (
	lir "github.com/llir/llvm/ir"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// finish stores the sums, where their chains have ended after the epilogue.
func (t *tileGen) finish(k chain, sums []value.Value) {
	switch {
	case t.plainStore:
		t.storeSums(k, sums)
	case k.last == nil:
		t.epilogue(sums)
	default:
		yes, no, done := t.newBlock(), t.newBlock(), t.newBlock()
		t.cur.NewCondBr(k.last, yes, no)
		t.cur = no
		t.storeSums(k, sums)
		t.cur.NewBr(done)
		t.cur = yes
		t.epilogue(sums)
		t.cur.NewBr(done)
		t.cur = done
	}
}

// Note [Ends of tiles]
//
// Between a tile of 6 by 2 and the next one, a Zen 3 loses 31 cycles of multiply-adds, and 4 when the 12 stores are
// left out, with everything in the first-level cache and wherever the sums go (November 2026, assembler; a tile of 64
// steps is 384 cycles). Three stores cost nothing, six 9, nine 24. What helps is to store the sums in an order that is
// not that in which their chains end: from the last row to the first it is 21.

// storeSums writes the sums themselves to where they wait, which is the result of a product that nothing follows.
func (t *tileGen) storeSums(k chain, sums []value.Value) {
	p := t.carryAt(k)
	for r := t.h - 1; r >= 0; r-- { // the last sums first, see Note [Ends of tiles]
		for v := range t.vecs {
			t.storeVector(sums[r*t.vecs+v], t.carryRow(p, r), v)
		}
	}
}

// epilogue runs what follows the loop for every element of the tile. The sums go through memory, so that its
// code, which can be long, stands there once for all rows, and reads no element beyond the edge.
func (t *tileGen) epilogue(sums []value.Value) {
	w := t.lanes
	reg, vt := regType(t.acc), t.vectorType()
	mem := t.scratch()
	far := int64(t.vecs * w)
	for i, s := range sums {
		st := t.cur.NewStore(s, t.cur.NewBitCast(t.cur.NewGetElementPtr(reg, mem, ci(i64, int64(i*w))),
			lt.NewPointer(vt)))
		st.Align = lir.Align(regDType(t.acc).Bytes() * w)
	}
	t.count(ci(i64, 0), ci(i64, int64(t.h)), 1, nil, func(r value.Value, _ []value.Value) []value.Value {
		if t.row != nil {
			t.env[t.row.Var] = val{v: t.plus(t.i, r)}
		}
		t.acrossTile(func(j value.Value, width int) {
			t.w = width
			t.axis(t.col.Var, t.plus(t.j, j), width)
			t.some(t.before, func(d dep) bool { return d != 0 })
			p := value.Value(t.cur.NewGetElementPtr(reg, mem, t.plus(t.times(r, ci(i64, far)), j)))
			if width > 0 {
				p = t.cur.NewBitCast(p, lt.NewPointer(vec(reg, width)))
			}
			l := t.cur.NewLoad(vec(reg, width), p)
			l.Align = lir.Align(regDType(t.acc).Bytes())
			t.set(t.chains.IDs[0], l, width > 0)
			t.block(&kernel.Block{Stmts: t.after})
			t.w = 0
		})
		return nil
	})
}

// acrossTile covers the columns of the tile in vectors. Where they end within one, it overlaps the one before: long
// epilogues stand in the code once. A kernel in place would read there what it wrote.
func (t *tileGen) acrossTile(body func(at value.Value, width int)) {
	w := int64(t.lanes)
	if t.there != nil || t.cols < w || t.cols%w != 0 && t.inPlace() {
		t.span(t.columnsThere(), t.lanes, body)
		return
	}
	t.count(ci(i64, 0), ci(i64, t.cols), w, nil, func(j value.Value, _ []value.Value) []value.Value {
		if t.cols%w != 0 {
			j = t.least(j, ci(i64, t.cols-w))
		}
		body(j, t.lanes)
		return nil
	})
}

// columnsThere is the number of columns of the tile.
func (t *tileGen) columnsThere() value.Value {
	if t.there != nil {
		return t.there
	}
	return ci(i64, t.cols)
}

// scratch is memory for the sums of one tile.
func (t *tileGen) scratch() value.Value {
	if t.tileMem == nil {
		t.tileMem = t.stack(regType(t.acc), t.rows*t.contraction.vecs*t.lanes)
	}
	return t.tileMem
}
