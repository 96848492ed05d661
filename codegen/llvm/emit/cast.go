package emit

import (
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel/analysis"
	"healc/lang/types"
)

// cast converts by language.md section 2: floats to integers truncate, saturate and send NaN to 0;
// integers wrap; everything to a float is rounded once.
func (g *Func) cast(t, from types.DType, w int, x value.Value) value.Value {
	b := g.Cur
	to := build.Vector(build.RegisterType(t), w)
	switch {
	case t == from:
		return x
	case t == types.Bool:
		if from.IsFloat() {
			return b.NewFCmp(enum.FPredUNE, g.AsFloat(from, x), g.Number(from, 0, w))
		}
		return b.NewICmp(enum.IPredNE, x, g.Number(from, 0, w))
	case from == types.Bool && t.IsFloat():
		return b.NewUIToFP(x, to)
	case from == types.Bool:
		return b.NewZExt(x, to)
	case from.IsFloat() && t.IsInt():
		return g.saturate(t, from, w, g.AsFloat(from, x))
	case from.IsInt() && t.IsInt():
		switch {
		case t.Bits() < from.Bits():
			return b.NewTrunc(x, to)
		case t.Bits() == from.Bits():
			return x
		case from.IsSigned():
			return b.NewSExt(x, to)
		}
		return b.NewZExt(x, to)
	case from.IsInt():
		return g.intToFloat(t, from, w, x)
	}
	// Between floats. f16 and bf16 are carried as f32.
	src, dst := analysis.ArithmeticType(from), analysis.ArithmeticType(t)
	switch {
	case src == types.F32 && dst == types.F64:
		return b.NewFPExt(x, to)
	case src == types.F64 && t == types.F32:
		return b.NewFPTrunc(x, to)
	case src == types.F64:
		return g.roundStorage(t, g.toOddF32(w, x), w)
	}
	if t == types.F32 {
		return x
	}
	return g.roundStorage(t, g.AsFloat(from, x), w)
}

// toOddF32 rounds an f64 to f32 to odd: truncated toward zero, the last bit set when anything was
// lost. Rounding the result again to 22 bits or fewer is then the same as rounding once.
func (g *Func) toOddF32(w int, x value.Value) value.Value {
	b := g.Cur
	near := b.NewFPTrunc(x, build.Vector(lt.Float, w))
	back := b.NewFPExt(near, build.Vector(lt.Double, w))
	bits := b.NewBitCast(near, build.Vector(build.I32, w))
	// Away from zero: step back one bit pattern; then set the last bit if inexact.
	far := b.NewFCmp(enum.FPredOGT, g.Call("llvm.fabs", back.Type(), back), g.Call("llvm.fabs", x.Type(), x))
	down := b.NewSub(bits, b.NewZExt(far, build.Vector(build.I32, w)))
	odd := b.NewOr(down, b.NewZExt(b.NewFCmp(enum.FPredONE, back, x), build.Vector(build.I32, w)))
	return b.NewBitCast(odd, build.Vector(lt.Float, w))
}

// roundStorage rounds an f32 in a register to the precision of a storage type; other types pass.
func (g *Func) roundStorage(t types.DType, x value.Value, w int) value.Value {
	switch t {
	case types.F16:
		return g.fromHalf(g.toHalf(x, w), w)
	case types.BF16:
		return g.fromBF16(g.toBF16(x, w), w)
	}
	return x
}

// roundResult is roundStorage for what arithmetic makes of numbers of the storage type, see Note [NaNs of bf16].
func (g *Func) roundResult(t types.DType, x value.Value, w int) value.Value {
	if t != types.BF16 || g.Machine.Device {
		return g.roundStorage(t, x, w)
	}
	return g.fromBF16(g.upperHalf(g.nearestBF16(x, w), w), w)
}

// Note [NaNs of bf16]
//
// To round an f32 to bf16 is to add to its bits, which may make a number of a NaN whose payload reaches into the lower
// half. So it is asked for NaNs. What adds, multiplies, divides or takes roots of bf16, whose lower halves are 0, has a
// NaN of that kind never: processors hand on the payload of an operand, or give a NaN with none. Devices give another
// one. What was rounded stands in its upper half as it is stored.

