package llvm

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// Note [Short vectors]
//
// What does not fill a vector is mostly done by one that overlaps the vector before. Two cases have none that it
// may overlap: a kernel that works in place, whose elements must not be computed twice, and a range that is shorter
// than a vector. There the machine's masks are used, one vector whose lanes beyond the end neither load nor store,
// if it has them for the types of the kernel and all accesses are to neighbours; else the iterations run
// one by one.

// maskable reports that a vector of body over v can be masked.
func (g *gen) maskable(v kernel.Ref, body *kernel.Block) bool {
	if g.machine.VectorBits < 256 || !g.machine.Scale && !g.wideElements() {
		return false
	}
	a := &analysis{types: g.types, wide: map[kernel.Ref]bool{v: true}}
	if _, ok := a.block(body); !ok {
		return false
	}
	neighbours := func(at kernel.Access) bool {
		for _, t := range at.Terms {
			if a.wide[t.Var] && !t.Coef.IsConst(0) && !(t.Var == v && t.Coef.IsConst(1)) {
				return false
			}
		}
		return true
	}
	for _, s := range body.Stmts {
		switch s := s.(type) {
		case *kernel.Let, *kernel.DimValue:
		case *kernel.Load:
			if !neighbours(s.At) {
				return false
			}
		case *kernel.Store:
			if !neighbours(s.At) {
				return false
			}
		default: // loops, whose accesses would have to be looked at as well
			return false
		}
	}
	return true
}

// wideElements reports that all buffers have elements that AVX2 can mask.
func (g *gen) wideElements() bool {
	for _, p := range g.params {
		if p.DType.Bytes() < 4 {
			return false
		}
	}
	return true
}

// short runs the fewer than w iterations of v in [lo, hi) at once, if there are any, or one by one.
func (g *gen) short(v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	if !g.maskable(v, body) {
		g.count(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
			g.env[v] = val{v: x}
			g.block(body)
			return nil
		})
		return
	}
	some, done := g.newBlock(), g.newBlock()
	g.cur.NewCondBr(g.cur.NewICmp(enum.IPredSLT, lo, hi), some, done)
	g.cur = some
	g.w = w
	lanes := make([]constant.Constant, w)
	for i := range lanes {
		lanes[i] = ci(i32, int64(i))
	}
	left := g.cur.NewTrunc(g.cur.NewSub(hi, lo), i32)
	g.mask = g.cur.NewICmp(enum.IPredSLT, constant.NewVector(nil, lanes...), g.splat(left))
	g.env[v] = val{v: lo, iota: true}
	g.block(body)
	g.mask, g.w = nil, 0
	g.cur.NewBr(done)
	g.cur = done
}

// loadVector loads g.w neighbours of type t, those that g.mask allows.
func (g *gen) loadVector(t *lt.VectorType, p value.Value, align lir.Align) value.Value {
	if g.mask == nil {
		l := g.cur.NewLoad(t, p)
		l.Align = align
		return l
	}
	f := g.intrinsic(fmt.Sprintf("llvm.masked.load.%[1]s.p0%[1]s", typeSuffix(t)), t, p.Type(), i32, g.mask.Type(), t)
	return g.cur.NewCall(f, p, ci(i32, int64(align)), g.mask, constant.NewZeroInitializer(t))
}

// storeMasked stores the elements of x that g.mask allows.
func (g *gen) storeMasked(x, p value.Value, align lir.Align) {
	s := typeSuffix(x.Type())
	f := g.intrinsic(fmt.Sprintf("llvm.masked.store.%[1]s.p0%[1]s", s), lt.Void, x.Type(), p.Type(), i32, g.mask.Type())
	g.cur.NewCall(f, x, p, ci(i32, int64(align)), g.mask)
}
