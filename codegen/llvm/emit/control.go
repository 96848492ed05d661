package emit

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// For emits `for i = lo; i < hi; i += step`, carrying state, and returns the state at the end. The
// body may leave the current block.
func (g *Func) For(lo, hi value.Value, step int64, init []value.Value,
	body func(i value.Value, state []value.Value) []value.Value) []value.Value {
	return g.ForStep(lo, hi, build.Int(build.I64, step), init, body)
}

// ForStep is For with a step that need not be a constant.
func (g *Func) ForStep(lo, hi, step value.Value, init []value.Value,
	body func(i value.Value, state []value.Value) []value.Value) []value.Value {
	if x, ok := build.ConstantInt(lo); ok {
		if y, ok := build.ConstantInt(hi); ok && x >= y {
			return init
		}
	}
	pre, head, inner, exit := g.Cur, g.NewBlock(), g.NewBlock(), g.NewBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(lo, pre))
	phis := make([]*lir.InstPhi, len(init))
	state := make([]value.Value, len(init))
	for j, x := range init {
		phis[j] = head.NewPhi(lir.NewIncoming(x, pre))
		state[j] = phis[j]
	}
	head.NewCondBr(head.NewICmp(enum.IPredSLT, i, hi), inner, exit)
	g.Cur = inner
	next := body(i, state)
	i.Incs = append(i.Incs, lir.NewIncoming(g.Cur.NewAdd(i, step), g.Cur))
	for j, x := range next {
		phis[j].Incs = append(phis[j].Incs, lir.NewIncoming(x, g.Cur))
	}
	g.Cur.NewBr(head)
	g.Cur = exit
	return state
}

// ForOverlapped is ForStep for a body that takes last in place of any i beyond it. The loop has one comparison: whether
// a last round begins before hi is asked where the others end.
func (g *Func) ForOverlapped(lo, hi, step, last value.Value, body func(i value.Value)) {
	pre, start, loop, end, exit := g.Cur, g.NewBlock(), g.NewBlock(), g.NewBlock(), g.NewBlock()
	pre.NewCondBr(pre.NewICmp(enum.IPredSLT, lo, hi), start, exit)
	g.Cur = start
	first, within := g.Min(lo, last), g.Min(hi, g.Add(last, build.Int(build.I64, 1)))
	beyond := g.Min(hi, g.Cur.NewAdd(last, step)) // where no round begins
	g.Cur.NewBr(loop)
	i := loop.NewPhi(lir.NewIncoming(first, g.Cur))
	g.Cur = loop
	body(i)
	next := g.Cur.NewAdd(i, step)
	i.Incs = append(i.Incs, lir.NewIncoming(next, g.Cur), lir.NewIncoming(last, end))
	g.Cur.NewCondBr(g.Cur.NewICmp(enum.IPredSLT, next, within), loop, end)
	end.NewCondBr(end.NewICmp(enum.IPredSLT, next, beyond), loop, exit)
	g.Cur = exit
}

// If runs yes where cond holds and returns its values, and else returns no. A cond of nil holds.
func (g *Func) If(cond value.Value, no []value.Value, yes func() []value.Value) []value.Value {
	if cond == nil {
		return yes()
	}
	pre, then, join := g.Cur, g.NewBlock(), g.NewBlock()
	pre.NewCondBr(cond, then, join)
	g.Cur = then
	xs := yes()
	end := g.Cur
	end.NewBr(join)
	g.Cur = join
	out := make([]value.Value, len(xs))
	for i, x := range xs {
		out[i] = x
		if x != no[i] {
			out[i] = join.NewPhi(lir.NewIncoming(no[i], pre), lir.NewIncoming(x, end))
		}
	}
	return out
}

// When runs yes where cond holds; cond may be nil, which holds.
func (g *Func) When(cond value.Value, yes func()) {
	g.If(cond, nil, func() []value.Value {
		yes()
		return nil
	})
}

// IfElse runs yes where cond holds, and no elsewhere, and returns the values of the one that ran.
func (g *Func) IfElse(cond value.Value, yes, no func() []value.Value) []value.Value {
	then, other, join := g.NewBlock(), g.NewBlock(), g.NewBlock()
	g.Cur.NewCondBr(cond, then, other)
	g.Cur = then
	xs := yes()
	xEnd := g.Cur
	xEnd.NewBr(join)
	g.Cur = other
	ys := no()
	yEnd := g.Cur
	yEnd.NewBr(join)
	g.Cur = join
	out := make([]value.Value, len(xs))
	for i, x := range xs {
		out[i] = join.NewPhi(lir.NewIncoming(x, xEnd), lir.NewIncoming(ys[i], yEnd))
	}
	return out
}

// Branch runs yes where cond holds, and no elsewhere.
func (g *Func) Branch(cond value.Value, yes, no func()) {
	g.IfElse(cond, func() []value.Value {
		yes()
		return nil
	}, func() []value.Value {
		no()
		return nil
	})
}

// ReturnUnless ends the kernel where cond does not hold.
func (g *Func) ReturnUnless(cond value.Value) {
	some, none := g.NewBlock(), g.NewBlock()
	g.Cur.NewCondBr(cond, some, none)
	none.NewRet(nil)
	g.Cur = some
}