// toHalf rounds an f32 to binary16 bits, with the conversion instruction of the CPU.
func (g *Func) toHalf(x value.Value, w int) value.Value {
	b := g.Cur
	return b.NewBitCast(b.NewFPTrunc(x, build.Vector(lt.Half, w)), build.Vector(lt.I16, w))
}

func (g *Func) fromHalf(bits value.Value, w int) value.Value {
	b := g.Cur
	return b.NewFPExt(b.NewBitCast(bits, build.Vector(lt.Half, w)), build.Vector(lt.Float, w))
}

// toBF16 rounds an f32 to the upper 16 bits, to nearest even; NaN stays NaN.
func (g *Func) toBF16(x value.Value, w int) value.Value {
	b := g.Cur
	n := func(v int64) value.Value { return g.ConstOf(build.Int(build.I32, v), w) }
	bits := b.NewBitCast(x, build.Vector(build.I32, w))
	rounded := g.nearestBF16(x, w)
	nan := b.NewFCmp(enum.FPredUNO, x, x)
	r := b.NewSelect(nan, b.NewOr(bits, n(0x400000)), rounded)
	return b.NewTrunc(b.NewLShr(r, n(16)), build.Vector(lt.I16, w))
}

// nearestBF16 has the nearest bf16 in its upper half, the even one of two, for a number.
func (g *Func) nearestBF16(x value.Value, w int) value.Value {
	b := g.Cur
	n := func(v int64) value.Value { return g.ConstOf(build.Int(build.I32, v), w) }
	bits := b.NewBitCast(x, build.Vector(build.I32, w))
	lsb := b.NewAnd(b.NewLShr(bits, n(16)), n(1))
	return b.NewAdd(bits, b.NewAdd(lsb, n(0x7fff)))
}

// upperHalf is the upper half of 32 bits: of a bf16 in a register what is stored.
func (g *Func) upperHalf(bits value.Value, w int) value.Value {
	return g.Cur.NewTrunc(g.Cur.NewLShr(bits, g.ConstOf(build.Int(build.I32, 16), w)), build.Vector(lt.I16, w))
}

func (g *Func) fromBF16(bits value.Value, w int) value.Value {
	b := g.Cur
	return b.NewBitCast(b.NewShl(b.NewZExt(bits, build.Vector(build.I32, w)), g.ConstOf(build.Int(build.I32, 16), w)),
		build.Vector(lt.Float, w))
}

// AsFloat is x, whose type is carried as another, where its instructions are compared or converted: LLVM would do that
// in binary16, of which x86 has no instructions, element by element.
func (g *Func) AsFloat(d types.DType, x value.Value) value.Value {
	if _, wide := x.Type().(*lt.VectorType); d != types.F16 || !wide || g.Machine.VectorBits < 256 {
		return x
	}
	return g.Call("llvm.arithmetic.fence", x.Type(), x)
}

// bitcast reinterprets; f16 and bf16 take their storage form on the way.
func (g *Func) bitcast(t, from types.DType, w int, x value.Value) value.Value {
	switch from {
	case types.F16:
		x = g.toHalf(x, w)
	case types.BF16:
		x = g.upperHalf(g.Cur.NewBitCast(x, build.Vector(build.I32, w)), w)
	}
	switch t {
	case types.F16:
		return g.fromHalf(g.asInt16(x, w), w)
	case types.BF16:
		return g.fromBF16(g.asInt16(x, w), w)
	}
	if x.Type().Equal(build.Vector(build.RegisterType(t), w)) {
		return x
	}
	return g.Cur.NewBitCast(x, build.Vector(build.RegisterType(t), w))
}

func (g *Func) asInt16(x value.Value, w int) value.Value {
	if x.Type().Equal(build.Vector(lt.I16, w)) {
		return x
	}
	return g.Cur.NewBitCast(x, build.Vector(lt.I16, w))
}
