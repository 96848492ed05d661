package llvm

import (
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/lang/types"
)

// cast converts by language.md section 2: floats to integers truncate, saturate and send NaN to 0;
// integers wrap; everything to a float is rounded once.
func (g *gen) cast(t, from types.DType, w int, x value.Value) value.Value {
	b := g.cur
	to := vec(regType(t), w)
	switch {
	case t == from:
		return x
	case t == types.Bool:
		if from.IsFloat() {
			return b.NewFCmp(enum.FPredUNE, g.asFloat(from, x), g.num(from, 0, w))
		}
		return b.NewICmp(enum.IPredNE, x, g.num(from, 0, w))
	case from == types.Bool && t.IsFloat():
		return b.NewUIToFP(x, to)
	case from == types.Bool:
		return b.NewZExt(x, to)
	case from.IsFloat() && t.IsInt():
		return g.saturate(t, from, w, g.asFloat(from, x))
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
	src, dst := regDType(from), regDType(t)
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
	return g.roundStorage(t, g.asFloat(from, x), w)
}

// toOddF32 rounds an f64 to f32 to odd: truncated toward zero, the last bit set when anything was
// lost. Rounding the result again to 22 bits or fewer is then the same as rounding once.
func (g *gen) toOddF32(w int, x value.Value) value.Value {
	b := g.cur
	near := b.NewFPTrunc(x, vec(lt.Float, w))
	back := b.NewFPExt(near, vec(lt.Double, w))
	bits := b.NewBitCast(near, vec(i32, w))
	// Away from zero: step back one bit pattern; then set the last bit if inexact.
	far := b.NewFCmp(enum.FPredOGT, g.call("llvm.fabs", back.Type(), back), g.call("llvm.fabs", x.Type(), x))
	down := b.NewSub(bits, b.NewZExt(far, vec(i32, w)))
	odd := b.NewOr(down, b.NewZExt(b.NewFCmp(enum.FPredONE, back, x), vec(i32, w)))
	return b.NewBitCast(odd, vec(lt.Float, w))
}

// roundStorage rounds an f32 in a register to the precision of a storage type; other types pass.
func (g *gen) roundStorage(t types.DType, x value.Value, w int) value.Value {
	switch t {
	case types.F16:
		return g.fromHalf(g.toHalf(x, w), w)
	case types.BF16:
		return g.fromBF16(g.toBF16(x, w), w)
	}
	return x
}

// toHalf rounds an f32 to binary16 bits, with the conversion instruction of the CPU.
func (g *gen) toHalf(x value.Value, w int) value.Value {
	b := g.cur
	return b.NewBitCast(b.NewFPTrunc(x, vec(lt.Half, w)), vec(lt.I16, w))
}

func (g *gen) fromHalf(bits value.Value, w int) value.Value {
	b := g.cur
	return b.NewFPExt(b.NewBitCast(bits, vec(lt.Half, w)), vec(lt.Float, w))
}

// toBF16 rounds an f32 to the upper 16 bits, to nearest even; NaN stays NaN.
func (g *gen) toBF16(x value.Value, w int) value.Value {
	b := g.cur
	n := func(v int64) value.Value { return g.k(ci(i32, v), w) }
	bits := b.NewBitCast(x, vec(i32, w))
	lsb := b.NewAnd(b.NewLShr(bits, n(16)), n(1))
	rounded := b.NewAdd(bits, b.NewAdd(lsb, n(0x7fff)))
	nan := b.NewFCmp(enum.FPredUNO, x, x)
	r := b.NewSelect(nan, b.NewOr(bits, n(0x400000)), rounded)
	return b.NewTrunc(b.NewLShr(r, n(16)), vec(lt.I16, w))
}

func (g *gen) fromBF16(bits value.Value, w int) value.Value {
	b := g.cur
	return b.NewBitCast(b.NewShl(b.NewZExt(bits, vec(i32, w)), g.k(ci(i32, 16), w)), vec(lt.Float, w))
}

// asFloat is x, whose type is carried as another, where its instructions are compared or converted: LLVM would do that
// in binary16, of which x86 has no instructions, element by element.
func (g *gen) asFloat(d types.DType, x value.Value) value.Value {
	if _, wide := x.Type().(*lt.VectorType); d != types.F16 || !wide || g.machine.VectorBits < 256 || g.machine.Device {
		return x
	}
	return g.call("llvm.arithmetic.fence", x.Type(), x)
}

// bitcast reinterprets; f16 and bf16 take their storage form on the way.
func (g *gen) bitcast(t, from types.DType, w int, x value.Value) value.Value {
	switch from {
	case types.F16:
		x = g.toHalf(x, w)
	case types.BF16:
		x = g.toBF16(x, w)
	}
	switch t {
	case types.F16:
		return g.fromHalf(g.asInt16(x, w), w)
	case types.BF16:
		return g.fromBF16(g.asInt16(x, w), w)
	}
	if x.Type().Equal(vec(regType(t), w)) {
		return x
	}
	return g.cur.NewBitCast(x, vec(regType(t), w))
}

func (g *gen) asInt16(x value.Value, w int) value.Value {
	if x.Type().Equal(vec(lt.I16, w)) {
		return x
	}
	return g.cur.NewBitCast(x, vec(lt.I16, w))
}
