package emit

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// Scalar functions take their arguments, the dims, the error record and the depth of calls, and return
// their result, or a struct of several. A caller leaves at once when the callee has reported an error.

func (m *Module) DeclareFunc(f *kernel.Func) {
	var ps []*lir.Param
	for i, t := range f.Params {
		ps = append(ps, lir.NewParam(fmt.Sprintf("p%d", i), build.RegisterType(t)))
	}
	ps = append(ps, lir.NewParam("dims", build.I64Ptr), lir.NewParam("err", build.I64Ptr),
		lir.NewParam("depth", build.I64))
	ret := make([]lt.Type, len(f.Results))
	for i, t := range f.Results {
		ret[i] = build.RegisterType(t)
	}
	var rt lt.Type = lt.NewStruct(ret...)
	if len(ret) == 1 {
		rt = ret[0]
	}
	fn := m.M.NewFunc("fn."+f.Name, rt, ps...)
	fn.Linkage = enum.LinkageInternal
	build.FunctionAttrs(fn)
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline)
	if !m.Machine.Device {
		fn.FuncAttrs = append(fn.FuncAttrs, lir.AttrPair{Key: "warn-stack-size", Value: "0"}) // libllvm.Options.Frames
	}
	m.Funcs[f.Name] = fn
}

func (m *Module) DefineFunc(f *kernel.Func) {
	fn := m.Funcs[f.Name]
	g := m.NewFunc(fn, f.Types)
	if m.Lined {
		g.Lined = m.FunctionLines(fn.Name(), f.Source, diag.Span{})
		g.Lined.Of(fn)
	}
	n := len(f.Params)
	for i := range f.Params {
		g.Env[i] = Val{V: fn.Params[i]}
	}
	g.Dims, g.Errp, g.Depth = fn.Params[n], fn.Params[n+1], fn.Params[n+2]
	g.Fail = func() { g.Cur.NewRet(constant.NewZeroInitializer(fn.Sig.RetType)) }
	ok, deep := g.NewBlock(), g.NewBlock()
	g.Cur.NewCondBr(g.Cur.NewICmp(enum.IPredSLT, g.Depth, build.Int(build.I64, abi.MaxCallDepth)), ok, deep)
	g.Cur = deep
	g.report(f.Site, nil)
	g.Cur = ok
	if g.Machine.Device {
		g.checkStack(f.Site)
	}
	g.Block(f.Body)
	if len(f.Results) == 1 {
		g.Cur.NewRet(g.Env[f.Vals[0]].V)
	} else {
		var agg value.Value = constant.NewUndef(fn.Sig.RetType)
		for i, r := range f.Vals {
			agg = g.Cur.NewInsertValue(agg, g.Env[r].V, uint64(i))
		}
		g.Cur.NewRet(agg)
	}
	g.Close()
}

// Note [Stack of a thread]: the stack of a thread of a device may end before abi.MaxCallDepth calls do, and what is
// beyond it takes the device away from the process. So a function first compares how far its frame is from that of the
// kernel with the bytes that calls may take. PTX has local variables on the stack, so the distance is that between a
// variable here and the dims, which the kernel keeps in a variable, too. The bytes follow the dims; the runtime knows
// them (abi.Device.Reserve).

// checkStack fails where the stack of the thread has no room for more calls than those that are active.
func (g *Func) checkStack(site int) {
	here := g.Entry.NewAlloca(build.I64)
	here.Align = 8
	b := g.Cur
	above := b.NewSub(b.NewPtrToInt(here, build.I64), b.NewPtrToInt(g.Dims, build.I64))
	below := b.NewSub(build.Int(build.I64, 0), above)
	distance := b.NewSelect(b.NewICmp(enum.IPredSGT, above, below), above, below)
	room := b.NewLoad(build.I64, g.StackRoom())
	ok, full := g.NewBlock(), g.NewBlock()
	b.NewCondBr(b.NewICmp(enum.IPredSLE, distance, room), ok, full)
	g.Cur = full
	g.report(site, []value.Value{room})
	g.Cur = ok
}

// StackRoom is the address of the bytes of stack that calls may take, behind the dims of a kernel on a device.
func (g *Func) StackRoom() value.Value {
	return g.Entry.NewGetElementPtr(build.I64, g.Dims, build.Int(build.I64, int64(len(g.Km.Dims))))
}

func (g *Func) scalarCall(s *kernel.Call) {
	var args []value.Value
	for _, r := range s.Args {
		args = append(args, g.Uniform(r))
	}
	args = append(args, g.Dims, g.Errp, g.Cur.NewAdd(g.Depth, build.Int(build.I64, 1)))
	out := g.Cur.NewCall(g.Funcs[s.Func], args...)
	failed := g.Cur.NewICmp(enum.IPredNE, g.Cur.NewLoad(build.I64, g.Errp), build.Int(build.I64, 0))
	bad, good := g.NewBlock(), g.NewBlock()
	g.Cur.NewCondBr(failed, bad, good)
	g.Cur = bad
	g.Fail()
	g.Cur = good
	if len(s.IDs) == 1 {
		g.Set(s.IDs[0], out, false)
		return
	}
	for i, id := range s.IDs {
		if id != scalar.None {
			g.Set(id, g.Cur.NewExtractValue(out, uint64(i)), false)
		}
	}
}
