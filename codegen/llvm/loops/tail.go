package loops

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
)

// Note [Tails]
//
// Iterations that do not fill a vector are mostly done by one that overlaps the vector before. Two cases have none that
// it may overlap: a kernel that works in place, whose elements must not be computed twice, and a range that is shorter
// than a vector. There the machine's masks are used, one vector whose lanes beyond the end neither load nor store, if
// it has them for the types of the kernel and all accesses are to neighbours; else the iterations run one by one.
//
// AVX2 has masks that are slow to store under, and none for types of one and two bytes. So where a vector is several
// registers, the rest goes register by register first, the last over the one before (docs/tuning/masked-tails.md).

// masked says that the schedule has vectors under a mask for what does not fill one.
func masked(g *emit.Func) bool { return g.Schedule.OfKind("mask") != nil }

// shortRange runs the fewer than w iterations of v in [lo, hi), of which there may be none.
func shortRange(g *emit.Func, v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	d := g.Schedule.OfKind("remainder")
	if d == nil || int(d.Get("width")) >= w {
		partial(g, v, lo, hi, w, body)
		return
	}
	n := int(d.Get("width"))
	pre, registers, rest, done := g.Cur, g.NewBlock(), g.NewBlock(), g.NewBlock()
	size := pre.NewSub(hi, lo)
	pre.NewCondBr(pre.NewICmp(enum.IPredSGE, size, build.Int(build.I64, int64(n))), registers, rest)
	from := rest.NewPhi(lir.NewIncoming(lo, pre))
	g.Cur = registers
	if g.InPlace() {
		end := g.Cur.NewSub(hi, g.Cur.NewSRem(size, build.Int(build.I64, int64(n))))
		overlappedVectors(g, v, lo, end, build.Int(build.I64, int64(n)), end, n, body) // of which none overlap
		from.Incs = append(from.Incs, lir.NewIncoming(end, g.Cur))
		g.Cur.NewBr(rest)
	} else {
		overlappedVectors(g, v, lo, hi, build.Int(build.I64, int64(n)), g.Add(hi, build.Int(build.I64, int64(-n))), n,
			body)
		g.Cur.NewBr(done)
	}
	g.Cur = rest
	partial(g, v, from, hi, n, body)
	g.Cur.NewBr(done)
	g.Cur = done
}

// partial runs the fewer than w iterations of v in [lo, hi) at once, if there are any, or one by one.
func partial(g *emit.Func, v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	if !masked(g) {
		g.For(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
			g.Env[v] = emit.Val{V: x}
			g.Block(body)
			return nil
		})
		return
	}
	g.When(g.Cur.NewICmp(enum.IPredSLT, lo, hi), func() {
		left := g.SplatTo(g.Cur.NewTrunc(g.Cur.NewSub(hi, lo), build.I32), w)
		mask := g.Cur.NewICmp(enum.IPredSLT, build.IotaMask(0, w), left)
		g.Env[v] = emit.Val{V: lo, Iota: true}
		g.InVectors(w, func() { g.Masked(mask, func() { g.Block(body) }) })
	})
}
