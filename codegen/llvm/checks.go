package llvm

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// check branches to a cold block that writes the error and leaves.
func (g *gen) check(s *kernel.Let) {
	if c := g.env[s.In.Args[0]]; c.wide || g.differ(s.In.Args[1:]) {
		g.checkAll(g.spread(c))
		return
	}
	ok := g.uniform(s.In.Args[0])
	if c, isConst := ok.(*constant.Int); isConst && c.X.Sign() != 0 {
		return
	}
	bad, good := g.newBlock(), g.newBlock()
	g.cur.NewCondBr(ok, good, bad)
	g.cur = bad
	info := []value.Value{}
	for _, a := range s.In.Args[1:] {
		if a != scalar.None {
			v := g.uniform(a)
			if !v.Type().Equal(i64) {
				v = g.cast(types.I64, g.types[a], 0, v)
			}
			info = append(info, v)
		}
	}
	g.report(s.Site, info)
	g.cur = good
}

// differ reports whether one of refs is not the same for all iterations of a vector.
func (g *gen) differ(refs []kernel.Ref) bool {
	for _, r := range refs {
		if r != scalar.None && g.w != 0 && (g.env[r].wide || g.env[r].iota) {
			return true
		}
	}
	return false
}

// checkAll translates a check that differs between the iterations of the vectorised axis.
//
// Note [Checks in vectors]: which failure a program reports is part of its meaning, the first one in the order of
// the iterations and of the checks in each. So a vector asks only whether all of its iterations pass. Where one does
// not, the iterations of the vector are done again one by one, and report it. They have no effects. In a loop that ends
// early there are no such checks: an iteration for which it has ended goes on with the others, and what it computes
// there may fail, or be no index.
func (g *gen) checkAll(ok value.Value) {
	mask := lt.NewInt(uint64(g.w))
	var all value.Value
	if g.machine.Device { // whose predicates are no bits of a register
		all = g.cur.NewExtractElement(ok, ci(i32, 0))
		for i := range g.w - 1 {
			all = g.cur.NewAnd(all, g.cur.NewExtractElement(ok, ci(i32, int64(i+1))))
		}
	} else {
		all = g.cur.NewICmp(enum.IPredEQ, g.cur.NewBitCast(ok, mask), constant.NewInt(mask, -1))
	}
	bad, good := g.newBlock(), g.newBlock()
	g.cur.NewCondBr(all, good, bad)
	g.cur = bad
	env, w := slices.Clone(g.env), g.w
	g.w = 0
	g.oneByOne()
	g.fail() // not reached: one of them failed
	g.w = w
	copy(g.env, env)
	g.cur = good
}

// report writes the error record and ends the function in the current block.
func (g *gen) report(site int, info []value.Value) {
	g.cur.NewStore(ci(i64, int64(site)+1), g.errp)
	for i, v := range info {
		g.cur.NewStore(v, g.cur.NewGetElementPtr(i64, g.errp, ci(i64, int64(i)+1)))
	}
	g.fail()
}
