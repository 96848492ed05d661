package scalar

import (
	"math"

	"healc/lang/types"
)

// Sums of products that are reduced once. Products of residues are taken apart into digits of 52 bits, whose sums fit a word
// for many terms: see Limb. What remains is the residue of a number of two words or three digits.

// digit is the number of bits of a digit, as AVX-512 IFMA multiplies them.
const digit = 52

// LimbTerms is how many products may be added: what a product adds to a digit is below 3 * 2^52.
const LimbTerms = 1024

// Limb is what the product of two numbers of the signed type adds to the digit number `limb` of a sum of products modulo p, 0 to 2.
// The product is that of the numbers themselves where they have the digits for it, which residues have, and of their residues else.
// For p up to 2^52 the factors have one digit, and the product two.
func (m Modulus) Limb(x, y Ref, limb int) Ref {
	e := m.e
	a, b := e.Bitcast(m.word, x), e.Bitcast(m.word, y)
	zero, bits := m.num(0), m.num(digit)
	of := func(above Ref, product func(a, b Ref) Ref) func() Ref {
		return func() Ref {
			long := e.And(e.Or(a, b), above)
			return e.Choose(e.Ne(long, zero), m.word, func() Ref {
				return product(m.remainder(x), m.remainder(y))
			}, func() Ref { return product(a, b) })
		}
	}
	one := of(e.Bits(m.word, ^uint64(1<<digit-1)), func(a, b Ref) Ref {
		if limb == 0 {
			return e.Mul52Lo(a, b, zero)
		}
		return e.Mul52Hi(a, b, zero)
	})
	if limb == 2 {
		one = func() Ref { return zero }
	}
	two := of(e.Bits(m.word, 1<<63), func(a, b Ref) Ref {
		high := func() (Ref, Ref) { return e.Shr(a, bits), e.Shr(b, bits) }
		switch limb {
		case 0:
			return e.Mul52Lo(a, b, zero)
		case 1:
			ah, bh := high()
			return e.Mul52Lo(b, ah, e.Mul52Lo(a, bh, e.Mul52Hi(a, b, zero)))
		}
		ah, bh := high()
		return e.Mul52Lo(ah, bh, e.Mul52Hi(b, ah, e.Mul52Hi(a, bh, zero)))
	})
	return e.Choose(m.oneDigit(), m.word, one, two)
}

// oneDigit says that residues are below 2^52.
func (m Modulus) oneDigit() Ref { return m.e.Le(m.p, m.num(1<<digit)) }

// Limbs is the residue of s2 * 2^104 + s1 * 2^52 + s0, for sums of what Limb gives.
func (m Modulus) Limbs(s2, s1, s0 Ref) Ref {
	e := m.e
	// join is x * 2^52 + y in two words.
	join := func(x, y Ref) (hi, lo Ref) {
		lo = e.Add(e.Shl(x, m.num(digit)), y)
		return e.Add(e.Shr(x, m.num(64-digit)), e.Cast(m.word, e.Lt(lo, y))), lo
	}
	return e.Choose(m.oneDigit(), m.word, func() Ref {
		return m.wide(join(s1, s0))
	}, func() Ref {
		return m.wide(join(m.wide(join(s2, s1)), s0))
	})
}

// wide is the residue of hi * 2^w + lo. hi is mostly below p.
func (m Modulus) wide(hi, lo Ref) Ref {
	e := m.e
	hi = e.Choose(e.Le(m.p, hi), m.word, func() Ref { return m.Word(hi) }, func() Ref { return hi })
	return m.reduce(e.Or(e.Shl(hi, m.shift), e.Shr(lo, m.rsh)), e.Shl(lo, m.shift))
}

// Halves is the residue of high * 2^32 + low, for sums of the halves of numbers. Where both are below 2^50 and the quotient below 2^48, which those of
// residues are, it is found with doubles: the sum, 1/p and the product of both miss by 2^-53 of them each, as does p, so that the quotient misses by
// less than 1/2 before it is rounded, and what is left of the sum, which a word holds, is above -p and below p.
func (m Modulus) Halves(high, low Ref) Ref {
	e := m.e
	limit, large := m.num(1<<50), m.num(int64(math.Float64bits(ones)))
	h, l := e.Bitcast(m.word, high), e.Bitcast(m.word, low)
	double := func(x Ref) Ref { return e.Sub(e.Bitcast(types.F64, e.Add(x, large)), e.Float(types.F64, ones)) }
	p := e.Cast(types.F64, e.Bitcast(m.signed, m.p))
	q := e.Mul(e.Add(e.Mul(double(h), e.Float(types.F64, 1<<32)), double(l)), e.Div(e.Float(types.F64, 1), p))
	near := e.And(e.Or(e.Add(h, limit), e.Add(l, limit)), e.Bits(m.word, ^uint64(1<<51-1)))
	some := e.Or(e.Ne(near, m.num(0)), e.Le(e.Float(types.F64, 1<<48), e.Abs(q)))
	return e.Choose(some, m.word, func() Ref {
		x, y := m.remainder(high), m.remainder(low)
		half := m.num(32)
		return m.Add(m.wide(e.Shr(x, half), e.Shl(x, half)), y)
	}, func() Ref {
		quotient := e.Sub(e.Bitcast(m.word, e.Add(q, e.Float(types.F64, ones))), large)
		rest := e.Sub(e.Add(e.Shl(h, m.num(32)), l), e.Mul(quotient, m.p))
		return e.Select(e.Lt(e.Bitcast(m.signed, rest), e.Int(m.signed, 0)), e.Add(rest, m.p), rest)
	})
}
