package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

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
func (g *gen) iterate(s *kernel.Iterate) {
	init := make([]value.Value, len(s.Init))
	for i, r := range s.Init {
		init[i] = g.spread(g.env[r])
	}
	wide := g.w != 0
	count := g.uniform(s.Count)
	pre, head, inner, exit := g.cur, g.newBlock(), g.newBlock(), g.newBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(ci(i64, 0), pre))
	phis := make([]*lir.InstPhi, len(init))
	for j, x := range init {
		phis[j] = head.NewPhi(lir.NewIncoming(x, pre))
		g.set(s.Vars[j], phis[j], wide)
		g.set(s.IDs[j], phis[j], wide)
	}
	var ended *lir.InstPhi // a bool, or a vector of them
	more := value.Value(nil)
	if s.Until != scalar.None {
		ended = head.NewPhi(lir.NewIncoming(g.notYet(), pre))
		more = head.NewXor(g.allEnded(head, ended), constant.True)
	}
	g.cur = head
	below := g.cur.NewICmp(enum.IPredSLT, i, count)
	if more == nil {
		more = below
	} else {
		more = g.cur.NewAnd(below, more)
	}
	head.NewCondBr(more, inner, exit)
	g.cur = inner
	g.env[s.Var] = val{v: i}
	idle := g.idle
	if wide && ended != nil {
		g.idle = ended
	}
	g.block(s.Body)
	g.idle = idle
	next := make([]value.Value, len(s.Next))
	for j, r := range s.Next {
		next[j] = g.spread(g.env[r])
	}
	if ended != nil {
		stop := g.spread(g.env[s.Until])
		if wide {
			for j := range next {
				next[j] = g.cur.NewSelect(ended, phis[j], next[j])
			}
			stop = g.cur.NewOr(ended, stop)
		}
		ended.Incs = append(ended.Incs, lir.NewIncoming(stop, g.cur))
	}
	i.Incs = append(i.Incs, lir.NewIncoming(g.cur.NewAdd(i, ci(i64, 1)), g.cur))
	for j, x := range next {
		phis[j].Incs = append(phis[j].Incs, lir.NewIncoming(x, g.cur))
	}
	g.cur.NewBr(head)
	g.cur = exit
}

// notYet says which iterations of a vector have ended before a loop begins: those that a loop around it has ended.
func (g *gen) notYet() value.Value {
	if g.w != 0 && g.idle != nil {
		return g.idle
	}
	return g.ended(false)
}

// ended is a constant that says of all iterations whether they have ended.
func (g *gen) ended(all bool) value.Value {
	return splatConst(constant.NewBool(all), g.w)
}

// allEnded is true when every iteration has ended.
func (g *gen) allEnded(at *lir.Block, ended value.Value) value.Value {
	if g.w == 0 {
		return ended
	}
	bits := lt.NewInt(uint64(g.w))
	return at.NewICmp(enum.IPredEQ, at.NewBitCast(ended, bits), constant.NewInt(bits, -1))
}
