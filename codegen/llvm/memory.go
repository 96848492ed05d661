package llvm

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
)

// place is where the elements of an access lie: base + i*step for iteration i of the vectorised axis,
// or index[i] when index is set. step is nil when all iterations read the same element.
type place struct {
	base  value.Value
	step  value.Value
	index value.Value // a vector of i64
}

func (g *gen) place(a kernel.Access) place {
	base := g.dim(a.Offset)
	var step, index value.Value
	for _, t := range a.Terms {
		coef, v := g.dim(t.Coef), g.env[t.Var]
		switch {
		case v.wide:
			index = g.plus(index, g.times(g.splat(coef), v.v))
		case v.iota:
			base = g.plus(base, g.times(coef, v.v))
			step = g.plus(step, coef)
		default:
			base = g.plus(base, g.times(coef, v.v))
		}
	}
	if index != nil {
		index = g.cur.NewAdd(index, g.splat(base))
		if step != nil {
			index = g.cur.NewAdd(index, g.cur.NewMul(g.splat(step), iotaConst(g.w)))
		}
		return place{base: base, index: index}
	}
	if n, ok := constantInt(step); step != nil && ok && n == 0 {
		step = nil
	}
	return place{base: base, step: step}
}

func (g *gen) addr(param int, at value.Value) value.Value {
	return g.cur.NewGetElementPtr(memType(g.params[param].DType), g.bufs[param], at)
}

func (g *gen) align(d types.DType) lir.Align { return elementAlign(d) }

// fromMem turns what memory holds into a register value; toMem is its inverse.
func (g *gen) fromMem(d types.DType, w int, x value.Value) value.Value {
	switch d {
	case types.Bool:
		return g.cur.NewICmp(enum.IPredNE, x, g.k(ci(i8, 0), w))
	case types.F16:
		return g.fromHalf(x, w)
	case types.BF16:
		return g.fromBF16(x, w)
	}
	return x
}

func (g *gen) toMem(d types.DType, w int, x value.Value) value.Value {
	switch d {
	case types.Bool:
		return g.cur.NewZExt(x, vec(i8, w))
	case types.F16:
		return g.toHalf(x, w)
	case types.BF16:
		return g.toBF16(x, w)
	}
	return x
}

func (g *gen) loadScalar(param int, at value.Value) value.Value {
	d := g.params[param].DType
	l := g.cur.NewLoad(memType(d), g.addr(param, at))
	l.Align = g.align(d)
	return l
}

// load reads one element for each iteration: one load when all read the same, a vector load when they
// are neighbours, vectors and shuffles when they are a few elements apart, else one load an iteration.
func (g *gen) load(s *kernel.Load) {
	d := g.params[s.Param].DType
	p := g.place(s.At)
	if p.step == nil && p.index == nil {
		g.set(s.ID, g.fromMem(d, 0, g.loadScalar(s.Param, p.base)), false)
		return
	}
	vt := vec(memType(d), g.w)
	var x value.Value
	step, known := constantInt(p.step)
	known = known && p.index == nil
	if known && (step == 1 || step == -1) {
		if _, ok := g.access.Vector(g, d, s.At); ok {
			at := p.base
			if step < 0 {
				at = g.plus(at, ci(i64, int64(1-g.w)))
			}
			x = g.access.Load(g, s, at, step)
			if step < 0 {
				x = g.reversed(x)
			}
		}
	}
	if x == nil && known {
		x = g.access.Strided(g, s.Param, d, p.base, step)
	}
	if x == nil {
		x = constant.NewUndef(vt)
		for i := 0; i < g.w; i++ {
			x = g.cur.NewInsertElement(x, g.loadScalar(s.Param, g.lane(p, i)), ci(i32, int64(i)))
		}
	}
	g.set(s.ID, g.fromMem(d, g.w, x), true)
}

// lane is the element number of iteration i.
func (g *gen) lane(p place, i int) value.Value {
	if p.index != nil {
		return g.cur.NewExtractElement(p.index, ci(i32, int64(i)))
	}
	return g.plus(p.base, g.times(p.step, ci(i64, int64(i))))
}

func (g *gen) store(s *kernel.Store) {
	d := g.params[s.Param].DType
	p := g.place(s.At)
	scalarStore := func(x, at value.Value) {
		st := g.cur.NewStore(x, g.addr(s.Param, at))
		st.Align = g.align(d)
	}
	if p.step == nil && p.index == nil {
		v := g.env[s.Val]
		if v.wide || v.iota {
			panic("BUG: the iterations of a vectorised axis store to one element")
		}
		scalarStore(g.toMem(d, 0, v.v), p.base)
		return
	}
	x := g.toMem(d, g.w, g.spread(g.env[s.Val]))
	if step, ok := constantInt(p.step); p.index == nil && ok && (step == 1 || step == -1) {
		if _, ok := g.access.Vector(g, d, s.At); ok {
			at := p.base
			if step < 0 {
				at = g.plus(at, ci(i64, int64(1-g.w)))
				x = g.reversed(x)
			}
			g.access.Store(g, s, x, at)
			return
		}
	}
	for i := 0; i < g.w; i++ {
		scalarStore(g.cur.NewExtractElement(x, ci(i32, int64(i))), g.lane(p, i))
	}
}
