package elementary

import (
	"math"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Sign returns -1, 0 or 1 of x's type. Zeros and NaN are returned as they are: Sign(-0) = -0. An unsigned
// x gives 0 or 1.
func Sign(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := e.TypeOf(x)
	zero, one := e.Int(t, 0), e.Int(t, 1)
	if t.IsUnsigned() {
		return e.Cast(t, e.Ne(x, zero))
	}
	r := e.Select(e.Lt(x, zero), e.Int(t, -1), x)
	return e.Select(e.Lt(zero, x), one, r)
}

// Relu returns x where it is not below 0, else 0. NaN stays NaN and -0 stays -0.
func Relu(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	zero := e.Int(e.TypeOf(x), 0)
	return e.Select(e.Lt(x, zero), zero, x)
}

// Clamp returns Min(Max(x, lo), hi), hence hi where lo > hi, and NaN if any operand is.
func Clamp(e scalar.Emitter, x, lo, hi scalar.Ref) scalar.Ref { return e.Min(e.Max(x, lo), hi) }

// IsNaN reports whether x is NaN; no integer is.
func IsNaN(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	if !e.TypeOf(x).IsFloat() {
		return e.Bool(false)
	}
	return e.Ne(x, x)
}

// IsInf reports whether x is an infinity; no integer is.
func IsInf(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := e.TypeOf(x)
	if !t.IsFloat() {
		return e.Bool(false)
	}
	return e.Eq(e.Abs(x), e.Float(t, math.Inf(1)))
}

// IsFinite reports whether x is neither infinite nor NaN; every integer is finite.
func IsFinite(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := e.TypeOf(x)
	if !t.IsFloat() {
		return e.Bool(true)
	}
	return e.Lt(e.Abs(x), e.Float(t, math.Inf(1)))
}

// Rsqrt returns 1/sqrt(x). Rsqrt(±0) = ±inf, Rsqrt(inf) = 0, Rsqrt(x < 0) and Rsqrt(NaN) are NaN.
func Rsqrt(e scalar.Emitter, x scalar.Ref) scalar.Ref { return onFloat(e, x, rsqrt32, rsqrt64) }

// rsqrt32 corrects y = 1/sqrt(x), which two roundings leave up to 1.5 ulp off, by one Newton step whose
// residual 1 - x y^2 is exact: y + y/2 (1 - y h - y hl) with h + hl = x y. h is about sqrt(x), so nothing
// underflows.
func rsqrt32(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	t := types.F32
	y := rsqrt64(e, x)
	h, hl := twoProd(e, x, y)
	minusY := e.Neg(y)
	residual := e.Fma(minusY, hl, e.Fma(minusY, h, e.Float(t, 1)))
	r := e.Fma(e.Mul(y, e.Float(t, 0.5)), residual, y)
	return e.Select(e.Eq(r, r), r, y) // at 0 and infinity the step gives NaN
}

// rsqrt64 is the plain quotient, within 1.5 ulp.
func rsqrt64(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return e.Div(e.Float(e.TypeOf(x), 1), e.Sqrt(x))
}
