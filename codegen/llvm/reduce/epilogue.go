package reduce

import (
	lir "github.com/llir/llvm/ir"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// Note [Vectorised epilogues]
//
// Where terms lie side by side, vectors go along them, and the statements after the sums have one number at a time. The
// residue of a sum of products then takes as long as the sum of 32 of them. So the sums of some iterations are kept,
// and the statements after them are done in vectors (docs/tuning/reductions.md).

// batch is the code of such a loop.
type batch struct {
	g *emit.Func
	v kernel.Ref
	*schedule.Batch
	w int // iterations of one vector in the epilogue
}

// BatchForm keeps the sums of some rows and does their epilogues in vectors.
var BatchForm = emit.ParallelForm{
	Name: "batched reductions",
	For:  "loops over rows that are reduced along, with much to compute from each result",
	Why:  "only where the loop is no vectors: the reductions are, along the rows",
	Write: func(g *emit.Func, v kernel.Ref, lo, hi value.Value, body *kernel.Block) (value.Value, bool) {
		d := g.Schedule.Find("batch", v)
		if d == nil || g.Width != 0 {
			return nil, false
		}
		c := &batch{g, v, g.Code().BatchOf(v, body), int(d.Get("width"))}
		stop := g.Add(lo, g.RoundDown(g.Sub(hi, lo), int64(c.w)))
		c.run(lo, stop)
		return stop, true
	},
}

// run does the iterations [lo, hi), whole vectors of them.
func (c *batch) run(lo, hi value.Value) {
	g := c.g
	most := int64(g.Machine.Profile.Reduce.Kept) / int64(c.w) * int64(c.w) // iterations whose sums are kept
	kept := make([]value.Value, len(c.Sums))
	for i, s := range c.Sums {
		kept[i] = g.Stack(build.RegisterType(s.Type), int(most))
	}
	first := &kernel.Block{Stmts: append([]kernel.Stmt{}, c.Before...)}
	for _, s := range c.Sums {
		first.Stmts = append(first.Stmts, s)
	}
	g.For(lo, hi, most, nil, func(at value.Value, _ []value.Value) []value.Value {
		n := g.Min(g.Cur.NewSub(hi, at), build.Int(build.I64, most))
		g.For(build.Int(build.I64, 0), n, 1, nil, func(j value.Value, _ []value.Value) []value.Value {
			g.Env[c.v] = emit.Val{V: g.Cur.NewAdd(at, j)}
			g.Block(first)
			for i, s := range c.Sums {
				g.Cur.NewStore(g.Env[s.ID].V, g.Cur.NewGetElementPtr(build.RegisterType(s.Type), kept[i], j))
			}
			return nil
		})
		g.For(build.Int(build.I64, 0), n, int64(c.w), nil, func(j value.Value, _ []value.Value) []value.Value {
			g.InVectors(c.w, func() {
				g.Env[c.v] = emit.Val{V: g.Cur.NewAdd(at, j), Iota: true}
				g.Block(&kernel.Block{Stmts: c.Before})
				for i, s := range c.Sums {
					t := build.Vector(build.RegisterType(s.Type), c.w)
					at := g.Cur.NewGetElementPtr(build.RegisterType(s.Type), kept[i], j)
					l := g.Cur.NewLoad(t, g.Cur.NewBitCast(at, lt.NewPointer(t)))
					l.Align = lir.Align(analysis.ArithmeticType(s.Type).Bytes())
					g.Set(s.ID, l, true)
				}
				g.Block(&kernel.Block{Stmts: c.After})
			})
			return nil
		})
		return nil
	})
}
