package emit

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// check branches to a cold block that writes the error and leaves.
func (g *Func) check(s *kernel.Let) {
	if c := g.Env[s.In.Args[0]]; c.Wide || g.differ(s.In.Args[1:]) {
		g.checkAll(g.Spread(c))
		return
	}
	ok := g.Uniform(s.In.Args[0])
	if c, isConst := ok.(*constant.Int); isConst && c.X.Sign() != 0 {
		return
	}
	bad, good := g.NewBlock(), g.NewBlock()
	g.Cur.NewCondBr(ok, good, bad)
	g.Cur = bad
	info := []value.Value{}
	for _, a := range s.In.Args[1:] {
		if a != scalar.None {
			v := g.Uniform(a)
			if !v.Type().Equal(build.I64) {
				v = g.cast(types.I64, g.Types[a], 0, v)
			}
			info = append(info, v)
		}
	}
	g.report(s.Site, info)
	g.Cur = good
}

// differ reports whether one of refs is not the same for all iterations of a vector.
func (g *Func) differ(refs []kernel.Ref) bool {
	for _, r := range refs {
		if r != scalar.None && g.Width != 0 && (g.Env[r].Wide || g.Env[r].Iota) {
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
func (g *Func) checkAll(ok value.Value) {
	mask := lt.NewInt(uint64(g.Width))
	var all value.Value
	if g.Machine.Device { // whose predicates are no bits of a register
		all = g.Cur.NewExtractElement(ok, build.Int(build.I32, 0))
		for i := range g.Width - 1 {
			all = g.Cur.NewAnd(all, g.Cur.NewExtractElement(ok, build.Int(build.I32, int64(i+1))))
		}
	} else {
		all = g.Cur.NewICmp(enum.IPredEQ, g.Cur.NewBitCast(ok, mask), constant.NewInt(mask, -1))
	}
	bad, good := g.NewBlock(), g.NewBlock()
	g.Cur.NewCondBr(all, good, bad)
	g.Cur = bad
	env := slices.Clone(g.Env)
	g.InVectors(0, func() {
		g.Scalarise()
		g.Fail() // not reached: one of them failed
	})
	copy(g.Env, env)
	g.Cur = good
}

// report writes the error record and ends the function in the current block.
func (g *Func) report(site int, info []value.Value) {
	g.Cur.NewStore(build.Int(build.I64, int64(site)+1), g.Errp)
	for i, v := range info {
		g.Cur.NewStore(v, g.Cur.NewGetElementPtr(build.I64, g.Errp, build.Int(build.I64, int64(i)+1)))
	}
	g.Fail()
}
