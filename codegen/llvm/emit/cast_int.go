package emit

import (
	"math"

	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Vectors of casts]
//
// LLVM's conversions that saturate are one instruction of AArch64 and of GPUs. For vectors of x86 LLVM takes them
// apart, element by element, each with a branch (docs/tuning/elementwise.md). So there a float is brought into the
// range first, which also replaces a NaN, and converted by the plain instruction; what was beyond a bound that is no
// float of its type, and a NaN of a signed type, are put right after.
//
// Without AVX-512 there are no conversions between doubles and 64-bit integers at all. Added to 1.5 * 2^52, an integer
// that is a double below 2^51 has itself in the lower bits of the sum, and the same sum takes a word of 32 bits to a
// double. So 64 bits go as two words: the upper one is floor(x / 2^32), and what is left of x is the lower one, both
// exact; the other way round, the words' doubles are exact, and their sum is the only thing that is rounded.

// wordsBeyond is 1.5 * 2^52: the lower 32 bits of it plus an integer are those of the integer.
const wordsBeyond = 0x1.8p52

// saturate truncates x, an f32 or f64, toward zero into the range of t.
func (g *Func) saturate(t, from types.DType, w int, x value.Value) value.Value {
	b := g.Cur
	to := build.Vector(build.RegisterType(t), w)
	if w == 0 || g.Machine.VectorBits < 256 {
		name := "llvm.fptoui.sat"
		if t.IsSigned() {
			name = "llvm.fptosi.sat"
		}
		full := name + "." + build.TypeSuffix(to) + "." + build.TypeSuffix(x.Type())
		return b.NewCall(g.Intrinsic(full, to, x.Type()), x)
	}
	d := analysis.ArithmeticType(from)
	if t.Bits() == 64 && d == types.F32 {
		d, x = types.F64, b.NewFPExt(x, build.Vector(lt.Double, w))
	}
	num := func(v float64) value.Value {
		return g.ConstOf(build.FromBits(build.RegisterType(d), scalar.FloatBits(d, v)), w)
	}
	low, beyond := 0.0, math.Ldexp(1, t.Bits())
	if t.IsSigned() {
		low, beyond = -math.Ldexp(1, t.Bits()-1), math.Ldexp(1, t.Bits()-1)
	}
	mantissa := 53
	if d == types.F32 {
		mantissa = 24
	}
	high, exact := beyond-1, t.Bits() <= mantissa
	if !exact {
		high = math.Nextafter(beyond, 0)
		if d == types.F32 {
			high = float64(math.Nextafter32(float32(beyond), 0))
		}
	}
	in := value.Value(b.NewSelect(b.NewFCmp(enum.FPredOGT, x, num(low)), x, num(low))) // a NaN is the lower bound
	var out value.Value
	if t.Bits() == 64 && !g.Machine.Masks() {
		out = g.wordsOf(w, in)
	} else {
		in = b.NewSelect(b.NewFCmp(enum.FPredOLT, in, num(high)), in, num(high))
		if narrow := build.Vector(build.I32, w); t.Bits() < 32 {
			out = b.NewTrunc(b.NewFPToSI(in, narrow), to)
		} else if t.IsSigned() {
			out = b.NewFPToSI(in, to)
		} else {
			out = b.NewFPToUI(in, to)
		}
	}
	if !exact {
		most := uint64(math.MaxUint64)
		if t.IsSigned() {
			most = 1<<(t.Bits()-1) - 1
		}
		out = b.NewSelect(b.NewFCmp(enum.FPredOGE, x, num(beyond)),
			g.ConstOf(build.FromBits(build.RegisterType(t), most), w), out)
	}
	if t.IsSigned() {
		out = b.NewSelect(b.NewFCmp(enum.FPredORD, x, x), out, g.Number(t, 0, w))
	}
	return out
}

