package llvm

import (
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// prefetch asks for a line of memory that is wanted soon. An address outside of the buffer does no harm.
func (t *tileGen) prefetch(p value.Value, write int64) {
	f := t.intrinsic("llvm.prefetch.p0i8", lt.Void, voidPtr, i32, i32, i32)
	t.cur.NewCall(f, t.cur.NewBitCast(p, voidPtr), ci(i32, write), ci(i32, 3), ci(i32, 1))
}

// prefetchResult asks for the lines of the result that the tile will write, or those that the next tile below starts from, while the chains run.
func (t *tileGen) prefetchResult(k chain) {
	if t.carry == nil || t.kk < farChain {
		return
	}
	p := t.address(t.carry.Param, t.carry.At, k)
	if k.first != nil {
		p = t.carryRow(p, t.h)
	}
	for r := range t.h {
		for v := range t.vecs {
			t.prefetch(t.offset(t.carryRow(p, r), int64(v*t.lanes)), 1)
		}
	}
}

// prefetchRows prepares step to ask for some of the rows of x that are copied next: two for each panel.
func (t *tileGen) prefetchRows(k chain, n value.Value) {
	along, across, ok := t.strides(t.contraction.x, t.rowVar())
	if !ok || along != 1 || t.pairs || t.kk < farChain || t.cols != t.panel || t.h != t.rows {
		return
	}
	p := t.address(t.contraction.x.main.Param, t.contraction.x.main.At, k)
	elem := memType(t.params[t.contraction.x.main.Param].DType)
	row := t.cur.NewMul(n, ci(i64, 2*across))
	t.ahead = t.cur.NewGetElementPtr(elem, p, t.plus(row, ci(i64, t.chunk*across)))
	t.aheadType, t.aheadRow = elem, across
}
