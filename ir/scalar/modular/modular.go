// Package modular has programs of scalar instructions that compute modulo a number.
package modular

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Everything modulo p is made of one step: the remainder of a double word by p, without a division. With the
// width w of the type (32 or 64 bits), d = p * 2^s has its highest bit set and
//
//	v = floor((2^2w - 1) / d) - 2^w
//
// is computed once for a modulus. Then u1*2^w + u0 mod d, for u1 < d, is two products and two corrections
// (Möller and Granlund, "Improved division by invariant integers", 2011, algorithm 4), and the remainder by p
// of x is that by d of x * 2^s, shifted back. It holds for every p from 1 to 2^(w-1) - 1, so that a residue
// leaves the highest bit free: sums of two residues do not overflow.

// Modulus is a positive modulus of type I32 or I64 with what depends on it alone. Residues are of the
// unsigned type of the same width.
type Modulus struct {
	e          scalar.Emitter
	signed     types.DType
	word       types.DType // unsigned
	p, d, v    scalar.Ref  // of type word
	above      scalar.Ref  // the bits above those of p
	shift, rsh scalar.Ref  // s, and w - s
}

// RequireModulus stops the program unless p is positive.
func RequireModulus(e scalar.Emitter, p scalar.Ref) {
	t := e.TypeOf(p)
	e.Check(scalar.CheckModulus, e.Lt(e.Int(t, 0), p), e.Cast(types.I64, p))
}

// NewModulus prepares p, an I32 or I64 in [1, 2^(w-1)). Any other p gives residues without meaning, and no trap.
func NewModulus(e scalar.Emitter, p scalar.Ref) Modulus {
	m := Modulus{e: e, signed: e.TypeOf(p), word: types.U64}
	if m.signed == types.I32 {
		m.word = types.U32
	}
	m.p = e.Bitcast(m.word, p)
	m.shift = e.Clz(m.p)
	m.rsh = e.Sub(m.num(int64(m.word.Bits())), m.shift)
	m.d = e.Shl(m.p, m.shift)
	m.v = m.reciprocal()
	m.above = e.Not(e.Shr(m.num(-1), m.shift))
	return m
}

// P is the modulus itself, as an unsigned number; Reciprocal is v, and Shift s.
func (m Modulus) P() scalar.Ref          { return m.p }
func (m Modulus) Reciprocal() scalar.Ref { return m.v }
func (m Modulus) Shift() scalar.Ref      { return m.shift }

func (m Modulus) num(n int64) scalar.Ref { return m.e.Int(m.word, n) }

// reciprocal is v = floor((2^2w - 1) / d) - 2^w, that is the quotient of the double word (2^w - 1 - d, 2^w - 1)
// by d. For 64 bits it is a division with two digits of 32 bits (Knuth, volume 2, 4.3.1, algorithm D).
func (m Modulus) reciprocal() scalar.Ref {
	e := m.e
	if m.word == types.U32 {
		wide := e.Div(e.Int(types.U64, -1), e.Cast(types.U64, m.d))
		return e.Cast(types.U32, wide)
	}
	half := m.num(32)
	low := e.Bits(types.U64, 1<<32-1)
	dh, dl := e.Shr(m.d, half), e.And(m.d, low)
	digit := func(rest, next scalar.Ref) scalar.Ref { // of (rest, next) by d, where rest < d and next is a digit
		q := e.Div(rest, dh)
		r := e.Sub(rest, e.Mul(q, dh))
		for range 2 {
			// Too large while q is no digit, or q*dl > (r, next); r that is no digit ends it.
			large := e.Or(e.Lt(low, q), e.Lt(e.Or(e.Shl(r, half), next), e.Mul(q, dl)))
			large = e.And(large, e.Le(r, low))
			q = e.Select(large, e.Sub(q, m.num(1)), q)
			r = e.Select(large, e.Add(r, dh), r)
		}
		return q
	}
	rest := e.Not(m.d)
	q1 := digit(rest, low)
	rest = e.Sub(e.Or(e.Shl(rest, half), low), e.Mul(q1, m.d))
	return e.Or(e.Shl(q1, half), digit(rest, low))
}

// reduce is the remainder by p of the double word (hi, lo) that is x * 2^s, where hi < d.
func (m Modulus) reduce(hi, lo scalar.Ref) scalar.Ref {
	e := m.e
	q0 := e.Add(e.Mul(m.v, hi), lo)
	carry := e.Cast(m.word, e.Lt(q0, lo))
	q1 := e.Add(e.Add(e.Add(e.MulHi(m.v, hi), hi), carry), m.num(1))
	r := e.Sub(lo, e.Mul(q1, m.d))
	r = e.Select(e.Lt(q0, r), e.Add(r, m.d), r)
	r = e.Select(e.Lt(r, m.d), r, e.Sub(r, m.d))
	return e.Shr(r, m.shift)
}

