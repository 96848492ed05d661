package llvm

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/scalar"
	"healc/lang/types"
)

// remainder returns a function for the exact remainder of floats, which the back end for NVIDIA devices lacks: its own
// frem rounds the quotient. With |x| = mx * 2^ex and |y| = my * 2^ey it is (mx * 2^(ex-ey) mod my) * 2^ey, where the
// shift is done as many bits at a time as fit.
func (m *module) remainder(d types.DType) *lir.Func {
	name := "fmod." + d.String()
	if f := m.funcs[name]; f != nil {
		return f
	}
	t, bits, fraction := regType(d), int64(d.Bits()), int64(23)
	if d == types.F64 {
		fraction = 52
	}
	word := intType(d.Bits())
	x, y := lir.NewParam("x", t), lir.NewParam("y", t)
	fn := m.m.NewFunc(name, t, x, y)
	fn.Linkage = enum.LinkageInternal
	functionAttrs(fn)
	m.funcs[name] = fn
	g := m.newGen(fn, nil)
	magnitude := func(v value.Value) value.Value {
		return g.cur.NewAnd(g.widen(g.cur.NewBitCast(v, word)), ci(i64, 1<<(bits-1)-1))
	}
	parts := func(u value.Value) (mantissa, exponent value.Value) {
		field := g.cur.NewLShr(u, ci(i64, fraction))
		low := g.cur.NewAnd(u, ci(i64, 1<<fraction-1))
		normal := g.cur.NewICmp(enum.IPredNE, field, ci(i64, 0))
		one := g.cur.NewSelect(normal, ci(i64, 1<<fraction), ci(i64, 0))
		return g.cur.NewOr(low, one), g.cur.NewSelect(normal, field, ci(i64, 1))
	}
	ux, uy := magnitude(x), magnitude(y)
	mx, ex := parts(ux)
	my, ey := parts(uy)
	zero := g.cur.NewICmp(enum.IPredEQ, uy, ci(i64, 0))
	by := g.cur.NewSelect(zero, ci(i64, 1), my)
	first, distance := g.cur.NewURem(mx, by), g.cur.NewSub(ex, ey)
	pre, head, inner, exit := g.cur, g.newBlock(), g.newBlock(), g.newBlock()
	pre.NewBr(head)
	rest, left := head.NewPhi(lir.NewIncoming(first, pre)), head.NewPhi(lir.NewIncoming(distance, pre))
	head.NewCondBr(head.NewICmp(enum.IPredSGT, left, ci(i64, 0)), inner, exit)
	g.cur = inner
	room := ci(i64, 63-fraction)
	step := inner.NewSelect(inner.NewICmp(enum.IPredSLT, left, room), left, room)
	rest.Incs = append(rest.Incs, lir.NewIncoming(inner.NewURem(inner.NewShl(rest, step), by), inner))
	left.Incs = append(left.Incs, lir.NewIncoming(inner.NewSub(left, step), inner))
	inner.NewBr(head)
	g.cur = exit
	// The first bit of rest goes to where it is not stored, as far as the exponent allows.
	ctlz := g.intrinsic("llvm.ctlz.i64", i64, i64, i1)
	high := g.cur.NewSub(g.cur.NewCall(ctlz, rest, constant.False), ci(i64, 63-fraction))
	most := g.cur.NewSub(ey, ci(i64, 1))
	shift := g.cur.NewSelect(g.cur.NewICmp(enum.IPredSLT, high, most), high, most)
	field := g.cur.NewShl(g.cur.NewSub(most, shift), ci(i64, fraction))
	out := g.cur.NewAdd(field, g.cur.NewShl(rest, shift))
	whole := g.cur.NewSelect(g.cur.NewICmp(enum.IPredEQ, rest, ci(i64, 0)), ci(i64, 0), out)
	kept := g.cur.NewSelect(g.cur.NewICmp(enum.IPredULT, ux, uy), ux, whole)
	signed := g.call("llvm.copysign", t, g.cur.NewBitCast(g.narrow(kept, word), t), x)
	limit := ci(i64, int64(scalar.FloatBits(d, math.Inf(1))))
	bad := g.cur.NewOr(zero, g.cur.NewOr(g.cur.NewICmp(enum.IPredUGE, ux, limit),
		g.cur.NewICmp(enum.IPredUGT, uy, limit)))
	g.cur.NewRet(g.cur.NewSelect(bad, fromBits(t, scalar.FloatBits(d, math.NaN())), signed))
	g.close()
	return fn
}

// widen is x as an unsigned i64.
func (g *gen) widen(x value.Value) value.Value {
	if x.Type().Equal(i64) {
		return x
	}
	return g.cur.NewZExt(x, i64)
}

// narrow is the lower part of an i64.
func (g *gen) narrow(x value.Value, t *lt.IntType) value.Value {
	if t.Equal(i64) {
		return x
	}
	return g.cur.NewTrunc(x, t)
}
