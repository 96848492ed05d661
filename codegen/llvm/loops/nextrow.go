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

// Note [The next row]
//
// A kernel that goes over each row several times reads memory in the first loop alone. In the others the row is in the
// cache, and the processor, which fetches ahead of what it sees being read, fetches nothing: memory rests while the
// exponentials of a softmax are computed. So the second loop over a row asks for the lines of the next row as it goes,
// one for each line that it reads again. Asking is an instruction of the load ports, which have time there, and does no
// harm behind the last row: what is not mapped is not fetched. Where the length of a row is a shape parameter, one that
// is too short or too long asks for what it reads itself.

// A kernel that goes through memory once asks for nothing: the processor sees that by itself, and asking slows some
// processors down (docs/tuning/prefetch.md).

// Rows shorter than aheadLeast are fetched by the processor itself, which looks some lines ahead; of rows longer than
// aheadMost the beginning would be gone again before it is read.
const (
	aheadLeast = 512
	aheadMost  = 64 << 10
)

// NextRows finds the loads of k that ask for the next row, and how far away that is, in elements.
func NextRows(k *kernel.Kernel) map[*kernel.Load]types.Dim {
	out := map[*kernel.Load]types.Dim{}
	if len(k.Axes) > 0 {
		nextRowsIn(k, k.Body, out)
	}
	return out
}

// nextRowsIn is NextRows for a block, and for those behind a question (Note [Row caching for any length] in
// ir/kernel/transform).
func nextRowsIn(k *kernel.Kernel, b *kernel.Block, out map[*kernel.Load]types.Dim) {
	row := k.Axes[len(k.Axes)-1].Var
	type stream struct {
		param int
		at    string
	}
	seen := map[stream]int{}
	for _, st := range b.Stmts {
		var axis kernel.Axis
		var body *kernel.Block
		switch st := st.(type) {
		case *kernel.If:
			nextRowsIn(k, st.Then, out)
			nextRowsIn(k, st.Else, out)
			continue
		case *kernel.Reduce:
			if len(st.Axes) != 1 {
				continue
			}
			axis, body = st.Axes[0], st.Body
		case *kernel.Loop:
			if !st.Parallel {
				continue
			}
			axis, body = st.Axis, st.Body
		default:
			continue
		}
		mine := map[stream]bool{}
		for _, in := range body.Stmts {
			l, ok := in.(*kernel.Load)
			if !ok || k.Params[l.Param].Out {
				continue
			}
			far, ok := RowDistance(l.At, row, axis.Var)
			if n, known := far.Const(); !ok || known && !isAhead(max(n, -n)*int64(k.Params[l.Param].DType.Bytes())) {
				continue
			}
			s := stream{l.Param, l.At.Offset.String()}
			if seen[s] == 1 && !mine[s] {
				out[l] = far
			}
			mine[s] = true
		}
		for s := range mine {
			seen[s]++
		}
	}
}

// isAhead reports that rows of so many bytes are asked for.
func isAhead(bytes int64) bool { return bytes >= aheadLeast && bytes <= aheadMost }

// RowDistance gives the distance between rows of an access to neighbours along a row.
func RowDistance(at kernel.Access, row, along kernel.Ref) (far types.Dim, ok bool) {
	next := false
	for _, t := range at.Terms {
		switch t.Var {
		case row:
			far = t.Coef
		case along:
			next = t.Coef.IsConst(1)
		}
	}
	return far, next && !far.IsConst(0)
}

// aheadBy is the distance from elements of a row to those of the next one, 0 where it turns out to be none that is
// asked for. The second-level cache is asked for any.
func aheadBy(g *emit.Func, far types.Dim, d types.DType) value.Value {
	n := g.Dim(far)
	if _, known := far.Const(); known || emit.State[Prefetching](g).Below {
		return n
	}
	key := fmt.Sprintf("ahead %s %d", far, d.Bytes())
	v, there := g.DimCache[key]
	if !there {
		size := int64(d.Bytes())
		inside := g.Entry.NewICmp(enum.IPredULE, g.Entry.NewSub(n, build.Int(build.I64, aheadLeast/size)),
			build.Int(build.I64, (aheadMost-aheadLeast)/size))
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

// prefetchLines prefetches the lines of n elements of parameter param from number at on.
func prefetchLines(g *emit.Func, param int, at value.Value, n int) {
	PrefetchLinesTo(g, ToL1, param, at, n)
}

// PrefetchLinesTo is PrefetchLines for a level of the caches.
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
