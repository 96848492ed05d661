package emit

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// iterate emits a loop whose count is a scalar, and which may end early:
//
//	head: i = phi 0, i+1; state = phi init, next; stop = phi false, until
//	      if i < count && !stop { body; goto head }
//
// In vector code the iterations of the vectorised axis may end at different steps. Then stop is a vector, the loop goes
// on until all of them have ended, and those that have keep their state. What the body computes for them is dropped; it
// can do no harm, because checks and branches in vector code depend on none of them alone, and loops inside do not go
// on for them.
func (g *Func) iterate(s *kernel.Iterate) {
	init := make([]value.Value, len(s.Init))
	for i, r := range s.Init {
		init[i] = g.Spread(g.Env[r])
	}
	wide := g.Width != 0
	count := g.Uniform(s.Count)
	pre, head, inner, exit := g.Cur, g.NewBlock(), g.NewBlock(), g.NewBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(build.Int(build.I64, 0), pre))
	phis := make([]*lir.InstPhi, len(init))
	for j, x := range init {
		phis[j] = head.NewPhi(lir.NewIncoming(x, pre))
		g.Set(s.Vars[j], phis[j], wide)
		g.Set(s.IDs[j], phis[j], wide)
	}
	var ended *lir.InstPhi // a bool, or a vector of them
	more := value.Value(nil)
	if s.Until != scalar.None {
		ended = head.NewPhi(lir.NewIncoming(g.notYet(), pre))
		more = head.NewXor(g.allEnded(head, ended), constant.True)
	}
	g.Cur = head
	below := g.Cur.NewICmp(enum.IPredSLT, i, count)
	if more == nil {
		more = below
	} else {
		more = g.Cur.NewAnd(below, more)
	}
	head.NewCondBr(more, inner, exit)
	g.Cur = inner
	g.Env[s.Var] = Val{V: i}
	lanes := g.Lanes
	if wide && ended != nil {
		lanes.finished = ended
	}
	g.In(lanes, func() { g.Block(s.Body) })
	next := make([]value.Value, len(s.Next))
	for j, r := range s.Next {
		next[j] = g.Spread(g.Env[r])
	}
	if ended != nil {
		stop := g.Spread(g.Env[s.Until])
		if wide {
			for j := range next {
				next[j] = g.Cur.NewSelect(ended, phis[j], next[j])
			}
			stop = g.Cur.NewOr(ended, stop)
		}
		ended.Incs = append(ended.Incs, lir.NewIncoming(stop, g.Cur))
	}
	i.Incs = append(i.Incs, lir.NewIncoming(g.Cur.NewAdd(i, build.Int(build.I64, 1)), g.Cur))
	for j, x := range next {
		phis[j].Incs = append(phis[j].Incs, lir.NewIncoming(x, g.Cur))
	}
	g.Cur.NewBr(head)
	g.Cur = exit
}

// notYet says which iterations of a vector have ended before a loop begins: those that a loop around it has ended.
func (g *Func) notYet() value.Value {
	if g.Width != 0 && g.finished != nil {
		return g.finished
	}
	return g.ended(false)
}

// ended is a constant that says of all iterations whether they have ended.
func (g *Func) ended(all bool) value.Value {
	return build.SplatConst(constant.NewBool(all), g.Width)
}

// allEnded is true when every iteration has ended.
func (g *Func) allEnded(at *lir.Block, ended value.Value) value.Value {
	if g.Width == 0 {
		return ended
	}
	bits := lt.NewInt(uint64(g.Width))
	return at.NewICmp(enum.IPredEQ, at.NewBitCast(ended, bits), constant.NewInt(bits, -1))
}
