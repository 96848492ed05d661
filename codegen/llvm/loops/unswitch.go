package loops

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// unswitch writes loops for each way through body that the schedule takes before them: Note [Loop unswitching] in
// codegen/schedule.
func unswitch(g *emit.Func, body *kernel.Block, loops func(body *kernel.Block)) {
	d := g.Schedule.OfKind("unswitch")
	if d == nil {
		loops(body)
		return
	}
	c := d.On
	of := func(arm string) *kernel.Directive { return kernel.Directives(d.Sub).Find(arm, scalar.None) }
	before, in := g.Env[c], g.Lets[c]
	settled := func(arm string, taken bool) {
		g.Env[c] = emit.Val{V: constant.NewBool(taken)}
		g.Within(of(arm), func() { unswitch(g, transform.TakeArm(body, c, taken), loops) })
		g.Env[c], g.Lets[c] = before, in // the way has its own
	}
	if of("then") == nil { // all may go the second way
		settled("else", false)
		return
	}
	join := g.NewBlock()
	arm := func(name string, taken bool) {
		settled(name, taken)
		g.Cur.NewBr(join)
	}
	either := func(cond value.Value, then, els func()) {
		yes, no := g.NewBlock(), g.NewBlock()
		g.Cur.NewCondBr(cond, yes, no)
		g.Cur = yes
		then()
		g.Cur = no
		els()
	}
	then, els := func() { arm("then", true) }, func() { arm("else", false) }
	agreed, collapsed := emit.State[collapse](g).agreed[c]
	switch mixed := of("mixed"); {
	case !collapsed:
		either(before.V, then, els)
	case mixed == nil:
		either(agreed.all, then, els)
	default:
		either(agreed.all, then, func() {
			either(agreed.any, func() {
				g.Within(mixed, func() { loops(body) })
				g.Cur.NewBr(join)
			}, els)
		})
	}
	g.Cur = join
}