// Residue is x mod p in [0, p), for any x of the signed type. Where a branch is possible, one that is in [0, p) costs a
// comparison.
func (m Modulus) Residue(x scalar.Ref) scalar.Ref {
	e := m.e
	word := e.Bitcast(m.word, x)
	return e.Choose(ofResidue[m.word], e.Le(m.p, word), m.word, func() scalar.Ref { return m.remainder(x) },
		func() scalar.Ref { return word })
}

// Of gives f of the residues of operands of the signed type. Where a branch is possible one comparison of the largest
// finds out whether they are in [0, p) already.
func (m Modulus) Of(f func(x []scalar.Ref) scalar.Ref, x ...scalar.Ref) scalar.Ref {
	e := m.e
	words := make([]scalar.Ref, len(x))
	for i := range x {
		words[i] = e.Bitcast(m.word, x[i])
	}
	largest := words[0]
	for _, w := range words[1:] {
		largest = e.Max(largest, w)
	}
	return e.Choose(ofOperands[m.word], e.Le(m.p, largest), m.word, func() scalar.Ref {
		residues := make([]scalar.Ref, len(x))
		for i := range x {
			residues[i] = m.remainder(x[i])
		}
		return f(residues)
	}, func() scalar.Ref { return f(words) })
}

// remainder is Residue without a look at x.
func (m Modulus) remainder(x scalar.Ref) scalar.Ref {
	e := m.e
	size := e.Bitcast(m.word, e.Abs(x)) // the least integer is its own absolute value, 2^(w-1) when unsigned
	r := m.reduce(e.Shr(size, m.rsh), e.Shl(size, m.shift))
	negative := e.And(e.Lt(x, e.Int(m.signed, 0)), e.Ne(r, m.num(0)))
	return e.Select(negative, e.Sub(m.p, r), r)
}

// Word is x mod p for any x of the unsigned type.
func (m Modulus) Word(x scalar.Ref) scalar.Ref {
	return m.reduce(m.e.Shr(x, m.rsh), m.e.Shl(x, m.shift))
}

// Number is a residue in the signed type, and FromNumber the residue that it was.
func (m Modulus) Number(r scalar.Ref) scalar.Ref     { return m.e.Bitcast(m.signed, r) }
func (m Modulus) FromNumber(x scalar.Ref) scalar.Ref { return m.e.Bitcast(m.word, x) }

// One is the residue of 1, which is 0 for the modulus 1.
func (m Modulus) One() scalar.Ref { return m.e.Cast(m.word, m.e.Ne(m.p, m.num(1))) }

// Add is the sum of two residues.
func (m Modulus) Add(a, b scalar.Ref) scalar.Ref {
	e := m.e
	sum := e.Add(a, b)
	return e.Min(sum, e.Sub(sum, m.p)) // wraps where it is below
}

// Sub is the difference of two residues.
func (m Modulus) Sub(a, b scalar.Ref) scalar.Ref {
	e := m.e
	d := e.Sub(a, b)
	return e.Min(d, e.Add(d, m.p)) // the difference wraps where a is below b
}

// Neg is the residue that a has to be added to for 0.
func (m Modulus) Neg(a scalar.Ref) scalar.Ref {
	return m.e.Select(m.e.Eq(a, m.num(0)), a, m.e.Sub(m.p, a))
}

// Mul is the product of two residues.
func (m Modulus) Mul(a, b scalar.Ref) scalar.Ref {
	return m.ways(func(product func(a, b scalar.Ref) scalar.Ref) scalar.Ref { return product(a, b) })
}

// Product is the residue of the product of two numbers of the signed type. Residues are what they mostly are, and where
// a branch is possible one look at the bits of both finds out whether they have no more than p has: the ways to
// multiply allow for that.
func (m Modulus) Product(x, y scalar.Ref) scalar.Ref {
	e := m.e
	a, b := e.Bitcast(m.word, x), e.Bitcast(m.word, y)
	return m.ways(func(product func(a, b scalar.Ref) scalar.Ref) scalar.Ref {
		long := e.And(e.Or(a, b), m.above)
		return e.Choose(ofFactors[m.word], e.Ne(long, m.num(0)), m.word, func() scalar.Ref {
			return product(m.remainder(x), m.remainder(y))
		}, func() scalar.Ref { return product(a, b) })
	})
}

