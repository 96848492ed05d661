package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// iterate emits a loop whose count is a scalar, and which may end early:
//
//	head: i = phi 0, i+1; state = phi init, next; stop = phi false, until
//	      if i < count && !stop { body; goto head }
//
// It is never inside of vector code: its iterations of the vectorised axis could end at different steps.
func (g *gen) iterate(s *kernel.Iterate) {
	init := make([]value.Value, len(s.Init))
	for i, r := range s.Init {
		init[i] = g.uniformOf(g.env[r])
	}
	count := g.uniform(s.Count)
	pre, head, inner, exit := g.cur, g.newBlock(), g.newBlock(), g.newBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(ci(i64, 0), pre))
	phis := make([]*lir.InstPhi, len(init))
	for j, x := range init {
		phis[j] = head.NewPhi(lir.NewIncoming(x, pre))
		g.set(s.Vars[j], phis[j], false)
		g.set(s.IDs[j], phis[j], false)
	}
	var stop *lir.InstPhi
	if s.Until != scalar.None {
		stop = head.NewPhi(lir.NewIncoming(constant.False, pre))
	}
	more := value.Value(head.NewICmp(enum.IPredSLT, i, count))
	if stop != nil {
		more = head.NewAnd(more, head.NewXor(stop, constant.True))
	}
	head.NewCondBr(more, inner, exit)
	g.cur = inner
	g.env[s.Var] = val{v: i}
	g.block(s.Body)
	i.Incs = append(i.Incs, lir.NewIncoming(g.cur.NewAdd(i, ci(i64, 1)), g.cur))
	for j, r := range s.Next {
		phis[j].Incs = append(phis[j].Incs, lir.NewIncoming(g.uniformOf(g.env[r]), g.cur))
	}
	if stop != nil {
		stop.Incs = append(stop.Incs, lir.NewIncoming(g.uniform(s.Until), g.cur))
	}
	g.cur.NewBr(head)
	g.cur = exit
}

// uniformOf is the value of a scalar outside of vector code.
func (g *gen) uniformOf(v val) value.Value {
	if v.wide || v.iota {
		panic("BUG: a loop that may end early is inside of vector code")
	}
	return v.v
}
