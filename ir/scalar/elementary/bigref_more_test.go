package elementary

import (
	"math"
	"math/big"
)

// More references for f64, as in bigref_test.go.

func bigTan(x *big.Float) *big.Float { return bigOp().Quo(bigSinCos(x, 0), bigSinCos(x, 1)) }

func bigSinh(x *big.Float) *big.Float {
	if x.MantExp(nil) < 0 {
		z := bigOp().Mul(x, x)
		return series(x, func(t *big.Float, i int64) { t.Quo(t.Mul(t, z), bigInt(2*i*(2*i+1))) })
	}
	e := bigExp(x)
	e.Sub(e, bigOp().Quo(bigInt(1), e))
	return e.Quo(e, bigInt(2))
}

func bigCosh(x *big.Float) *big.Float {
	e := bigExp(x)
	e.Add(e, bigOp().Quo(bigInt(1), e))
	return e.Quo(e, bigInt(2))
}

// bigCbrt is Newton's iteration from the root of Go's mathematics library, on a number scaled to near 1.
func bigCbrt(x *big.Float) *big.Float {
	m := bigOp()
	k := x.MantExp(m)
	shift := ((k % 3) + 3) % 3
	m.SetMantExp(m, shift)
	f, _ := m.Float64()
	y := bigNew(math.Cbrt(f))
	for range 4 {
		square := bigOp().Mul(y, y)
		d := bigOp().Sub(bigOp().Mul(square, y), m)
		y.Sub(y, d.Quo(d, square.Mul(square, bigInt(3))))
	}
	return y.SetMantExp(y, (k-shift)/3)
}

// bigAtan halves the angle until the series converges fast.
func bigAtan(x *big.Float) *big.Float {
	one := bigInt(1)
	y := bigOp().Set(x)
	halved := 0
	for y.Sign() != 0 && y.MantExp(nil) > -6 {
		root := bigOp().Sqrt(bigOp().Add(one, bigOp().Mul(y, y)))
		y.Quo(y, root.Add(root, one))
		halved++
	}
	z := bigOp().Mul(y, y)
	z.Neg(z)
	sum, power := bigOp().Set(y), bigOp().Set(y)
	for i := int64(3); power.Sign() != 0 && power.MantExp(nil) > y.MantExp(nil)-workBits; i += 2 {
		power.Mul(power, z)
		sum.Add(sum, bigOp().Quo(power, bigInt(i)))
	}
	return sum.SetMantExp(sum, halved)
}

// rootOf returns sqrt(1-x^2), without cancellation.
func rootOf(x *big.Float) *big.Float {
	one := bigInt(1)
	r := bigOp().Mul(bigOp().Sub(one, x), bigOp().Add(one, x))
	return r.Sqrt(r)
}

var bigHalfPi = bigOp().Set(bigOp().Quo(bigPi, bigInt(2)))

func bigAsin(x *big.Float) *big.Float {
	c := rootOf(x)
	if c.Sign() == 0 {
		return bigOp().Mul(x, bigHalfPi)
	}
	return bigAtan(bigOp().Quo(x, c))
}

// bigAcos is 2 atan(sqrt((1-x)/(1+x))).
func bigAcos(x *big.Float) *big.Float {
	one := bigInt(1)
	den := bigOp().Add(one, x)
	if den.Sign() == 0 {
		return bigOp().Mul(bigInt(2), bigHalfPi)
	}
	q := bigOp().Quo(bigOp().Sub(one, x), den)
	a := bigAtan(q.Sqrt(q))
	return a.Mul(a, bigInt(2))
}

// bigAtan2 is the angle of (x, y), neither of which is 0.
func bigAtan2(y, x *big.Float) *big.Float {
	a := bigAtan(bigOp().Quo(y, x))
	if x.Sign() < 0 {
		pi := bigOp().Mul(bigInt(2), bigHalfPi)
		if y.Sign() < 0 {
			pi.Neg(pi)
		}
		a.Add(a, pi)
	}
	return a
}

// bigErf is 2/sqrt(pi) e^(-x^2) times the sum of (2 x^2)^n x/(2n+1)!!, whose terms are all of one sign.
func bigErf(x *big.Float) *big.Float {
	z := bigOp().Mul(x, x)
	sum := series(x, func(t *big.Float, i int64) { t.Quo(t.Mul(t, bigOp().Mul(z, bigInt(2))), bigInt(2*i+1)) })
	sum.Mul(sum, bigExp(bigOp().Neg(z)))
	root := bigOp().Sqrt(bigOp().Set(bigPi))
	return sum.Mul(sum, bigOp().Quo(bigInt(2), root))
}

// bigErfc is 1 - erf, which below 5 leaves 280 bits, and the continued fraction of Laplace from there,
// e^(-x^2)/sqrt(pi) / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...)))).
func bigErfc(x *big.Float) *big.Float {
	if x.Cmp(bigInt(5)) < 0 {
		return bigOp().Sub(bigInt(1), bigErf(x))
	}
	f := bigOp().Set(x)
	for n := int64(700); n >= 1; n-- {
		f.Add(x, bigOp().Quo(bigOp().Quo(bigInt(n), bigInt(2)), f))
	}
	e := bigExp(bigOp().Neg(bigOp().Mul(x, x)))
	return e.Quo(e, f.Mul(f, bigOp().Sqrt(bigOp().Set(bigPi))))
}

var bigSqrt2 = bigOp().Sqrt(bigInt(2))

func bigGelu(x *big.Float) *big.Float {
	r := bigErfc(bigOp().Neg(bigOp().Quo(x, bigSqrt2)))
	r.Mul(r, x)
	return r.Quo(r, bigInt(2))
}

func bigSilu(x *big.Float) *big.Float { return bigOp().Mul(x, bigSigmoid(x)) }

// bigSoftplus is log(1 + e^x); where e^x is small, by log1p.
func bigSoftplus(x *big.Float) *big.Float { return bigLog1p(bigExp(x)) }