// ways gives f the way to multiply that suits the size of p. Each of them takes operands with as many bits as p, which
// may be p and above.
func (m Modulus) ways(f func(product func(a, b scalar.Ref) scalar.Ref) scalar.Ref) scalar.Ref {
	e := m.e
	with := func(product func(a, b scalar.Ref) scalar.Ref) func() scalar.Ref {
		return func() scalar.Ref { return f(product) }
	}
	below := func(bits uint) scalar.Ref { return e.Lt(m.p, m.num(1<<bits)) }
	if m.word != types.U64 {
		return e.Choose(ofProduct32, below(30), m.word, with(m.mul30), with(m.mul))
	}
	// here, where they are the same for all elements, as is what is computed for doubles
	small, fits := below(50), below(60)
	if _, ok := e.Sink.(scalar.Chooser); !ok { // three ways are enough
		return e.Choose(ofDigits, e.Digits52(small), m.word, with(m.mul52), func() scalar.Ref {
			return e.Choose(ofHalves, fits, m.word, with(m.mul60), with(m.mul))
		})
	}
	digits, doubles, by := e.Digits52(small), e.Doubles(small), m.doubles()
	return e.Choose(ofDigits, digits, m.word, with(m.mul52), func() scalar.Ref {
		return e.Choose(ofDoubles, doubles, m.word, with(by.mul), func() scalar.Ref {
			return e.Choose(ofHalves, fits, m.word, func() scalar.Ref {
				return e.Choose(ofMoreBits, e.Digits52(e.Bool(true)), m.word, with(m.mulDigits), func() scalar.Ref {
					// Where doubles multiply, p from 2^50 on is left.
					return e.Choose(ofLong, e.Doubles(e.Bool(true)), m.word, with(m.mulLong), with(m.mul60))
				})
			}, with(m.mul))
		})
	})
}

// half is the first 52 bits of 2^(n-1) / p, with n the bits of p, and rest the 13 bits after them as the beginning of
// 52: together half of 2^64 + v, which misses 2^(n+63) / p by less than 1/2 and a little.
func (m Modulus) half() (first, rest scalar.Ref) {
	e := m.e
	first = e.Or(e.Shr(m.v, m.num(13)), m.num(1<<51))
	return first, e.Shl(e.And(m.v, m.num(1<<13-1)), m.num(39))
}

// mul30 is Mul for words of 32 bits and p below 2^30: the quotient is as in mul52, what is left of a*b is below 4p, and
// the lower word has all of it.
func (m Modulus) mul30(a, b scalar.Ref) scalar.Ref {
	e := m.e
	h := e.MulHi(e.Shl(a, m.shift), b)
	q := e.Add(h, e.MulHi(m.v, h))
	rest := e.Sub(e.Mul(a, b), e.Mul(q, m.p))
	rest = e.Min(rest, e.Sub(rest, e.Add(m.p, m.p))) // wraps where it is below
	return e.Min(rest, e.Sub(rest, m.p))
}

// mulLong is Mul for p from 2^47 to 2^60, with the product of a and b as three numbers, ah*bh, the two others of their
// halves together, and the lower half of al*bl. With n the bits of p, h = a*b / 2^(2n-63), rounded down, is below 2^63,
// and d' = (v + 2^64) / 4 misses 2^(62+n) / p by less than 1. The upper word of h*d', by near, misses the quotient
// times 2^(61-n) by less than 3: 1/2 for h, as much for d', and 2 for itself. The shift back by at least 1 makes less
// than (3 + 1) / 2 of it, and what is left of a*b is below 2p.
func (m Modulus) mulLong(a, b scalar.Ref) scalar.Ref {
	e := m.e
	half, low := m.num(32), m.num(1<<32-1)
	ah, bh, al, bl := e.Shr(a, half), e.Shr(b, half), e.And(a, low), e.And(b, low)
	last := e.Mul(al, bl)
	middle := e.Add(e.Add(e.Mul(al, bh), e.Mul(ah, bl)), e.Shr(last, half))
	up := e.Add(m.shift, e.Sub(m.shift, m.num(1))) // 127 - 2n
	h := e.Add(e.Shl(e.Mul(ah, bh), up), e.Shr(middle, e.Sub(half, up)))
	quarter := e.Or(e.Shr(m.v, m.num(2)), m.num(1<<62))
	q := e.Shr(m.near(h, quarter), e.Sub(m.shift, m.num(3)))
	qh, ph, ql, pl := e.Shr(q, half), e.Shr(m.p, half), e.And(q, low), e.And(m.p, low)
	upper := e.Shl(e.Sub(middle, e.Add(e.Mul(qh, pl), e.Mul(ql, ph))), half)
	rest := e.Sub(e.Or(upper, e.And(last, low)), e.Mul(ql, pl))
	less := e.Sub(rest, m.p) // the sign says whether that was too much, where there is no minimum of 64 bits
	return e.Select(e.Lt(e.Bitcast(m.signed, less), e.Int(m.signed, 0)), rest, less)
}

