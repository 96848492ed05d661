package gpu

import (
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// shuffle is the x of another thread of the warp: kind "down" is the thread `by` further, "up" the thread `by` before,
// "idx" thread number `by`.
func (t *thread) shuffle(kind string, x, by value.Value) value.Value {
	f := t.Intrinsic("llvm.nvvm.shfl.sync."+kind+".i32", i32, i32, i32, i32, i32)
	const all = -1
	last := int64(31)
	if kind == "up" {
		last = 0
	}
	move := func(x value.Value) value.Value {
		return t.Block().NewCall(f, ci(i32, all), x, by, ci(i32, last))
	}
	word := t.bits(x)
	wt := word.Type().(*lt.IntType)
	if wt.BitSize <= 32 {
		if wt.BitSize < 32 {
			word = t.Block().NewZExt(word, i32)
		}
		word = move(word)
		if wt.BitSize < 32 {
			word = t.Block().NewTrunc(word, wt)
		}
		return t.ofBits(word, x.Type())
	}
	low := t.zext(move(t.Block().NewTrunc(word, i32)))
	high := t.zext(move(t.Block().NewTrunc(t.Block().NewLShr(word, ci(i64, 32)), i32)))
	return t.ofBits(t.Block().NewOr(low, t.Block().NewShl(high, ci(i64, 32))), x.Type())
}

// bits is x as an integer.
func (t *thread) bits(x value.Value) value.Value {
	switch x.Type() {
	case lt.Float:
		return t.Block().NewBitCast(x, i32)
	case lt.Double:
		return t.Block().NewBitCast(x, i64)
	}
	return x
}

// ofBits is the inverse of bits.
func (t *thread) ofBits(x value.Value, to lt.Type) value.Value {
	if to == lt.Float || to == lt.Double {
		return t.Block().NewBitCast(x, to)
	}
	return x
}

// exchange gives every thread of a block the values of the four threads whose number is lane modulo 32.
func (g *group) exchange(x []value.Value, lane value.Value) [][]value.Value {
	const warps = blockSize / warpSize
	slot := func(i int, number value.Value, of lt.Type) value.Value {
		at := g.Block().NewGetElementPtr(i64, g.slots, g.Plus(g.zext(number), ci(i64, int64(i*blockSize))))
		return g.Block().NewBitCast(at, lt.NewPointer(of))
	}
	stored := make([]lt.Type, len(x))
	for i, v := range x {
		word := g.bits(v)
		if word.Type().Equal(i1) {
			word = g.Block().NewZExt(word, i8)
		}
		stored[i] = word.Type()
		g.Block().NewStore(word, slot(i, g.member, stored[i]))
	}
	g.barrier()
	out := make([][]value.Value, warps)
	for w := range out {
		number := g.Block().NewAdd(lane, ci(i32, int64(w*warpSize)))
		for i, v := range x {
			word := value.Value(g.Block().NewLoad(stored[i], slot(i, number, stored[i])))
			if v.Type().Equal(i1) {
				word = g.Block().NewTrunc(word, i1)
			}
			out[w] = append(out[w], g.ofBits(word, v.Type()))
		}
	}
	g.barrier() // before the slots are used again
	return out
}
