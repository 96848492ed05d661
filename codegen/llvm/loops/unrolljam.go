package loops

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// jammedRows is a kernel whose rows go side by side: Note [Unroll and jam] in ir/kernel/transform.
type jammedRows struct {
	*kernel.Directive
	*transform.Jammable
	*transform.Jammed
}

// jammedRowsOf is the kernel, whose axes stand around body, as the schedule has it; nil where its rows go one by one.
func jammedRowsOf(g *emit.Func, k *kernel.Kernel, body *kernel.Block) *jammedRows {
	d := g.Schedule.OfKind("jam")
	if d == nil {
		return nil
	}
	r, _ := transform.JammableOf(k, g.Types, body, schedule.LineBytes)
	return &jammedRows{d, r, r.Jam(d.Get("rows"))}
}

// jammedLoop runs the rows [lo, hi), each along a range: as many at once as the schedule says, and one by one what is
// left.
func jammedLoop(g *emit.Func, r *jammedRows, row kernel.Ref, lo, hi value.Value, along [2]value.Value,
	one func(lo, hi value.Value)) {
	g.Types = r.Types
	g.Env = append(g.Env, make([]emit.Val, len(r.Types)-len(g.Env))...)
	rows := r.Get("rows")
	end := g.Add(lo, g.RoundDown(g.Sub(hi, lo), rows))
	g.For(lo, end, rows, nil, func(i value.Value, _ []value.Value) []value.Value {
		g.Env[row] = emit.Val{V: i}
		g.Block(&kernel.Block{Stmts: r.Before})
		emit.State[Nest](g).jammed = true
		g.Within(r.Directive, func() {
			Parallel(g, r.Axis.Var, along[0], along[1], false, r.Body)
		})
		emit.State[Nest](g).jammed = false
		return nil
	})
	one(end, hi)
}
