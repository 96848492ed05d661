package gpu

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/runtime/abi"
)

// when does f where cond holds.
func (t *thread) when(cond value.Value, f func()) {
	t.ifElse(cond, func() []value.Value { f(); return nil }, nil)
}

// ifElse is the values of f where cond holds, and otherwise elsewhere.
func (t *thread) ifElse(cond value.Value, f func() []value.Value, otherwise []value.Value) []value.Value {
	if c, ok := cond.(*constant.Int); ok && c.X.Sign() != 0 {
		return f()
	}
	before, yes, join := t.Block(), t.NewBlock(), t.NewBlock()
	before.NewCondBr(cond, yes, join)
	t.SetBlock(yes)
	x := f()
	end := t.Block()
	end.NewBr(join)
	t.SetBlock(join)
	out := make([]value.Value, len(x))
	for i := range x {
		out[i] = join.NewPhi(lir.NewIncoming(otherwise[i], before), lir.NewIncoming(x[i], end))
	}
	return out
}

// loadRun loads n neighbours of type elem, the first of which is base[at] and is aligned to the size of all n.
func (t *thread) loadRun(elem lt.Type, base, at value.Value, n int) []value.Value {
	if n == 1 {
		return []value.Value{t.Block().NewLoad(elem, t.Block().NewGetElementPtr(elem, base, at))}
	}
	vt := lt.NewVector(uint64(n), elem)
	l := t.Block().NewLoad(vt, t.Block().NewBitCast(t.Block().NewGetElementPtr(elem, base, at), lt.NewPointer(vt)))
	l.Align = runAlign(elem, n)
	out := make([]value.Value, n)
	for i := range out {
		out[i] = t.Block().NewExtractElement(l, ci(i32, int64(i)))
	}
	return out
}

// storeRun is the inverse of loadRun.
func (t *thread) storeRun(elem lt.Type, base, at value.Value, x []value.Value) {
	vt := lt.NewVector(uint64(len(x)), elem)
	var v value.Value = constant.NewUndef(vt)
	for i, e := range x {
		v = t.Block().NewInsertElement(v, e, ci(i32, int64(i)))
	}
	st := t.Block().NewStore(v, t.Block().NewBitCast(t.Block().NewGetElementPtr(elem, base, at), lt.NewPointer(vt)))
	st.Align = runAlign(elem, len(x))
}

// runAlign is the alignment of n neighbours: 16 bytes at most.
func runAlign(elem lt.Type, n int) lir.Align {
	bytes := 4
	switch elem := elem.(type) {
	case *lt.IntType:
		bytes = int(elem.BitSize / 8)
	case *lt.FloatType:
		if elem.Kind == lt.FloatKindDouble {
			bytes = 8
		}
	}
	return lir.Align(min(n*bytes, abi.DeviceAlign))
}
