package llvm

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// Scalar functions take their arguments, the dims, the error record and the depth of calls, and return
// their result, or a struct of several. A caller leaves at once when the callee has reported an error.

func (m *module) declareFunc(f *kernel.Func) {
	var ps []*lir.Param
	for i, t := range f.Params {
		ps = append(ps, lir.NewParam(fmt.Sprintf("p%d", i), regType(t)))
	}
	ps = append(ps, lir.NewParam("dims", int64Ptr), lir.NewParam("err", int64Ptr), lir.NewParam("depth", i64))
	ret := make([]lt.Type, len(f.Results))
	for i, t := range f.Results {
		ret[i] = regType(t)
	}
	var rt lt.Type = lt.NewStruct(ret...)
	if len(ret) == 1 {
		rt = ret[0]
	}
	fn := m.m.NewFunc("fn."+f.Name, rt, ps...)
	fn.Linkage = enum.LinkageInternal
	functionAttrs(fn)
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline)
	m.funcs[f.Name] = fn
}

func (m *module) defineFunc(f *kernel.Func) {
	fn := m.funcs[f.Name]
	g := m.newGen(fn, f.Types)
	if m.lined {
		g.lined = m.functionLines(fn, f.Source)
	}
	n := len(f.Params)
	for i := range f.Params {
		g.env[i] = val{v: fn.Params[i]}
	}
	g.dims, g.errp, g.depth = fn.Params[n], fn.Params[n+1], fn.Params[n+2]
	g.fail = func() { g.cur.NewRet(constant.NewZeroInitializer(fn.Sig.RetType)) }
	ok, deep := g.newBlock(), g.newBlock()
	g.cur.NewCondBr(g.cur.NewICmp(enum.IPredSLT, g.depth, ci(i64, abi.MaxCallDepth)), ok, deep)
	g.cur = deep
	g.report(f.Site, nil)
	g.cur = ok
	g.block(f.Body)
	if len(f.Results) == 1 {
		g.cur.NewRet(g.env[f.Vals[0]].v)
	} else {
		var agg value.Value = constant.NewUndef(fn.Sig.RetType)
		for i, r := range f.Vals {
			agg = g.cur.NewInsertValue(agg, g.env[r].v, uint64(i))
		}
		g.cur.NewRet(agg)
	}
	g.close()
}

func (g *gen) scalarCall(s *kernel.Call) {
	var args []value.Value
	for _, r := range s.Args {
		args = append(args, g.uniform(r))
	}
	args = append(args, g.dims, g.errp, g.cur.NewAdd(g.depth, ci(i64, 1)))
	out := g.cur.NewCall(g.funcs[s.Func], args...)
	failed := g.cur.NewICmp(enum.IPredNE, g.cur.NewLoad(i64, g.errp), ci(i64, 0))
	bad, good := g.newBlock(), g.newBlock()
	g.cur.NewCondBr(failed, bad, good)
	g.cur = bad
	g.fail()
	g.cur = good
	if len(s.IDs) == 1 {
		g.set(s.IDs[0], out, false)
		return
	}
	for i, id := range s.IDs {
		if id != scalar.None {
			g.set(id, g.cur.NewExtractValue(out, uint64(i)), false)
		}
	}
}
