package loops

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/lang/types"
)

// NextRows are the loads of k that ask for the next row, as the schedule has it, and how far away that is, in elements:
// Note [The next row] in codegen/schedule.
func NextRows(g *emit.Func, k *kernel.Kernel) map[*kernel.Load]Row {
	out := map[*kernel.Load]Row{}
	for l, far := range g.Code().NextRows(k) {
		if d := prefetch(g.Schedule, l.Param, "row"); d != nil {
			if by, err := far.Mul(types.Lit(d.Get("row"))); err == nil {
				out[l] = RowOf(d, by)
			}
		}
	}
	return out
}

// aheadBy is the distance from elements of a row to those of the next one, 0 where it turns out to be none that is
// asked for. The second-level cache is asked for any.
func aheadBy(g *emit.Func, row Row, d types.DType) value.Value {
	far := row.Far
	n := g.Dim(far)
	if _, known := far.Const(); known || row.Level == ToL2 {
		return n
	}
	p := g.Machine.Profile.Prefetch
	least, most := int64(p.RowLeast), int64(p.RowMost)
	key := fmt.Sprintf("ahead %s %d", far, d.Bytes())
	v, there := g.DimCache[key]
	if !there {
		size := int64(d.Bytes())
		inside := g.Entry.NewICmp(enum.IPredULE, g.Entry.NewSub(n, build.Int(build.I64, least/size)),
			build.Int(build.I64, (most-least)/size))
		v = g.Entry.NewSelect(inside, n, build.Int(build.I64, 0))
		g.DimCache[key] = v
	}
	return v
}

// Where to prefetch to: the first-level cache, or the second.
const (
	ToL1 = 3
	ToL2 = 2
)

// PrefetchLinesTo prefetches the lines of n elements of parameter param from number at on, to a level of the caches.
func PrefetchLinesTo(g *emit.Func, level int64, param int, at value.Value, n int) {
	d := g.Params[param].DType
	for byte := 0; byte < n*d.Bytes(); byte += LineBytes {
		PrefetchLine(g, level, g.Addr(param, g.Add(at, build.Int(build.I64, int64(byte/d.Bytes())))))
	}
}

// PrefetchLine prefetches the line of an address to a level of the caches.
func PrefetchLine(g *emit.Func, level int64, address value.Value) {
	PrefetchLineFor(g, 0, level, address)
}

// PrefetchLineFor is PrefetchLine for reading, 0, or for writing, 1. An address outside of the buffer does no harm.
func PrefetchLineFor(g *emit.Func, write, level int64, address value.Value) {
	const data = 1
	f := g.Intrinsic("llvm.prefetch.p0i8", lt.Void, build.BytePtr, build.I32, build.I32, build.I32)
	g.Cur.NewCall(f, g.Cur.NewBitCast(address, build.BytePtr), build.Int(build.I32, write), build.Int(build.I32, level),
		build.Int(build.I32, data))
}
