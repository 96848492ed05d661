package reduce

import (
	lir "github.com/llir/llvm/ir"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
)

// Note [Load order]
//
// The vectors that a reduction reads for its 128 lanes do not depend on each other, and LLVM loads them in the order
// that suits its registers. Some processors fetch ahead best where two operands are read line by line in turns
// (docs/tuning/reductions.md). So each vector of all operands is loaded before the next one of any. One operand alone
// has no order to lose.

// inOrder keeps the loads for r so far before those from here on, when r reads several operands as it goes.
func (r *Reduction) inOrder() {
	streams := map[int]bool{}
	last := r.S.Axes[len(r.S.Axes)-1].Var
	fixed := false
	kernel.Each(r.S.Body, func(l *kernel.Load) {
		moves := false
		for _, t := range l.At.Terms {
			moves = moves || t.Var == last
		}
		streams[l.Param], fixed = true, fixed || !moves
	})
	if len(streams) < 2 || fixed {
		return
	}
	KeepOrder(r.G)
}

// KeepOrder keeps loads and stores before it before those after it. The values stored at these addresses stay in
// memory, where LLVM would find registers for them.
func KeepOrder(g *emit.Func, memory ...value.Value) {
	t, constraint := lt.NewFunc(lt.Void), "~{memory}"
	for _, at := range memory {
		t.Params, constraint = append(t.Params, at.Type()), "r,"+constraint
	}
	g.Cur.NewCall(&lir.InlineAsm{Typ: lt.NewPointer(t), Constraint: constraint, SideEffect: true}, memory...)
}
