package elementary

import (
	"math"
	"math/big"
)

// References for f64: elementary functions of big.Float. Arguments are exact float64 values; results are good
// to at least 200 bits (relative), which the extra bits of workBits cover.
const workBits = 320

func bigNew(x float64) *big.Float { return new(big.Float).SetPrec(workBits).SetFloat64(x) }

func bigInt(n int64) *big.Float { return new(big.Float).SetPrec(workBits).SetInt64(n) }

func bigOp() *big.Float { return new(big.Float).SetPrec(workBits) }

// series returns the sum of terms start, start*f(1), start*f(1)*f(2), ... until they no longer count. step
// multiplies the term in place.
func series(start *big.Float, step func(term *big.Float, i int64)) *big.Float {
	sum, term := bigOp().Set(start), bigOp().Set(start)
	for i := int64(1); term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-workBits; i++ {
		step(term, i)
		sum.Add(sum, term)
	}
	return sum
}

// bigAtanh returns atanh(s) for |s| < 1/2.
func bigAtanh(s *big.Float) *big.Float {
	z := bigOp().Mul(s, s)
	sum, power := bigOp().Set(s), bigOp().Set(s)
	for i := int64(3); power.Sign() != 0 && power.MantExp(nil) > s.MantExp(nil)-workBits; i += 2 {
		power.Mul(power, z)
		sum.Add(sum, bigOp().Quo(power, bigInt(i)))
	}
	return sum
}

var bigLn2 = bigOp().Mul(bigAtanh(bigOp().Quo(bigInt(1), bigInt(3))), bigInt(2))

// bigPi has enough bits to reduce the largest float64: pi = 16 atan(1/5) - 4 atan(1/239) (Machin).
var bigPi = func() *big.Float {
	const prec = 1600
	atanInv := func(n int64) *big.Float {
		sum, power := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(prec).SetInt64(1)
		square := new(big.Float).SetPrec(prec).SetInt64(n * n)
		power.Quo(power, new(big.Float).SetInt64(n))
		for i := int64(1); power.MantExp(nil) > -prec; i += 2 {
			t := new(big.Float).SetPrec(prec).Quo(power, new(big.Float).SetInt64(i))
			if i%4 == 1 {
				sum.Add(sum, t)
			} else {
				sum.Sub(sum, t)
			}
			power.Quo(power, square)
		}
		return sum
	}
	a, b := atanInv(5), atanInv(239)
	a.Mul(a, new(big.Float).SetInt64(16))
	b.Mul(b, new(big.Float).SetInt64(4))
	return a.Sub(a, b)
}()

func roundToInt(x *big.Float) *big.Int {
	half := big.NewFloat(0.5)
	if x.Sign() < 0 {
		half.Neg(half)
	}
	n, _ := new(big.Float).SetPrec(x.Prec()).Add(x, half).Int(nil)
	return n
}

// bigExp returns e^x for |x| < 2^20.
func bigExp(x *big.Float) *big.Float {
	n := roundToInt(bigOp().Quo(x, bigLn2)).Int64()
	r := bigOp().Sub(x, bigOp().Mul(bigInt(n), bigLn2))
	sum := series(bigInt(1), func(t *big.Float, i int64) { t.Quo(t.Mul(t, r), bigInt(i)) })
	return sum.SetMantExp(sum, int(n))
}

// bigLog returns the logarithm of x > 0.
func bigLog(x *big.Float) *big.Float {
	m := bigOp()
	k := x.MantExp(m)
	if m.Cmp(big.NewFloat(math.Sqrt2/2)) < 0 {
		m.SetMantExp(m, 1)
		k--
	}
	one := bigInt(1)
	l := bigAtanh(bigOp().Quo(bigOp().Sub(m, one), bigOp().Add(m, one)))
	l.Mul(l, bigInt(2))
	return l.Add(l, bigOp().Mul(bigInt(int64(k)), bigLn2))
}

var bigLn10 = bigLog(bigInt(10))

// bigExpm1 returns e^x - 1, for small x by its own series.
func bigExpm1(x *big.Float) *big.Float {
	if x.MantExp(nil) < 0 {
		return series(x, func(t *big.Float, i int64) { t.Quo(t.Mul(t, x), bigInt(i+1)) })
	}
	return bigOp().Sub(bigExp(x), bigInt(1))
}

