package llvm

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
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
//
// AVX2 has no masks of its own: a store under one takes a Zen 3 six times as long as another, and types of one and two
// bytes have none. So where a vector is several registers, what fills one goes register by register first, the last
// over the one before. f32[N] of 16 elements from C took 20.1 ns for `x .* 2.0 .+ 1.0`, and takes 7.7; a hundred rows
// of 20 with a row added 1391, and 681; i8[124] 99, and 9.

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

// short runs the fewer than w iterations of v in [lo, hi), of which there may be none.
func (g *gen) short(v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	n := g.oneRegister(v, body)
	if n >= w {
		g.partial(v, lo, hi, w, body)
		return
	}
	pre, registers, rest, done := g.cur, g.newBlock(), g.newBlock(), g.newBlock()
	size := pre.NewSub(hi, lo)
	pre.NewCondBr(pre.NewICmp(enum.IPredSGE, size, ci(i64, int64(n))), registers, rest)
	from := rest.NewPhi(lir.NewIncoming(lo, pre))
	g.cur = registers
	if g.inPlace() {
		end := g.cur.NewSub(hi, g.cur.NewSRem(size, ci(i64, int64(n))))
		g.overlappedVectors(v, lo, end, ci(i64, int64(n)), end, n, body) // of which none overlap
		from.Incs = append(from.Incs, lir.NewIncoming(end, g.cur))
		g.cur.NewBr(rest)
	} else {
		g.overlappedVectors(v, lo, hi, ci(i64, int64(n)), g.plus(hi, ci(i64, int64(-n))), n, body)
		g.cur.NewBr(done)
	}
	g.cur = rest
	g.partial(v, from, hi, n, body)
	g.cur.NewBr(done)
	g.cur = done
}

// oneRegister is how many iterations of a body over v fill a register, where that is worth code of its own.
func (g *gen) oneRegister(v kernel.Ref, body *kernel.Block) int {
	sh, ok := canVectorise(g.types, v, body)
	if !ok || g.machine.masks() || g.quick || sh.loops || sh.long || sh.instrs > longBody {
		return math.MaxInt
	}
	return max(g.machine.VectorBits/8/max(sh.maxBytes, 1), 4)
}

// partial runs the fewer than w iterations of v in [lo, hi) at once, if there are any, or one by one.
func (g *gen) partial(v kernel.Ref, lo, hi value.Value, w int, body *kernel.Block) {
	if !g.maskable(v, body) {
		g.count(lo, hi, 1, nil, func(x value.Value, _ []value.Value) []value.Value {
			g.env[v] = val{v: x}
			g.block(body)
			return nil
		})
		return
	}
	g.only(g.cur.NewICmp(enum.IPredSLT, lo, hi), func() {
		g.w = w
		left := g.cur.NewTrunc(g.cur.NewSub(hi, lo), i32)
		g.mask = g.cur.NewICmp(enum.IPredSLT, span(0, w), g.splat(left))
		g.env[v] = val{v: lo, iota: true}
		g.block(body)
		g.mask, g.w = nil, 0
	})
}
