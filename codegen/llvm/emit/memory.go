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
	"healc/lang/types"
)

// address is where the elements of an access lie: base + i*step for iteration i of the vectorised axis,
// or index[i] when index is set. step is nil when all iterations read the same element.
type address struct {
	Base  value.Value
	step  value.Value
	index value.Value // a vector of i64
}

func (g *Func) AddressOf(a kernel.Access) address {
	base := g.Dim(a.Offset)
	var step, index value.Value
	for _, t := range a.Terms {
		coef, v := g.Dim(t.Coef), g.Env[t.Var]
		switch {
		case v.Wide:
			index = g.Add(index, g.Mul(g.Splat(coef), v.V))
		case v.Iota:
			base = g.Add(base, g.Mul(coef, v.V))
			step = g.Add(step, coef)
		default:
			base = g.Add(base, g.Mul(coef, v.V))
		}
	}
	if index != nil {
		index = g.Cur.NewAdd(index, g.Splat(base))
		if step != nil {
			index = g.Cur.NewAdd(index, g.Cur.NewMul(g.Splat(step), build.IotaConst(g.Width)))
		}
		return address{Base: base, index: index}
	}
	if n, ok := build.ConstantInt(step); step != nil && ok && n == 0 {
		step = nil
	}
	return address{Base: base, step: step}
}

func (g *Func) Addr(param int, at value.Value) value.Value {
	return g.Cur.NewGetElementPtr(build.MemoryType(g.Params[param].DType), g.Bufs[param], at)
}

func (g *Func) Align(d types.DType) lir.Align { return elementAlign(d) }

// FromMem turns what memory holds into a register value; ToMem is its inverse.
func (g *Func) FromMem(d types.DType, w int, x value.Value) value.Value {
	switch d {
	case types.Bool:
		return g.Cur.NewICmp(enum.IPredNE, x, g.ConstOf(build.Int(build.I8, 0), w))
	case types.F16:
		return g.fromHalf(x, w)
	case types.BF16:
		return g.fromBF16(x, w)
	}
	return x
}

func (g *Func) ToMem(d types.DType, w int, x value.Value) value.Value {
	switch d {
	case types.Bool:
		return g.Cur.NewZExt(x, build.Vector(build.I8, w))
	case types.F16:
		return g.toHalf(x, w)
	case types.BF16:
		return g.upperHalf(g.Cur.NewBitCast(x, build.Vector(build.I32, w)), w)
	}
	return x
}

func (g *Func) LoadScalar(param int, at value.Value) value.Value {
	d := g.Params[param].DType
	l := g.Cur.NewLoad(build.MemoryType(d), g.Addr(param, at))
	l.Align = g.Align(d)
	return l
}

// load reads one element for each iteration: one load when all read the same, a vector load when they
// are neighbours, vectors and shuffles when they are a few elements apart, else one load an iteration.
func (g *Func) load(s *kernel.Load) {
	d := g.Params[s.Param].DType
	p := g.AddressOf(s.At)
	if p.step == nil && p.index == nil {
		g.Set(s.ID, g.FromMem(d, 0, g.LoadScalar(s.Param, p.Base)), false)
		return
	}
	vt := build.Vector(build.MemoryType(d), g.Width)
	var x value.Value
	step, known := build.ConstantInt(p.step)
	known = known && p.index == nil
	if known && (step == 1 || step == -1) {
		if _, ok := g.Access.Vector(g, d, s.At); ok {
			at := p.Base
			if step < 0 {
				at = g.Add(at, build.Int(build.I64, int64(1-g.Width)))
			}
			x = g.Access.Load(g, s, at, step)
			if step < 0 {
				x = g.reverse(x)
			}
		}
	}
	if x == nil && known {
		x = g.Access.Strided(g, s.Param, d, p.Base, step)
	}
	if x == nil {
		x = constant.NewUndef(vt)
		for i := 0; i < g.Width; i++ {
			x = g.Cur.NewInsertElement(x, g.LoadScalar(s.Param, g.Lane(p, i)), build.Int(build.I32, int64(i)))
		}
	}
	g.Set(s.ID, g.FromMem(d, g.Width, x), true)
}

// Lane is the element number of iteration i.
func (g *Func) Lane(p address, i int) value.Value {
	if p.index != nil {
		return g.Cur.NewExtractElement(p.index, build.Int(build.I32, int64(i)))
	}
	return g.Add(p.Base, g.Mul(p.step, build.Int(build.I64, int64(i))))
}

func (g *Func) Store(s *kernel.Store) {
	d := g.Params[s.Param].DType
	p := g.AddressOf(s.At)
	scalarStore := func(x, at value.Value) {
		st := g.Cur.NewStore(x, g.Addr(s.Param, at))
		st.Align = g.Align(d)
	}
	if p.step == nil && p.index == nil {
		v := g.Env[s.Val]
		if v.Wide || v.Iota {
			panic("BUG: the iterations of a vectorised axis store to one element")
		}
		scalarStore(g.ToMem(d, 0, v.V), p.Base)
		return
	}
	x := g.ToMem(d, g.Width, g.Spread(g.Env[s.Val]))
	if step, ok := build.ConstantInt(p.step); p.index == nil && ok && (step == 1 || step == -1) {
		if _, ok := g.Access.Vector(g, d, s.At); ok {
			at := p.Base
			if step < 0 {
				at = g.Add(at, build.Int(build.I64, int64(1-g.Width)))
				x = g.reverse(x)
			}
			g.Access.Store(g, s, x, at)
			return
		}
	}
	for i := 0; i < g.Width; i++ {
		scalarStore(g.Cur.NewExtractElement(x, build.Int(build.I32, int64(i))), g.Lane(p, i))
	}
}

// SizeOf is the size of a buffer in bytes, when it is known.
func (g *Func) SizeOf(param int) (int64, bool) { return g.Code().SizeOf(param) }

// Stack reserves n values of type t in the frame and returns the address of the first. All of them are
// in the entry block, so a loop does not grow the stack.
func (g *Func) Stack(t lt.Type, n int) value.Value {
	at := lt.NewArray(uint64(n), t)
	a := g.Entry.NewAlloca(at)
	a.Align = 64
	return g.Entry.NewGetElementPtr(at, a, build.Int(build.I64, 0), build.Int(build.I64, 0))
}

// Borrow is Stack for memory that is needed until the code that is written calls back. On devices, where the frame of
// every thread that can run at a time is reserved, what is written later borrows it again. Elsewhere rare arms are
// written behind what is around them, when that is needed still.
func (g *Func) Borrow(t lt.Type, n int) (mem value.Value, back func()) {
	if !g.Machine.Device {
		return g.Stack(t, n), func() {}
	}
	key := fmt.Sprint(n, t)
	free := g.lent[key]
	if len(free) == 0 {
		mem = g.Stack(t, n)
	} else {
		mem = free[len(free)-1]
		g.lent[key] = free[:len(free)-1]
	}
	return mem, func() { g.lent[key] = append(g.lent[key], mem) }
}
