package modular

import (
	"math"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Products of residues below 2^50 by doubles, which hold integers below 2^53: the product and what its rounding left
// out are two numbers, fma(a, b, -a*b) being exact, and the quotient is a third.

// doubles is a modulus below 2^50 with what depends on it alone; of a larger one it has no meaning.
type doubles struct {
	m              Modulus
	minus, inverse scalar.Ref // -p and 1/p
}

// The least number with bits for units and none for halves, and one and a half times that: added to an integer below
// 2^51, of any sign in the second case, it makes the bits those of the sum of two integers.
const (
	units = 1 << 52
	ones  = 3 << 51
)

// upperUnits is to 2^51 what units is to 1.
const upperUnits = units << 51

func (m Modulus) doubles() doubles {
	e := m.e
	p := m.double(m.p)
	return doubles{m: m, minus: e.Neg(p), inverse: e.Div(e.Float(types.F64, 1), p)}
}

// double is x below 2^52.
func (m Modulus) double(x scalar.Ref) scalar.Ref { return m.multiple(x, 0) }

// multiple is x * 2^up, for x below 2^52.
func (m Modulus) multiple(x scalar.Ref, up int) scalar.Ref {
	e := m.e
	least := math.Ldexp(units, up)
	return e.Sub(e.Bitcast(types.F64, e.Or(x, m.num(int64(math.Float64bits(least))))), e.Float(types.F64, least))
}

// lift is the residue of x, an integer above -p and below p that is not -0: its sign says which is added to the bits of
// x + ones.
func (d doubles) lift(x scalar.Ref) scalar.Ref {
	m, e := d.m, d.m.e
	bits := m.num(int64(math.Float64bits(ones)))
	up := e.Select(e.Lt(e.Bitcast(m.signed, x), e.Int(m.signed, 0)), e.Sub(m.p, bits), e.Neg(bits))
	return e.Add(e.Bitcast(m.word, e.Add(x, e.Float(types.F64, ones))), up)
}

// mul is Mul: a and b have no more bits than p, n of them. The quotient a*b / p is at most (2^n - 1)^2 / 2^(n-1) <
// 2^(n+1) - 3, and h * (1/p) differs from it by the roundings of h and of 1/p, less than 2^-52 + 2^-106 of it each way,
// which is less than 1/2. So q, which is rounded once, misses it by less than 1, and what is left of a*b is above -p
// and below p. h - q*p is that without l, which is below 2^47: all are integers below 2^53, and exact; sums that are 0
// are +0.
func (d doubles) mul(a, b scalar.Ref) scalar.Ref {
	m, e := d.m, d.m.e
	x, y, large := m.double(a), m.double(b), e.Float(types.F64, ones)
	h := e.Mul(x, y)
	l := e.Fma(x, y, e.Neg(h))
	q := e.Sub(e.Fma(h, d.inverse, large), large)
	return d.lift(e.Add(e.Fma(q, d.minus, h), l))
}
