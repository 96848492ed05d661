package elementary

import (
	"math"
	"math/big"
	"math/bits"
)

// References of sin, cos and tan for f32 arguments. Go's lose up to half of their bits for arguments next to
// a multiple of pi/2, so the argument is reduced here, in 128-bit integers.

// turnOf holds for e = 0, 1, ... the 128 bits after the point of 2^(e-24) / (2 pi).
var turnOf = func() (t [129][2]uint64) {
	for e := range t {
		v := new(big.Float).SetPrec(bigPi.Prec()).Quo(big.NewFloat(1), bigPi)
		v.SetMantExp(v, e-24-1+128)
		n, _ := v.Int(nil)
		word := func(shift uint) uint64 { return new(big.Int).Rsh(n, shift).Uint64() }
		t[e] = [2]uint64{word(64), word(0)} // Uint64 drops what is above 64 bits: the whole turns
	}
	return t
}()

// quarters returns q and r for an f32 x with x = q pi/2 + r modulo 2 pi and |r| <= pi/4, r good to 2^-51.
//
// x is a number of 24 bits times 2^e, and 2^e/(2 pi) is cut off behind 128 bits, so the error in turns is
// below 2^-104, while no f32 of magnitude 1/2 and above is nearer than 2^-34 turns to a multiple of pi/2.
func quarters(x float64) (q uint64, r float64) {
	if math.Abs(x) < 0.5 {
		return 0, x
	}
	m, e := math.Frexp(math.Abs(x))
	n, t := uint64(m*(1<<24)), turnOf[e]
	carry, lo := bits.Mul64(n, t[1])
	hi := n*t[0] + carry
	q = (hi + 1<<61) >> 62
	hi -= q << 62
	if negative := hi>>63 == 1; negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
		r = -1
	} else {
		r = 1
	}
	r *= (float64(hi)*0x1p-64 + float64(lo)*0x1p-128) * (2 * math.Pi)
	if x < 0 {
		return -q & 3, -r
	}
	return q & 3, r
}

// sinQuarters is the sine of q pi/2 + r.
func sinQuarters(q uint64, r float64) float64 {
	v := math.Sin(r)
	if q&1 == 1 {
		v = math.Cos(r)
	}
	if q&2 == 2 {
		return -v
	}
	return v
}

// infinite reports whether there is no angle, and is true of NaN.
func infinite(x float64) bool { return math.IsInf(x, 0) || x != x }

func refSin(x float64) float64 {
	if infinite(x) {
		return math.NaN()
	}
	return sinQuarters(quarters(x))
}

func refCos(x float64) float64 {
	if infinite(x) {
		return math.NaN()
	}
	q, r := quarters(x)
	return sinQuarters(q+1, r)
}

func refTan(x float64) float64 { return refSin(x) / refCos(x) }

// nearQuarters32 returns the bits of f32 numbers that are nearer than the others to a multiple of pi/2: for
// each exponent, mantissas that are multiples of the denominators of the convergents of 2^e/(pi/2).
func nearQuarters32() []uint64 {
	var out []uint64
	for e := -22; e <= 104; e++ {
		v := new(big.Float).SetPrec(bigPi.Prec()).Quo(big.NewFloat(2), bigPi)
		v.SetMantExp(v, e)
		// The denominators of the convergents: q[k] = a[k] q[k-1] + q[k-2].
		for before, q := uint64(0), uint64(1); q < 1<<24; {
			for k := uint64(1); k*q < 1<<24 && k <= 64; k++ {
				if k*q >= 1<<23 {
					out = append(out, uint64(math.Float32bits(float32(math.Ldexp(float64(k*q), e)))))
				}
			}
			whole, _ := v.Int(nil)
			v.Sub(v, new(big.Float).SetInt(whole))
			v.Quo(new(big.Float).SetPrec(bigPi.Prec()).SetInt64(1), v)
			a, _ := v.Uint64()
			before, q = q, a*q+before
		}
	}
	return out
}
