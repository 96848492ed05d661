package llvm

import (
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// Note [The next row]
//
// A kernel that goes over each row several times reads memory in the first loop alone. In the others the row is in the
// cache, and the processor, which fetches ahead of what it sees being read, fetches nothing: memory rests while the
// exponentials of a softmax are computed. So the second loop over a row asks for the lines of the next row as it
// goes, one for each line that it reads again. Asking is an instruction of the load ports, which have time there,
// and does no harm behind the last row: what is not mapped is not fetched.

// A kernel that goes through memory once asks for nothing: the processor sees that by itself. It used to ask for what lies 8 KiB
// ahead, because the processor's own fetching stops at the end of each page of 4 KiB. That gained a twentieth on a Sapphire
// Rapids; a Zen 4 fetches past the ends of pages, and less when it is asked: f32[2^24], one thread, of the speed of reading alone
// (November 2026): the sum 0.92 and 1.01 without asking, a dot product 0.83 and 0.96, mean and variance 0.72 and 1.01, argmax
// 0.88 and 0.98. From 1 to 8 KiB the distance did not matter.

// Rows shorter than aheadLeast are fetched by the processor itself, which looks some lines ahead; of rows longer than
// aheadMost the beginning would be gone again before it is read.
const (
	aheadLeast = 512
	aheadMost  = 64 << 10
)

// nextRows finds the loads of k that ask for the next row, and how far away that is, in elements.
func nextRows(k *kernel.Kernel) map[*kernel.Load]int64 {
	if len(k.Axes) == 0 {
		return nil
	}
	row := k.Axes[len(k.Axes)-1].Var
	type stream struct {
		param int
		at    string
	}
	seen := map[stream]int{}
	out := map[*kernel.Load]int64{}
	for _, st := range k.Body.Stmts {
		var axis kernel.Axis
		var body *kernel.Block
		switch st := st.(type) {
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
			far, ok := rowDistance(l.At, row, axis.Var)
			if bytes := max(far, -far) * int64(k.Params[l.Param].DType.Bytes()); !ok || bytes < aheadLeast || bytes > aheadMost {
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
	return out
}

// rowDistance gives the distance between rows of an access to neighbours along a row.
func rowDistance(at kernel.Access, row, along kernel.Ref) (int64, bool) {
	far, next := int64(0), false
	for _, t := range at.Terms {
		switch t.Var {
		case row:
			n, ok := t.Coef.Const()
			if !ok {
				return 0, false
			}
			far = n
		case along:
			next = t.Coef.IsConst(1)
		}
	}
	return far, next && far != 0
}

// Where to prefetch to: the first-level cache, or the second.
const (
	toFirst  = 3
	toSecond = 2
)

// askFor prefetches the lines of n elements of parameter param from number at on.
func (g *gen) askFor(param int, at value.Value, n int) { g.askForIn(toFirst, param, at, n) }

// askForIn is askFor for a level of the caches.
func (g *gen) askForIn(level int64, param int, at value.Value, n int) {
	d := g.params[param].DType
	for byte := 0; byte < n*d.Bytes(); byte += lineBytes {
		g.fetch(level, g.addr(param, g.plus(at, ci(i64, int64(byte/d.Bytes())))))
	}
}

// fetch prefetches the line of an address to a level of the caches.
func (g *gen) fetch(level int64, address value.Value) {
	name := "llvm.prefetch.p0i8"
	f := g.intrinsics[name]
	if f == nil {
		f = g.intrinsic(name, lt.Void, voidPtr, i32, i32, i32)
	}
	const read, data = 0, 1
	g.cur.NewCall(f, g.cur.NewBitCast(address, voidPtr), constant.NewInt(i32, read), constant.NewInt(i32, level), constant.NewInt(i32, data))
}
