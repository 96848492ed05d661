package loops

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/lang/types"
)

// A window is the range of an axis that the schedule narrows, and the comparisons that come out alike in all of it.
type window struct {
	analysis.Window
	decided map[kernel.Ref]bool
}

// windows are those of the axes of a kernel, and of the parallel loops in it: Note [Windows] in ir/kernel/analysis.
// What before computes has been written.
func windows(g *emit.Func, k *kernel.Kernel, before []kernel.Stmt, body *kernel.Block) map[kernel.Ref]window {
	out := map[kernel.Ref]window{}
	for _, a := range analysis.ParallelAxes(k, body) {
		if g.Schedule.Find("window", a.Var) != nil {
			w := analysis.WindowOf(k, before, body, a.Var)
			out[a.Var] = window{w, analysis.Decided(k, before, body, a.Var, w)}
		}
	}
	return out
}

// inWindow writes code that runs for indices of w alone.
func inWindow(g *emit.Func, w window, write func()) {
	outer := g.Peephole
	g.Peephole = func(s *kernel.Let) bool {
		if holds, known := w.decided[s.ID]; known {
			g.Set(s.ID, constant.NewBool(holds), false)
			return true
		}
		return outer != nil && outer(s)
	}
	write()
	g.Peephole = outer
}

// narrowed is the part of [lo, hi) that lies in a window. It begins and ends in that range.
func narrowed(g *emit.Func, w window, lo, hi value.Value) (from, to value.Value) {
	from, to = lo, hi
	known := map[*analysis.Limit]value.Value{}
	if w.Low != nil {
		from = smaller(g, larger(g, limit(g, w.Low, known), lo), hi)
	}
	if w.High != nil {
		to = larger(g, smaller(g, limit(g, w.High, known), hi), from)
	}
	return from, to
}

// limit is the index that a limit is, where indices are; elsewhere it is somewhere beyond the same end. Those that are
// known are written already, since several may be made of one.
func limit(g *emit.Func, l *analysis.Limit, known map[*analysis.Limit]value.Value) value.Value {
	x, written := known[l]
	if !written {
		x = writeLimit(g, l, known)
		known[l] = x
	}
	return x
}

func writeLimit(g *emit.Func, l *analysis.Limit, known map[*analysis.Limit]value.Value) value.Value {
	switch {
	case l.A != nil && l.Larger:
		return larger(g, limit(g, l.A, known), limit(g, l.B, known))
	case l.A != nil:
		return smaller(g, limit(g, l.A, known), limit(g, l.B, known))
	case l.Of < 0:
		return build.Int(build.I64, l.Plus)
	}
	x := g.Uniform(l.Of)
	if g.Types[l.Of] == types.I32 {
		return g.Add(g.Cur.NewSExt(x, build.I64), build.Int(build.I64, l.Plus))
	}
	const beyond = 1 << 40 // of any index, and far from where sums wrap
	return g.Add(smaller(g, x, build.Int(build.I64, beyond)), build.Int(build.I64, l.Plus))
}

func larger(g *emit.Func, x, y value.Value) value.Value {
	return g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSGT, x, y), x, y)
}

func smaller(g *emit.Func, x, y value.Value) value.Value {
	return g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, x, y), x, y)
}
