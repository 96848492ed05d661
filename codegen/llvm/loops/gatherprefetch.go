package loops

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/lang/types"
)

// The rows whose numbers stand in memory: Note [Gathered rows] in codegen/schedule.

// prefetchRows computes how far the rows are that the loads of a loop ask for, for the row that is next to be read.
func prefetchRows(g *emit.Func, rows []schedule.Gathered) map[*kernel.Load]value.Value {
	out := map[*kernel.Load]value.Value{}
	for _, r := range rows {
		d := prefetch(g.Schedule, r.Load.Param, "gathered")
		if d == nil {
			continue
		}
		ahead := build.Int(build.I64, d.Get("gathered"))
		last := emit.State[Prefetching](g).Last
		i := g.Env[last.Var].V
		more := g.Cur.NewICmp(enum.IPredSLT, g.Cur.NewAdd(i, ahead), g.Extent(last.Extent))
		at := g.Add(g.AddressOf(r.Number.At).Base, g.Cur.NewSelect(more, ahead,
			build.Int(build.I64, 0)))
		number := g.LoadScalar(r.Number.Param, at)
		if g.Params[r.Number.Param].DType == types.I32 {
			number = g.Cur.NewSExt(number, build.I64)
		}
		out[r.Load] = g.Cur.NewMul(g.Cur.NewSub(number, g.Env[r.Value].V), build.Int(build.I64, r.Size))
	}
	return out
}
