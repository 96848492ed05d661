package elementary

import (
	"math"
	"math/bits"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Convert returns x as a t, by language.md section 2. The types that are only stored have no instructions: their bits
// are taken apart here, and nothing else knows how.
func Convert(e scalar.Emitter, t types.DType, x scalar.Ref) scalar.Ref {
	from := e.TypeOf(x)
	switch {
	case from == t:
		return x
	case from == types.E8M0:
		return Convert(e, t, fromScale(e, x))
	case from == types.I4:
		return Convert(e, t, wrap4(e, e.Bitcast(types.I8, x)))
	case from == types.F4E2M1:
		return Convert(e, t, fromFloat4(e, x))
	case from.IsStored():
		return Convert(e, t, fromFloat8(e, from.Format(), x))
	case t == types.E8M0:
		return e.Bitcast(t, toScale(e, once(e, x)))
	case t == types.I4 && from.IsFloat():
		return e.Bitcast(t, e.Min(e.Max(e.Cast(types.I8, x), e.Int(types.I8, -8)), e.Int(types.I8, 7)))
	case t == types.I4:
		return e.Bitcast(t, wrap4(e, e.Cast(types.I8, x)))
	case t.IsStored():
		return e.Bitcast(t, toMinifloat(e, t.Format(), once(e, x)))
	case t == types.Bool:
		return e.Ne(x, e.Int(from, 0))
	}
	return e.Cast(t, x)
}

// once returns x, a number or bool, as the bits of an f32 that rounds to 8 or 4 bits as x does: where an f32 does not
// have all of x, it is rounded to odd (scalar.OddF32).
func once(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	from := e.TypeOf(x)
	if from == types.F32 || from.Bits() < 32 {
		return e.Bitcast(types.U32, e.Cast(types.F32, x))
	}
	if from.IsInt() && from.Bits() == 64 {
		// From 2^53 on the lower bits become one. A negative number that large is beyond all types, or NaN.
		lower := e.Int(from, 1<<11-1)
		some := e.Cast(from, e.Ne(e.And(x, lower), e.Int(from, 0)))
		upper := e.Or(e.And(x, e.Not(lower)), e.Shl(some, e.Int(from, 11)))
		x = e.Select(e.Lt(e.Int(from, 1<<53), x), upper, x)
	}
	x = e.Cast(types.F64, x)
	near := e.Cast(types.F32, x)
	back := e.Cast(types.F64, near)
	bits := e.Sub(e.Bitcast(types.U32, near), e.Cast(types.U32, e.Lt(e.Abs(x), e.Abs(back))))
	return e.Or(bits, e.Cast(types.U32, e.Ne(back, x)))
}

const (
	signF32     = 1 << 31
	infinityF32 = 0x7f800000
	nanF32      = 0x7fc00000
)

// fromFloat8 is the f32 of an f8e4m3 or an f8e5m2. The exponent is moved to that of an f32; where it is 0, a mantissa m
// of so many steps s below the least normal number l is (l + m*s) - l, which is exact.
func fromFloat8(e scalar.Emitter, f types.Minifloat, x scalar.Ref) scalar.Ref {
	n := func(b int) scalar.Ref { return e.Bits(types.U32, uint64(b)) }
	code := e.Cast(types.U32, e.Bitcast(types.U8, x))
	size := e.And(code, n(0x7f))
	shifted := e.Shl(size, n(23-f.Mantissa))
	normal := e.Add(shifted, n((127-f.Bias)<<23))
	least := e.Float(types.F32, math.Ldexp(1, 1-f.Bias))
	below := e.Sub(e.Bitcast(types.F32, e.Add(normal, n(1<<23))), least)
	r := e.Select(e.Lt(size, n(1<<f.Mantissa)), e.Bitcast(types.U32, below), normal)
	if f.Beyond == f.NaN {
		r = e.Select(e.Eq(size, n(int(f.NaN))), n(nanF32), r)
	} else { // infinity, and NaN with what it has in its mantissa
		r = e.Select(e.Le(n(int(f.Beyond)), size), e.Or(shifted, n(infinityF32)), r)
	}
	sign := e.Shl(e.And(code, n(0x80)), n(24))
	return e.Bitcast(types.F32, e.Or(r, sign))
}

// fromFloat4 is the f32 of an f4e2m1. Exponent and mantissa are those of an f16 of 2^-14 times the size, which is
// subnormal where this is; the product is exact.
func fromFloat4(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	n := func(b int) scalar.Ref { return e.Bits(types.U16, uint64(b)) }
	code := e.Cast(types.U16, e.Bitcast(types.U8, x))
	half := e.Or(e.Shl(e.And(code, n(7)), n(9)), e.Shl(e.And(code, n(8)), n(12)))
	return e.Mul(e.Cast(types.F32, e.Bitcast(types.F16, half)), e.Float(types.F32, 0x1p14))
}

// toMinifloat is the bits, in a u8, of the f8e4m3, f8e5m2 or f4e2m1 that is nearest to an f32. Below the least normal
// number an addition rounds: the sum with a power of two has the steps of the type as its last bits.
func toMinifloat(e scalar.Emitter, f types.Minifloat, x scalar.Ref) scalar.Ref {
	n := func(b int) scalar.Ref { return e.Bits(types.U32, uint64(b)) }
	size := e.And(x, n(signF32-1))
	cut := 23 - f.Mantissa
	odd := e.And(e.Shr(size, n(cut)), n(1))
	normal := e.Sub(e.Shr(e.Add(e.Add(size, n(1<<(cut-1)-1)), odd), n(cut)), n((127-f.Bias)<<f.Mantissa))
	steps := math.Ldexp(1, cut+1-f.Bias)
	sum := e.Add(e.Bitcast(types.F32, size), e.Float(types.F32, steps))
	below := e.Sub(e.Bitcast(types.U32, sum), e.Bits(types.U32, uint64(math.Float32bits(float32(steps)))))
	r := e.Select(e.Lt(size, n((128-f.Bias)<<23)), below, normal)
	r = e.Or(e.Min(r, n(int(f.Beyond))), e.And(e.Shr(x, n(31-bits.TrailingZeros8(f.Sign))), n(int(f.Sign))))
	return e.Cast(types.U8, e.Select(e.Lt(n(infinityF32), size), n(int(f.NaN)), r))
}

// wrap4 is the i8 that has the value of the lower 4 bits of one, in two's complement.
func wrap4(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	by := e.Int(types.I8, 4)
	return e.Shr(e.Shl(x, by), by)
}

// Bitcast returns the t that has the bits of x, of a type of the same width. Of types in the lower half of a byte the
// upper half is made as it is in t.
func Bitcast(e scalar.Emitter, t types.DType, x scalar.Ref) scalar.Ref {
	switch from := e.TypeOf(x); {
	case from == t:
		return x
	case t == types.I4:
		return e.Bitcast(t, wrap4(e, e.Bitcast(types.I8, x)))
	case t == types.F4E2M1:
		return e.Bitcast(t, e.And(e.Bitcast(types.U8, x), e.Bits(types.U8, 15)))
	}
	return e.Bitcast(t, x)
}

// fromScale is the f32 of an e8m0, whose bits are an exponent: 2^-127 is subnormal.
func fromScale(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	n := func(b int) scalar.Ref { return e.Bits(types.U32, uint64(b)) }
	exp := e.Cast(types.U32, e.Bitcast(types.U8, x))
	r := e.Select(e.Eq(exp, n(0)), n(1<<22), e.Shl(exp, n(23)))
	return e.Bitcast(types.F32, e.Select(e.Eq(exp, n(0xff)), n(nanF32), r))
}

// toScale is the bits, in a u8, of the e8m0 that is nearest to an f32: half of the distance to the next power of two is
// added, and the mantissa cut off. It is NaN for what is past the last one, and for all below 0.
func toScale(e scalar.Emitter, bits scalar.Ref) scalar.Ref {
	n := func(b int) scalar.Ref { return e.Bits(types.U32, uint64(b)) }
	size := e.And(bits, n(signF32-1))
	half := e.Select(e.Lt(size, n(1<<23)), n(1<<21), n(1<<22))
	r := e.Min(e.Shr(e.Add(size, half), n(23)), n(0xff))
	return e.Cast(types.U8, e.Select(e.Lt(n(signF32), bits), n(0xff), r))
}
