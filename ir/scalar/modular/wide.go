package modular

import (
	"math"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Sums of products that are reduced once. Products are taken apart into digits, whose sums fit a word for many terms:
// see Limb. What remains is the residue of a number of two words or three digits.

// digit is the number of bits of a digit, as AVX-512 IFMA multiplies them.
const digit = 52

// LimbTerms is how many products may be added: what a product adds to a sum is below 2^54, and limbs32 adds as much as
// LimbTerms to a sum of them.
const LimbTerms = 512

// Limb is what the product of two numbers of the signed type adds to sum number `limb` of three, 0 to 2, of which Limbs
// makes the residue modulo p. How the three stand for the product depends on the processor. The product is that of the
// numbers themselves where they are short enough, which residues mostly are, and of their residues else.
func (m Modulus) Limb(x, y scalar.Ref, limb int) scalar.Ref {
	return m.limbs(func() scalar.Ref {
		return m.limb52(x, y, limb)
	}, func() scalar.Ref { return m.limb51(x, y, limb) }, func() scalar.Ref { return m.limb32(x, y, limb) })
}

// Limbs is the residue of a sum of so many products, of which s2, s1 and s0 are the sums of what Limb gives.
func (m Modulus) Limbs(s2, s1, s0 scalar.Ref, terms int64) scalar.Ref {
	if _, ok := m.e.Sink.(scalar.Chooser); !ok { // one way is enough
		return m.limbs52(s2, s1, s0)
	}
	by := m.doubles() // here, where it is the same for all elements
	return m.limbs(func() scalar.Ref {
		return m.limbs52(s2, s1, s0)
	}, func() scalar.Ref { return by.limbs51(s1, s0, terms) }, func() scalar.Ref { return m.limbs32(s2, s1, s0) })
}

// limbs is what there are digits of 52 bits for where these are multiplied; elsewhere doubles, where these are and p
// suits them, and words of 32 bits.
func (m Modulus) limbs(digits, doubles, halves func() scalar.Ref) scalar.Ref {
	e := m.e
	if _, ok := e.Sink.(scalar.Chooser); !ok {
		return digits()
	}
	suits := e.DoubleSums(e.Lt(e.Sub(m.p, m.num(leastByDoubles)), m.num(1<<halfProduct-leastByDoubles)))
	return e.Choose(ofSums, e.Digits52(e.Bool(true)), m.word, digits, func() scalar.Ref {
		return e.Choose(ofSumsAround, suits, m.word, doubles, halves)
	})
}

// short is f of two numbers where they are below 2^bits, and of their residues elsewhere.
func (m Modulus) short(bits uint, x, y scalar.Ref, f func(a, b scalar.Ref) scalar.Ref) scalar.Ref {
	e := m.e
	a, b := e.Bitcast(m.word, x), e.Bitcast(m.word, y)
	above := e.And(e.Or(a, b), e.Bits(m.word, ^uint64(1<<bits-1)))
	return e.Choose(ofTerms, e.Ne(above, m.num(0)), m.word, func() scalar.Ref {
		return f(m.remainder(x), m.remainder(y))
	}, func() scalar.Ref { return f(a, b) })
}

// limb52 is Limb with digits of 52 bits, the sums being those of the digits: for p up to 2^52 the factors have one
// digit, and the product two.
func (m Modulus) limb52(x, y scalar.Ref, limb int) scalar.Ref {
	e := m.e
	zero, bits := m.num(0), m.num(digit)
	of := func(bits uint, product func(a, b scalar.Ref) scalar.Ref) func() scalar.Ref {
		return func() scalar.Ref { return m.short(bits, x, y, product) }
	}
	one := of(digit, func(a, b scalar.Ref) scalar.Ref {
		if limb == 0 {
			return e.Mul52Lo(a, b, zero)
		}
		return e.Mul52Hi(a, b, zero)
	})
	if limb == 2 {
		one = func() scalar.Ref { return zero }
	}
	two := of(63, func(a, b scalar.Ref) scalar.Ref {
		high := func() (scalar.Ref, scalar.Ref) { return e.Shr(a, bits), e.Shr(b, bits) }
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
	return e.Choose(ofTermDigits, m.oneDigit(), m.word, one, two)
}

// oneDigit says that residues are below 2^52.
func (m Modulus) oneDigit() scalar.Ref { return m.e.Le(m.p, m.num(1<<digit)) }

// limbs52 is s2 * 2^104 + s1 * 2^52 + s0.
func (m Modulus) limbs52(s2, s1, s0 scalar.Ref) scalar.Ref {
	e := m.e
	// join is x * 2^52 + y in two words.
	join := func(x, y scalar.Ref) (hi, lo scalar.Ref) {
		lo = e.Add(e.Shl(x, m.num(digit)), y)
		return e.Add(e.Shr(x, m.num(64-digit)), e.Cast(m.word, e.Lt(lo, y))), lo
	}
	return e.Choose(ofSumDigits, m.oneDigit(), m.word, func() scalar.Ref {
		return m.wide(join(s1, s0))
	}, func() scalar.Ref {
		return m.wide(join(m.wide(join(s2, s1)), s0))
	})
}

// The bits of the lower half of a product by doubles, and the least p for which its sums have a residue of their own.
const (
	halfProduct    = 51
	leastByDoubles = 1 << 12
)

// limb51 is Limb with doubles, for p up to 2^51: a b = k 2^51 + r, where k is rounded to the nearest integer and |r| <=
// 2^50. What is added are bits, those of 2^103 + k 2^51, whose unit is 2^51, and of 3 * 2^51 + r. Those of the two
// constants are taken off in the end. Whether the numbers are short enough is asked of the doubles that are made of
// them, whose upper halves tell (Note [Speculation] in codegen/llvm): the numbers are needed for nothing else then.
func (m Modulus) limb51(x, y scalar.Ref, limb int) scalar.Ref {
	e := m.e
	if limb == 2 {
		return m.num(0)
	}
	large := e.Float(types.F64, upperUnits)
	product := func(u, v scalar.Ref) scalar.Ref {
		upper := e.Fma(u, v, large)
		if limb == 1 {
			return e.Bitcast(m.word, upper)
		}
		return e.Bitcast(m.word, e.Fma(u, v, e.Sub(e.Float(types.F64, upperUnits+ones), upper)))
	}
	u, v := m.shortDouble(x), m.shortDouble(y)
	most := e.Max(e.Bitcast(m.word, u), e.Bitcast(m.word, v))
	long := e.Le(m.num(int64(math.Float64bits(1<<halfProduct))), most)
	return e.Choose(ofDoubleTerm, long, m.word, func() scalar.Ref {
		return product(m.double(m.remainder(x)), m.double(m.remainder(y)))
	}, func() scalar.Ref { return product(u, v) })
}

// shortDouble is x of the signed type where that is from 0 to 2^51 - 1. For any other x its bits are, as an unsigned
// number, those of 2^51 at least: the bits of x and of 2^52, xor, are a double from 2^52 to 3 * 2^51 for such x alone,
// and no difference of another one and 2^52 is rounded to one from 0 to 2^51.
func (m Modulus) shortDouble(x scalar.Ref) scalar.Ref {
	e := m.e
	bits := e.Xor(e.Bitcast(m.word, x), m.num(int64(math.Float64bits(units))))
	return e.Sub(e.Bitcast(types.F64, bits), e.Float(types.F64, units))
}

// limbs51 is the residue of k 2^51 + r, the sums of LimbTerms of each: k is up to 2^60, r up to 2^59 on either side.
// With r = c 2^51 + l, where l is not negative, and k + c, which is below 2^60, as x 2^9 + y, the quotient of x 2^9 by
// p is at most 2^48, misses by less than 2^-5 and is rounded; what is left of it, and y below p / 8, is an integer z,
// |z| < 0.66 p. The quotient of z 2^51 + l by p is below 0.67 * 2^51 and misses by less than 0.34, rounded by less than
// 1, so that what is left is above -p and below p. All that is kept are integers below 2^53, or their multiples by
// powers of 2.
func (d doubles) limbs51(s1, s0 scalar.Ref, terms int64) scalar.Ref {
	m, e := d.m, d.m.e
	half, large := m.num(halfProduct), e.Float(types.F64, ones)
	bits := func(x float64) int64 { return terms * int64(math.Float64bits(x)) }
	round := func(x scalar.Ref) scalar.Ref { return e.Sub(e.Fma(x, d.inverse, large), large) }
	const some = 1 << 60 // makes r positive
	r := e.Add(s0, m.num(some-bits(ones)))
	k := e.Add(e.Sub(s1, m.num(bits(upperUnits)+some>>halfProduct)), e.Shr(r, half))
	l := m.double(e.And(r, m.num(1<<halfProduct-1)))
	const spare = 9
	x := m.multiple(e.Shr(k, m.num(spare)), spare)
	z := e.Add(e.Fma(round(x), d.minus, x), m.double(e.And(k, m.num(1<<spare-1))))
	h := e.Mul(z, e.Float(types.F64, 1<<halfProduct))
	return d.lift(e.Add(e.Fma(round(e.Add(h, l)), d.minus, h), l))
}

// limb32 is Limb with halves of words, a = a1 * 2^32 + a0: with c = a1 b0 + a0 b1 + floor(a0 b0 / 2^32), which a word
// holds for numbers below 2^63, the product is h * 2^64 + (c mod 2^32) * 2^32 + a0 b0 mod 2^32, where h = a1 b1 +
// floor(c / 2^32) is below 2^62. What h has from 2^54 on goes to the sum in the middle, too, above what its terms below
// 2^32 need: that of h is known modulo 2^64.
func (m Modulus) limb32(x, y scalar.Ref, limb int) scalar.Ref {
	e := m.e
	half, low := m.num(32), m.num(1<<32-1)
	product := func(a, b scalar.Ref) scalar.Ref {
		a0, b0 := e.And(a, low), e.And(b, low)
		ll := e.Mul(a0, b0)
		if limb == 0 {
			return e.And(ll, low)
		}
		a1, b1 := e.Shr(a, half), e.Shr(b, half)
		c := e.Add(e.Add(e.Mul(a1, b0), e.Mul(a0, b1)), e.Shr(ll, half))
		h := e.Add(e.Mul(a1, b1), e.Shr(c, half))
		if limb == 2 {
			return h
		}
		return e.Or(e.And(c, low), e.Shl(e.Shr(h, m.num(highBits)), m.num(middleBits)))
	}
	return m.short(63, x, y, product)
}

// The bits of h whose sum a word holds, and those of the sum of LimbTerms middle terms.
const (
	highBits   = 54
	middleBits = 42
)

// limbs32 is the residue of (h + t * 2^54) * 2^64 + (s1 - t * 2^42) * 2^32 + s0, t being the upper bits of s1, and h =
// s2 - t * 2^54 modulo 2^64.
func (m Modulus) limbs32(s2, s1, s0 scalar.Ref) scalar.Ref {
	e := m.e
	half := m.num(32)
	top, middle := e.Shr(s1, m.num(middleBits)), e.And(s1, m.num(1<<middleBits-1))
	lo := e.Add(e.Shl(middle, half), s0)
	more := e.Add(e.Shr(middle, half), e.Cast(m.word, e.Lt(lo, s0))) // a sum of short products has two words
	over := e.Add(s2, more)
	carry := e.Cast(m.word, e.Lt(over, e.Sub(over, e.Shl(top, m.num(highBits)))))
	return m.wide(m.wide(e.Add(e.Shr(top, m.num(64-highBits)), carry), over), lo)
}

// wide is the residue of hi * 2^w + lo. hi is mostly below p.
func (m Modulus) wide(hi, lo scalar.Ref) scalar.Ref {
	e := m.e
	hi = e.Choose(ofUpper, e.Le(m.p, hi), m.word, func() scalar.Ref { return m.Word(hi) },
		func() scalar.Ref { return hi })
	return m.reduce(e.Or(e.Shl(hi, m.shift), e.Shr(lo, m.rsh)), e.Shl(lo, m.shift))
}

// Parts is the residue of high * 2^bits + low, for sums of the parts of numbers. Where both are below 2^50 and the
// quotient below 2^48, which those of residues are, it is found with doubles: the sum, 1/p and the product of both miss
// by 2^-53 of them each, as does p, so that the quotient misses by less than 1/2 before it is rounded, and what is left
// of the sum, which a word holds, is above -p and below p.
func (m Modulus) Parts(high, low scalar.Ref, bits int64) scalar.Ref {
	e := m.e
	limit, large := m.num(1<<50), m.num(int64(math.Float64bits(ones)))
	h, l := e.Bitcast(m.word, high), e.Bitcast(m.word, low)
	double := func(x scalar.Ref) scalar.Ref {
		return e.Sub(e.Bitcast(types.F64, e.Add(x, large)), e.Float(types.F64, ones))
	}
	p := e.Cast(types.F64, e.Bitcast(m.signed, m.p))
	q := e.Mul(e.Add(e.Mul(double(h), e.Float(types.F64, math.Ldexp(1, int(bits)))), double(l)),
		e.Div(e.Float(types.F64, 1), p))
	near := e.And(e.Or(e.Add(h, limit), e.Add(l, limit)), e.Bits(m.word, ^uint64(1<<51-1)))
	some := e.Or(e.Ne(near, m.num(0)), e.Le(e.Float(types.F64, 1<<48), e.Abs(q)))
	return e.Choose(ofParts, some, m.word, func() scalar.Ref {
		x, y := m.remainder(high), m.remainder(low)
		return m.Add(m.wide(e.Shr(x, m.num(64-bits)), e.Shl(x, m.num(bits))), y)
	}, func() scalar.Ref {
		quotient := e.Sub(e.Bitcast(m.word, e.Add(q, e.Float(types.F64, ones))), large)
		rest := e.Sub(e.Add(e.Shl(h, m.num(bits)), l), e.Mul(quotient, m.p))
		return e.Select(e.Lt(e.Bitcast(m.signed, rest), e.Int(m.signed, 0)), e.Add(rest, m.p), rest)
	})
}
