package loops

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
	"healc/lang/types"
)

// The loops of a collapsed kernel: Note [Collapsed axes] in ir/kernel/transform.

// collapse is the kernel whose last axes became one, and the facts known about its conditions.
type collapse struct {
	period *transform.Collapsed     // nil for other kernels
	agreed map[kernel.Ref]agreement // conditions that depend on the last axis alone
}

// agreement says of a condition that depends on j alone whether any j has it, and whether all do.
type agreement struct{ any, all value.Value }

// CollapsedLoops writes the rows, and then the loops, whose schedule the directive d has.
func CollapsedLoops(g *emit.Func, p *transform.Collapsed, d *kernel.Directive, begin, end value.Value) {
	c := emit.State[collapse](g)
	g.Params, c.period = p.K.Params, p
	g.Schedule = schedule.OnJoined(d, p)
	g.Peephole = func(s *kernel.Let) bool { return phaseOf(g, s) }
	g.ReturnUnless(g.Cur.NewICmp(enum.IPredSLT, begin, end))
	g.Block(&kernel.Block{Stmts: p.Before})
	var state []value.Value
	for _, r := range p.Kept {
		g.Bufs = append(g.Bufs, g.Stack(build.MemoryType(g.Params[r.Param].DType), int(p.N+transform.PeriodTail)))
		if p.K.Types[r.Ref] == types.Bool {
			state = append(state, build.Int(build.I1, 0), build.Int(build.I1, 1))
		}
	}
	state = g.For(build.Int(build.I64, 0), build.Int(build.I64, p.N), 1, state,
		func(j value.Value, state []value.Value) []value.Value {
			g.Env[p.J] = emit.Val{V: j}
			g.Block(&kernel.Block{Stmts: p.Rows})
			var next []value.Value
			for _, r := range p.Kept {
				x := g.Env[r.Ref].V
				if p.K.Types[r.Ref] == types.Bool {
					at := len(next)
					next = append(next, g.Cur.NewOr(state[at], x), g.Cur.NewAnd(state[at+1], x))
				}
				g.Cur.NewStore(g.ToMem(g.Params[r.Param].DType, 0, x), g.Addr(r.Param, j))
			}
			return next
		})
	g.For(build.Int(build.I64, p.N), build.Int(build.I64, p.N+transform.PeriodTail), 1, nil,
		func(j value.Value, _ []value.Value) []value.Value {
			for _, r := range p.Kept {
				g.Cur.NewStore(g.LoadScalar(r.Param, g.Cur.NewSub(j, build.Int(build.I64, p.N))), g.Addr(r.Param, j))
			}
			return nil
		})
	c.agreed = map[kernel.Ref]agreement{}
	for _, r := range p.Kept {
		if p.K.Types[r.Ref] == types.Bool {
			c.agreed[r.Ref] = agreement{state[0], state[1]}
			state = state[2:]
		}
	}
	if p.Scaled {
		begin, end = g.Cur.NewMul(begin, build.Int(build.I64, p.N)), g.Cur.NewMul(end, build.Int(build.I64, p.N))
	}
	KernelLoops(g, p.K, begin, end)
}

// phaseOf computes c modulo n for the first element of a vector; the rows go on for the others.
func phaseOf(g *emit.Func, s *kernel.Let) bool {
	p := emit.State[collapse](g).period
	if s.ID != p.Phase || s.ID == scalar.None {
		return false
	}
	c := g.Env[s.In.Args[0]]
	g.Env[s.ID] = emit.Val{V: g.Cur.NewURem(c.V, build.Int(build.I64, p.N)), Iota: c.Iota}
	return true
}

// agreedArms computes the arms that some j takes.
func agreedArms(g *emit.Func, s *kernel.If, c value.Value, of agreement) {
	some := func(taken value.Value, then bool, vals []kernel.Ref) []value.Value {
		pre, yes, join := g.Cur, g.NewBlock(), g.NewBlock()
		pre.NewCondBr(taken, yes, join)
		g.Cur = yes
		arm(g, s, then, c)
		out := make([]value.Value, len(vals))
		for i, r := range vals {
			out[i] = g.Spread(g.Env[r])
		}
		end := g.Cur
		end.NewBr(join)
		g.Cur = join
		for i, x := range out {
			out[i] = join.NewPhi(lir.NewIncoming(constant.NewZeroInitializer(x.Type()), pre), lir.NewIncoming(x, end))
		}
		return out
	}
	yes := some(of.any, true, s.ThenVals)
	no := some(g.Cur.NewXor(of.all, build.Int(build.I1, 1)), false, s.ElseVals)
	for i, id := range s.IDs {
		g.Set(id, g.Cur.NewSelect(c, yes[i], no[i]), true)
	}
}
