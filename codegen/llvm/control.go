package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"
)

// count emits `for i = lo; i < hi; i += step`, carrying state, and returns the state at the end. The
// body may leave the current block.
func (g *gen) count(lo, hi value.Value, step int64, init []value.Value,
	body func(i value.Value, state []value.Value) []value.Value) []value.Value {
	return g.countBy(lo, hi, ci(i64, step), init, body)
}

// countBy is count for a step that need not be known.
func (g *gen) countBy(lo, hi, step value.Value, init []value.Value,
	body func(i value.Value, state []value.Value) []value.Value) []value.Value {
	if x, ok := constantInt(lo); ok {
		if y, ok := constantInt(hi); ok && x >= y {
			return init
		}
	}
	pre, head, inner, exit := g.cur, g.newBlock(), g.newBlock(), g.newBlock()
	pre.NewBr(head)
	i := head.NewPhi(lir.NewIncoming(lo, pre))
	phis := make([]*lir.InstPhi, len(init))
	state := make([]value.Value, len(init))
	for j, x := range init {
		phis[j] = head.NewPhi(lir.NewIncoming(x, pre))
		state[j] = phis[j]
	}
	head.NewCondBr(head.NewICmp(enum.IPredSLT, i, hi), inner, exit)
	g.cur = inner
	next := body(i, state)
	i.Incs = append(i.Incs, lir.NewIncoming(g.cur.NewAdd(i, step), g.cur))
	for j, x := range next {
		phis[j].Incs = append(phis[j].Incs, lir.NewIncoming(x, g.cur))
	}
	g.cur.NewBr(head)
	g.cur = exit
	return state
}

// countTo is countBy for a body that takes last in place of what is beyond it. The loop has one comparison: whether a
// last round begins before hi is asked where the others end.
func (g *gen) countTo(lo, hi, step, last value.Value, body func(i value.Value)) {
	pre, start, loop, end, exit := g.cur, g.newBlock(), g.newBlock(), g.newBlock(), g.newBlock()
	pre.NewCondBr(pre.NewICmp(enum.IPredSLT, lo, hi), start, exit)
	g.cur = start
	first, within := g.least(lo, last), g.least(hi, g.plus(last, ci(i64, 1)))
	beyond := g.least(hi, g.cur.NewAdd(last, step)) // where no round begins
	g.cur.NewBr(loop)
	i := loop.NewPhi(lir.NewIncoming(first, g.cur))
	g.cur = loop
	body(i)
	next := g.cur.NewAdd(i, step)
	i.Incs = append(i.Incs, lir.NewIncoming(next, g.cur), lir.NewIncoming(last, end))
	g.cur.NewCondBr(g.cur.NewICmp(enum.IPredSLT, next, within), loop, end)
	end.NewCondBr(end.NewICmp(enum.IPredSLT, next, beyond), loop, exit)
	g.cur = exit
}

// when is what yes gives where cond holds, and else the values of no; cond may be nil, which holds.
func (g *gen) when(cond value.Value, no []value.Value, yes func() []value.Value) []value.Value {
	if cond == nil {
		return yes()
	}
	pre, then, join := g.cur, g.newBlock(), g.newBlock()
	pre.NewCondBr(cond, then, join)
	g.cur = then
	xs := yes()
	end := g.cur
	end.NewBr(join)
	g.cur = join
	out := make([]value.Value, len(xs))
	for i, x := range xs {
		out[i] = x
		if x != no[i] {
			out[i] = join.NewPhi(lir.NewIncoming(no[i], pre), lir.NewIncoming(x, end))
		}
	}
	return out
}

// only runs yes where cond holds; cond may be nil, which holds.
func (g *gen) only(cond value.Value, yes func()) {
	g.when(cond, nil, func() []value.Value {
		yes()
		return nil
	})
}

// choose is what yes gives where cond holds, and what no gives elsewhere.
func (g *gen) choose(cond value.Value, yes, no func() []value.Value) []value.Value {
	then, other, join := g.newBlock(), g.newBlock(), g.newBlock()
	g.cur.NewCondBr(cond, then, other)
	g.cur = then
	xs := yes()
	xEnd := g.cur
	xEnd.NewBr(join)
	g.cur = other
	ys := no()
	yEnd := g.cur
	yEnd.NewBr(join)
	g.cur = join
	out := make([]value.Value, len(xs))
	for i, x := range xs {
		out[i] = join.NewPhi(lir.NewIncoming(x, xEnd), lir.NewIncoming(ys[i], yEnd))
	}
	return out
}

// either runs yes where cond holds, and no elsewhere.
func (g *gen) either(cond value.Value, yes, no func()) {
	g.choose(cond, func() []value.Value {
		yes()
		return nil
	}, func() []value.Value {
		no()
		return nil
	})
}

// leaveUnless ends the kernel where cond does not hold.
func (g *gen) leaveUnless(cond value.Value) {
	some, none := g.newBlock(), g.newBlock()
	g.cur.NewCondBr(cond, some, none)
	none.NewRet(nil)
	g.cur = some
}