// bigLog1p returns log(1+x), which for small x is 2 atanh(x/(2+x)).
func bigLog1p(x *big.Float) *big.Float {
	if x.MantExp(nil) < -1 {
		l := bigAtanh(bigOp().Quo(x, bigOp().Add(x, bigInt(2))))
		return l.Mul(l, bigInt(2))
	}
	return bigLog(bigOp().Add(x, bigInt(1)))
}

// bigSinCos returns the sine of x + shift*pi/2.
func bigSinCos(x *big.Float, shift int64) *big.Float {
	halfPi := new(big.Float).SetPrec(bigPi.Prec()).Quo(bigPi, big.NewFloat(2))
	n := roundToInt(new(big.Float).SetPrec(bigPi.Prec()).Quo(x, halfPi))
	nf := new(big.Float).SetPrec(bigPi.Prec()).SetInt(n)
	r := bigOp().Set(nf.Sub(new(big.Float).SetPrec(bigPi.Prec()).Set(x), nf.Mul(nf, halfPi)))
	q := new(big.Int).And(n.Add(n, big.NewInt(shift)), big.NewInt(3)).Int64()
	z := bigOp().Mul(r, r)
	z.Neg(z)
	start, odd := r, int64(1)
	if q&1 == 1 {
		start, odd = bigInt(1), 0
	}
	v := series(start, func(t *big.Float, i int64) { t.Quo(t.Mul(t, z), bigInt((2*i-1+odd)*(2*i+odd))) })
	if q&2 == 2 {
		v.Neg(v)
	}
	return v
}

func bigTanh(x *big.Float) *big.Float {
	if x.MantExp(nil) < 0 { // |x| < 1/2: sinh/cosh without cancellation
		z := bigOp().Mul(x, x)
		by := func(odd int64) func(*big.Float, int64) {
			return func(t *big.Float, i int64) { t.Quo(t.Mul(t, z), bigInt((2*i-1+odd)*(2*i+odd))) }
		}
		return bigOp().Quo(series(x, by(1)), series(bigInt(1), by(0)))
	}
	w := bigExp(bigOp().Mul(x, bigInt(2)))
	one := bigInt(1)
	return bigOp().Quo(bigOp().Sub(w, one), bigOp().Add(w, one))
}

func bigSigmoid(x *big.Float) *big.Float {
	one := bigInt(1)
	return bigOp().Quo(one, bigOp().Add(one, bigExp(bigOp().Neg(x))))
}

func bigRsqrt(x *big.Float) *big.Float { return bigOp().Quo(bigInt(1), bigOp().Sqrt(x)) }

// bigPow returns x^y for x > 0 and results that are not far out of range.
func bigPow(x, y *big.Float) *big.Float { return bigExp(bigOp().Mul(y, bigLog(x))) }

// ulp64 returns how far got is from want, in units of the last place of an f64 at want; see ulp32.
func ulp64(got float64, want *big.Float) float64 { return ulpBig(got, want, 53, -1074, 1024) }

// ulpBig is ulpDistance for an exact value: precision bits, the least exponent of a unit, and the exponent
// of the float that would follow the largest.
func ulpBig(got float64, want *big.Float, precision, least, top int) float64 {
	if got != got {
		return math.Inf(1)
	}
	limit := new(big.Float).SetMantExp(big.NewFloat(1), top)
	clamped := func(x *big.Float) *big.Float {
		if new(big.Float).Abs(x).Cmp(limit) <= 0 {
			return x
		}
		if x.Sign() < 0 {
			return new(big.Float).Neg(limit)
		}
		return limit
	}
	g, w := clamped(bigOp().SetInf(got < 0)), clamped(want)
	if !math.IsInf(got, 0) {
		g = clamped(bigNew(got))
	}
	exp := -2000
	if w.Sign() != 0 {
		exp = w.MantExp(nil)
	}
	d := bigOp().Sub(g, w)
	ulp := max(min(exp, top)-precision, least)
	v, _ := d.SetMantExp(d, -ulp).Float64()
	return math.Abs(v)
}