// mul60 is Mul for any p below 2^60: mulLong of p and a with as many zeros at their ends as make 60 bits of p.
func (m Modulus) mul60(a, b scalar.Ref) scalar.Ref {
	e := m.e
	up := e.Sub(m.shift, m.num(4))
	long := m
	long.p, long.shift = e.Shl(m.p, up), m.num(4)
	return e.Shr(long.mulLong(e.Shl(a, up), b), up)
}

// near is the upper word of x*y, or one less, for x and y below 2^63: without what comes from the product of the lower
// halves.
func (m Modulus) near(x, y scalar.Ref) scalar.Ref {
	e := m.e
	half, low := m.num(32), m.num(1<<32-1)
	xh, yh, xl, yl := e.Shr(x, half), e.Shr(y, half), e.And(x, low), e.And(y, low)
	return e.Add(e.Mul(xh, yh), e.Shr(e.Add(e.Mul(xh, yl), e.Mul(xl, yh)), half))
}

// mul52 is Mul for p below 2^50, with the digits of 52 bits that AVX-512 IFMA multiplies. With n the bits of p, u = a *
// 2^(52-n) and v = b * 2^(52-n), the upper half h of u*v misses H = a*b * 2^(52-2n) by less than 1, and the quotient
// times 2^(51-n) is H * 2^(n-1) / p. The upper half of h and of the first 52 bits of 2^(n-1) / p misses that by less
// than 3: 1 for h, as 2^(n-1) / p is at most 1, 1 for the bits that are left out, and 1 for itself. The shift back by
// at least 1 makes less than (3 + 1) / 2 of it, and what is left of a*b is below 2p.
func (m Modulus) mul52(a, b scalar.Ref) scalar.Ref {
	e := m.e
	zero, up := m.num(0), e.Sub(m.shift, m.num(12))
	h := e.Mul52Hi(e.Shl(a, up), e.Shl(b, up), zero)
	first, _ := m.half()
	q := e.Shr(e.Mul52Hi(h, first, zero), e.Sub(m.shift, m.num(13)))
	rest := e.Mul52Lo(q, e.Sub(m.num(1<<52), m.p), e.Mul52Lo(a, b, zero)) // modulo 2^52
	rest = e.And(rest, m.num(1<<52-1))
	return e.Min(rest, e.Sub(rest, m.p)) // wraps where it is below
}

// mulDigits is Mul for p below 2^60 where AVX-512 IFMA multiplies digits. With n the bits of p, u = a * 2^(64-n) and v
// = b * 2^(60-n), upper gives h, which misses H = u*v / 2^60 = a*b * 2^(64-2n) < 2^64 by less than 3, and the quotient
// times 2^(63-n), which is H * 2^(n-1) / p, from h and 2^(n-1) / p: that misses by less than 3 for h, 1/2 and a little
// for the reciprocal, and 3 for itself. The shift back by at least 3 makes less than (6.5 + 7) / 8 of it, and what is
// left of a*b is below 2p.
func (m Modulus) mulDigits(a, b scalar.Ref) scalar.Ref {
	e := m.e
	v := e.Shl(b, e.Sub(m.shift, m.num(4)))
	h := m.upper(e.Shl(a, m.shift), e.Shr(v, m.num(8)), e.Shl(v, m.num(44)))
	first, more := m.half()
	q := e.Shr(m.upper(h, first, more), e.Sub(m.shift, m.num(1)))
	rest := e.Sub(e.Mul(a, b), e.Mul(q, m.p))
	return e.Min(rest, e.Sub(rest, m.p)) // wraps where it is below
}

// upper is x * (y1 + y2 / 2^52) / 2^52, from which less than 3 is missing, for digits y1 and y2: with x = x1 2^52 + x0
// it is x1 y1 + floor(x0 y1 / 2^52) + floor(x1 y2 / 2^52).
func (m Modulus) upper(x, y1, y2 scalar.Ref) scalar.Ref {
	e := m.e
	x1 := e.Shr(x, m.num(52))
	return e.Mul52Hi(x1, y2, e.Mul52Hi(x, y1, e.Mul(x1, y1)))
}

func (m Modulus) mul(a, b scalar.Ref) scalar.Ref {
	e := m.e
	up := e.Shl(a, m.shift)
	return m.reduce(e.MulHi(up, b), e.Mul(up, b))
}