// wordsOf is the f64 x truncated, an integer of 64 bits; anything where it is none.
func (g *Func) wordsOf(w int, x value.Value) value.Value {
	b := g.Cur
	num := func(v float64) value.Value { return g.ConstOf(build.FromBits(lt.Double, math.Float64bits(v)), w) }
	bits := func(v value.Value) value.Value {
		return b.NewBitCast(b.NewFAdd(v, num(wordsBeyond)), build.Vector(build.I64, w))
	}
	whole := g.Call("llvm.trunc", x.Type(), x)
	upper := g.Call("llvm.floor", x.Type(), b.NewFMul(whole, num(0x1p-32)))
	lower := b.NewFSub(whole, b.NewFMul(upper, num(0x1p32)))
	return b.NewOr(b.NewShl(bits(upper), g.ConstOf(build.Int(build.I64, 32), w)),
		b.NewAnd(bits(lower), g.ConstOf(build.Int(build.I64, math.MaxUint32), w)))
}

// intToFloat rounds an integer to the nearest float.
func (g *Func) intToFloat(t, from types.DType, w int, x value.Value) value.Value {
	b := g.Cur
	switch {
	case t == types.F64, t == types.F32 && (from != types.U64 || !g.byWords(w)):
		return g.plainFloat(t, from, w, x)
	case t == types.BF16 && from.Bits() == 8:
		return g.intToFloat(types.F32, from, w, x) // a bf16 has all of it
	case t == types.F16, from.Bits() < 32:
		// An f32 has all of it, or is too large for an f16 anyway.
		return g.roundStorage(t, g.intToFloat(types.F32, from, w, x), w)
	}
	// Through an exact double: from 2^53 up, the low 12 bits are gathered into one
	// sticky bit, which a later rounding to fewer bits cannot tell from the real ones.
	if from.Bits() == 64 {
		low := b.NewAnd(x, g.Number(from, 0xfff, w))
		some := b.NewZExt(b.NewICmp(enum.IPredNE, low, g.Number(from, 0, w)), x.Type())
		sticky := b.NewOr(b.NewAnd(x, g.Number(from, ^int64(0xfff), w)), b.NewShl(some, g.Number(from, 12, w)))
		var big value.Value
		if from.IsSigned() {
			high := b.NewAShr(x, g.Number(from, 53, w)) // 0 or -1 when it fits in 54 bits
			big = b.NewICmp(enum.IPredUGT, b.NewAdd(high, g.Number(from, 1, w)), g.Number(from, 1, w))
		} else {
			big = b.NewICmp(enum.IPredNE, b.NewLShr(x, g.Number(from, 53, w)), g.Number(from, 0, w))
		}
		x = b.NewSelect(big, sticky, x)
	}
	exact := g.plainFloat(types.F64, from, w, x)
	if t == types.F32 {
		return b.NewFPTrunc(exact, build.Vector(lt.Float, w))
	}
	return g.roundStorage(t, g.toOddF32(w, exact), w)
}

// byWords reports that vectors of doubles and of 64-bit integers become each other by halves, see Note [Vectors of
// casts].
func (g *Func) byWords(w int) bool {
	return w > 0 && g.Machine.VectorBits == 256
}

// plainFloat rounds an integer to an f32 or f64.
func (g *Func) plainFloat(t, from types.DType, w int, x value.Value) value.Value {
	b := g.Cur
	to := build.Vector(build.RegisterType(t), w)
	switch {
	case t == types.F64 && from.Bits() == 64 && g.byWords(w):
		num := func(v float64) value.Value { return g.ConstOf(build.FromBits(lt.Double, math.Float64bits(v)), w) }
		// The bits of 2^52 and the lower word are their sum, as are those of 2^84 and the upper one, of which the sign
		// is flipped to make it none.
		lower := b.NewOr(b.NewAnd(x, g.ConstOf(build.Int(build.I64, math.MaxUint32), w)),
			g.ConstOf(build.Int(build.I64, 0x43300000<<32), w))
		upper, base := value.Value(b.NewLShr(x, g.ConstOf(build.Int(build.I64, 32), w))), 0x1p84
		flip := int64(0x45300000 << 32)
		if from.IsSigned() {
			base, flip = base+0x1p63, flip|1<<31
		}
		upper = b.NewXor(upper, g.ConstOf(build.Int(build.I64, flip), w))
		high := b.NewFSub(b.NewBitCast(upper, to), num(base+0x1p52))
		return b.NewFAdd(high, b.NewBitCast(lower, to))
	case from.IsSigned():
		return b.NewSIToFP(x, to)
	}
	return b.NewUIToFP(x, to)
}
