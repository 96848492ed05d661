package matmul

import (
	lir "github.com/llir/llvm/ir"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// finish stores the sums, where their chains have ended after the epilogue.
func (t *tileGen) finish(k chain, sums []value.Value) {
	switch {
	case t.PlainStore:
		t.storeSums(k, sums)
	case k.last == nil:
		t.epilogue(sums)
	default:
		yes, no, done := t.NewBlock(), t.NewBlock(), t.NewBlock()
		t.Cur.NewCondBr(k.last, yes, no)
		t.Cur = no
		t.storeSums(k, sums)
		t.Cur.NewBr(done)
		t.Cur = yes
		t.epilogue(sums)
		t.Cur.NewBr(done)
		t.Cur = done
	}
}

// Note [Ends of tiles]
//
// Between a tile and the next one multiply-adds wait for the stores of the sums. They wait least where the sums are
// stored in an order that is not that in which their chains end: from the last row to the first
// (docs/tuning/matrix-products.md).

// storeSums writes the sums themselves to where they wait, which is the result of a product that nothing follows.
func (t *tileGen) storeSums(k chain, sums []value.Value) {
	p := t.carryAt(k)
	for r := t.h - 1; r >= 0; r-- { // the last sums first, see Note [Ends of tiles]
		for v := range t.vecs {
			t.storeVector(sums[r*t.vecs+v], t.carryRow(p, r), v)
		}
	}
}

// epilogue runs the statements after the loop for every element of the tile. The sums go through memory, so that the
// code, which can be long, stands there once for all rows, and reads no element beyond the edge.
func (t *tileGen) epilogue(sums []value.Value) {
	w := t.VecWidth
	reg, vt := build.RegisterType(t.Acc), t.vectorType()
	mem := t.scratch()
	for i, s := range sums {
		st := t.Cur.NewStore(s, t.Cur.NewBitCast(t.Cur.NewGetElementPtr(reg, mem, build.Int(build.I64, int64(i*w))),
			lt.NewPointer(vt)))
		st.Align = lir.Align(analysis.ArithmeticType(t.Acc).Bytes() * w)
	}
	t.epilogueOfScratch()
}

// epilogueOfScratch is the epilogue for sums that are in the memory of scratch.
func (t *tileGen) epilogueOfScratch() {
	reg, mem, far := build.RegisterType(t.Acc), t.scratch(), int64(t.vecs*t.VecWidth)
	t.eachRow(func(r value.Value) {
		if t.Row != nil {
			t.Env[t.Row.Var] = emit.Val{V: t.Add(t.i, r)}
		}
		t.acrossTile(func(j value.Value, width int) {
			t.InVectors(width, func() {
				t.axis(t.Col.Var, t.Add(t.j, j), width)
				t.some(t.Before, func(d kernel.Dep) bool { return d != 0 })
				p := value.Value(t.Cur.NewGetElementPtr(reg, mem, t.Add(t.Mul(r, build.Int(build.I64, far)), j)))
				if width > 0 {
					p = t.Cur.NewBitCast(p, lt.NewPointer(build.Vector(reg, width)))
				}
				l := t.Cur.NewLoad(build.Vector(reg, width), p)
				l.Align = lir.Align(analysis.ArithmeticType(t.Acc).Bytes())
				t.Set(t.Sum, l, width > 0)
				t.Block(&kernel.Block{Stmts: t.After})
			})
		})
	})
}

// eachRow runs f for the rows of the tile that there are.
func (t *tileGen) eachRow(f func(r value.Value)) {
	n := t.rowsThere
	if n == nil {
		n = build.Int(build.I64, int64(t.h))
	}
	t.For(build.Int(build.I64, 0), n, 1, nil, func(r value.Value, _ []value.Value) []value.Value {
		f(r)
		return nil
	})
}

// acrossTile covers the columns of the tile in vectors. Where they end within one, it overlaps the one before: long
// epilogues stand in the code once. A kernel in place would read its own results there.
func (t *tileGen) acrossTile(body func(at value.Value, width int)) {
	w := int64(t.VecWidth)
	if t.there != nil || t.cols < w || t.cols%w != 0 && t.InPlace() {
		t.span(t.columnsThere(), t.VecWidth, body)
		return
	}
	t.For(build.Int(build.I64, 0), build.Int(build.I64, t.cols), w, nil,
		func(j value.Value, _ []value.Value) []value.Value {
			if t.cols%w != 0 {
				j = t.Min(j, build.Int(build.I64, t.cols-w))
			}
			body(j, t.VecWidth)
			return nil
		})
}

// columnsThere is the number of columns of the tile.
func (t *tileGen) columnsThere() value.Value {
	if t.there != nil {
		return t.there
	}
	return build.Int(build.I64, t.cols)
}

// scratch is memory for the sums of one tile.
func (t *tileGen) scratch() value.Value {
	if t.tileMem == nil {
		t.tileMem = t.Stack(build.RegisterType(t.Acc), t.Rows*t.Vecs*t.VecWidth)
	}
	return t.tileMem
}
