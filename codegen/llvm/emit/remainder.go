package emit

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/scalar"
	"healc/lang/types"
)

// remainder returns a function for the exact remainder of floats, which the back end for NVIDIA devices lacks: its own
// frem rounds the quotient. With |x| = mx * 2^ex and |y| = my * 2^ey it is (mx * 2^(ex-ey) mod my) * 2^ey, where the
// shift is done as many bits at a time as fit.
func (m *Module) remainder(d types.DType) *lir.Func {
	name := "fmod." + d.String()
	t, bits, fraction := build.RegisterType(d), int64(d.Bits()), int64(23)
	if d == types.F64 {
		fraction = 52
	}
	word := build.IntType(d.Bits())
	x, y := lir.NewParam("x", t), lir.NewParam("y", t)
	fn, fresh := m.OwnFunc(name, t, x, y)
	if !fresh {
		return fn
	}
	g := m.NewFunc(fn, nil)
	magnitude := func(v value.Value) value.Value {
		return g.Cur.NewAnd(g.widen(g.Cur.NewBitCast(v, word)), build.Int(build.I64, 1<<(bits-1)-1))
	}
	parts := func(u value.Value) (mantissa, exponent value.Value) {
		field := g.Cur.NewLShr(u, build.Int(build.I64, fraction))
		low := g.Cur.NewAnd(u, build.Int(build.I64, 1<<fraction-1))
		normal := g.Cur.NewICmp(enum.IPredNE, field, build.Int(build.I64, 0))
		one := g.Cur.NewSelect(normal, build.Int(build.I64, 1<<fraction), build.Int(build.I64, 0))
		return g.Cur.NewOr(low, one), g.Cur.NewSelect(normal, field, build.Int(build.I64, 1))
	}
	ux, uy := magnitude(x), magnitude(y)
	mx, ex := parts(ux)
	my, ey := parts(uy)
	zero := g.Cur.NewICmp(enum.IPredEQ, uy, build.Int(build.I64, 0))
	by := g.Cur.NewSelect(zero, build.Int(build.I64, 1), my)
	first, distance := g.Cur.NewURem(mx, by), g.Cur.NewSub(ex, ey)
	pre, head, inner, exit := g.Cur, g.NewBlock(), g.NewBlock(), g.NewBlock()
	pre.NewBr(head)
	rest, left := head.NewPhi(lir.NewIncoming(first, pre)), head.NewPhi(lir.NewIncoming(distance, pre))
	head.NewCondBr(head.NewICmp(enum.IPredSGT, left, build.Int(build.I64, 0)), inner, exit)
	g.Cur = inner
	room := build.Int(build.I64, 63-fraction)
	step := inner.NewSelect(inner.NewICmp(enum.IPredSLT, left, room), left, room)
	rest.Incs = append(rest.Incs, lir.NewIncoming(inner.NewURem(inner.NewShl(rest, step), by), inner))
	left.Incs = append(left.Incs, lir.NewIncoming(inner.NewSub(left, step), inner))
	inner.NewBr(head)
	g.Cur = exit
	// The first bit of rest goes to where it is not stored, as far as the exponent allows.
	ctlz := g.Intrinsic("llvm.ctlz.i64", build.I64, build.I64, build.I1)
	high := g.Cur.NewSub(g.Cur.NewCall(ctlz, rest, constant.False), build.Int(build.I64, 63-fraction))
	most := g.Cur.NewSub(ey, build.Int(build.I64, 1))
	shift := g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, high, most), high, most)
	field := g.Cur.NewShl(g.Cur.NewSub(most, shift), build.Int(build.I64, fraction))
	out := g.Cur.NewAdd(field, g.Cur.NewShl(rest, shift))
	whole := g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredEQ, rest, build.Int(build.I64, 0)), build.Int(build.I64, 0), out)
	kept := g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredULT, ux, uy), ux, whole)
	signed := g.Call("llvm.copysign", t, g.Cur.NewBitCast(g.narrow(kept, word), t), x)
	limit := build.Int(build.I64, int64(scalar.FloatBits(d, math.Inf(1))))
	bad := g.Cur.NewOr(zero, g.Cur.NewOr(g.Cur.NewICmp(enum.IPredUGE, ux, limit),
		g.Cur.NewICmp(enum.IPredUGT, uy, limit)))
	g.Cur.NewRet(g.Cur.NewSelect(bad, build.FromBits(t, scalar.FloatBits(d, math.NaN())), signed))
	g.Close()
	return fn
}

// widen is x as an unsigned i64.
func (g *Func) widen(x value.Value) value.Value {
	if x.Type().Equal(build.I64) {
		return x
	}
	return g.Cur.NewZExt(x, build.I64)
}

// narrow is the lower part of an i64.
func (g *Func) narrow(x value.Value, t *lt.IntType) value.Value {
	if t.Equal(build.I64) {
		return x
	}
	return g.Cur.NewTrunc(x, t)
}
