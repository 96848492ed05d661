package fourier

import (
	"math"
	"math/big"
)

// Note [Roots of unity]
//
// Factors of a transform are cosines and sines of multiples of a part of the circle, each rounded once. The angle is
// brought into the first eighth of the circle by integers, so that symmetric factors are equal, and 0 and 1 exact. The
// series there is computed in pairs of doubles, which have 106 bits. An error of some 2^-100 changes how a number
// rounds only where it lies that near to the middle of two floats, as one of 2^45 does. The tests compare with 300
// bits.

// pair is the sum hi + lo of two doubles, where hi is the sum rounded.
type pair struct{ hi, lo float64 }

// sum is x + y as a pair.
func sum(x, y float64) pair {
	s := float64(x + y)
	v := float64(s - x)
	return pair{s, float64(float64(x-float64(s-v)) + float64(y-v))}
}

// near is x + y as a pair, where y is not larger.
func near(x, y float64) pair {
	s := float64(x + y)
	return pair{s, float64(y - float64(s-x))}
}

func (x pair) plus(y pair) pair {
	s, t := sum(x.hi, y.hi), sum(x.lo, y.lo)
	s = near(s.hi, float64(s.lo+t.hi))
	return near(s.hi, float64(s.lo+t.lo))
}

func (x pair) times(y pair) pair {
	p := float64(x.hi * y.hi)
	e := math.FMA(x.hi, y.hi, -p)
	return near(p, math.FMA(x.lo, y.hi, math.FMA(x.hi, y.lo, e)))
}

// over is x / y for an integer y.
func (x pair) over(y float64) pair {
	q := float64(x.hi / y)
	r := math.FMA(-q, y, x.hi) // exact
	return near(q, float64(float64(r+x.lo)/y))
}

// quarterPi is a quarter of pi.
var quarterPi = pair{0.7853981633974483, 3.061616997868383e-17}

// angle is a cosine and a sine.
type angle struct{ cos, sin pair }

// root is the cosine and the sine of k/n of the circle, 0 <= k <= n.
func root(k, n int64) angle {
	u := 8 * k // in parts of which the circle has 8*n
	below, left, swapped := u > 4*n, false, false
	if below {
		u = 8*n - u
	}
	if left = u > 2*n; left {
		u = 4*n - u
	}
	if swapped = u > n; swapped {
		u = 2*n - u
	}
	a := eighth(u, n)
	if swapped {
		a.cos, a.sin = a.sin, a.cos
	}
	if left {
		a.cos = pair{-a.cos.hi, -a.cos.lo}
	}
	if below && a.sin.hi != 0 {
		a.sin = pair{-a.sin.hi, -a.sin.lo}
	}
	return a
}

// eighth is the cosine and the sine of u/n of an eighth of the circle, 0 <= u <= n.
func eighth(u, n int64) angle {
	if u == 0 {
		return angle{cos: pair{1, 0}}
	}
	t := quarterPi.times(pair{float64(u), 0}).over(float64(n))
	square := t.times(t)
	square = pair{-square.hi, -square.lo}
	series := func(term pair, k float64) pair {
		all := []pair{term}
		for ; math.Abs(term.hi) > 0x1p-110; k += 2 {
			term = term.times(square).over(k * (k + 1))
			all = append(all, term)
		}
		out := pair{}
		for i := len(all) - 1; i >= 0; i-- { // the smallest first
			out = out.plus(all[i])
		}
		return out
	}
	return angle{cos: series(pair{1, 0}, 1), sin: series(t, 2)}
}

// Root is exp(-2 pi i k/n) with parts that are rounded once, for 0 <= k <= n: to f32 where single is set, else to f64.
func Root(k, n int64, single bool) (re, im float64) {
	a := root(k, n)
	if a.sin.hi != 0 {
		a.sin = pair{-a.sin.hi, -a.sin.lo}
	}
	if single {
		return rounded32(a.cos), rounded32(a.sin)
	}
	return a.cos.hi, a.sin.hi
}

// rounded32 is a pair rounded once to f32. Only where hi is the middle of two floats does lo decide.
func rounded32(x pair) float64 {
	if math.Float64bits(x.hi)&(1<<29-1) != 1<<28 || x.lo == 0 {
		return float64(float32(x.hi))
	}
	f, _ := new(big.Float).SetPrec(200).Add(big.NewFloat(x.hi), big.NewFloat(x.lo)).Float32()
	return float64(f)
}

// Table are the factors of the first stages of a transform of n*left elements (First): all real parts, then all
// imaginary ones.
func Table(n, left int64, single bool) []float64 {
	size := Factors(n, left)
	out := make([]float64, 2*size)
	if size == 0 {
		return out
	}
	all := n * left
	re, im := make([]float64, all), make([]float64, all)
	for k := range all {
		re[k], im[k] = Root(k, all, single)
	}
	stages, _ := First(n, left)
	for _, s := range stages {
		if !s.Turns() {
			continue
		}
		for k := int64(1); k < s.Radix; k++ {
			for p := range s.Rest * left {
				i := s.Factor(k, 0) + p
				out[i], out[size+i] = re[p*k*s.Before], im[p*k*s.Before]
			}
		}
	}
	return out
}

// TableInBlocks is Table, in blocks of so many columns (Blocks).
func TableInBlocks(n, left, width int64, single bool) []float64 {
	from := Table(n, left, single)
	size := int64(len(from) / 2)
	to := make([]float64, len(from))
	for i := range size {
		j := Blocks{left, width, size / left}.Place(i/left, i%left)
		to[j], to[size+j] = from[i], from[size+i]
	}
	return to
}

// Chirp are the constants of Note [Chirps] in package ops: the factors of n elements, and the transform of the kernel
// of the convolution divided by its length; of each the real parts and the imaginary ones.
func Chirp(n int64, single bool) (chirp, kernel [2][]float64) {
	m := int64(1)
	for m < 2*n-1 {
		m *= 2
	}
	around := make([]Complex[float64], m)
	for part := range chirp {
		chirp[part], kernel[part] = make([]float64, n), make([]float64, m)
	}
	for k := range n {
		square := k * k % (2 * n)
		chirp[0][k], chirp[1][k] = Root(square, 2*n, single)
		re, im := Root(square, 2*n, false)
		around[k] = Complex[float64]{re, -im}
		around[(m-k)%m] = around[k]
	}
	for k, x := range transformed(around) {
		kernel[0][k], kernel[1][k] = x.Re/float64(m), x.Im/float64(m)
	}
	return chirp, kernel
}

// doubles computes with f64.
type doubles struct{}

func (doubles) Add(x, y float64) float64    { return float64(x + y) }
func (doubles) Sub(x, y float64) float64    { return float64(x - y) }
func (doubles) Mul(x, y float64) float64    { return float64(x * y) }
func (doubles) Neg(x float64) float64       { return -x }
func (doubles) Fma(x, y, z float64) float64 { return math.FMA(x, y, z) }
func (doubles) Real(x float64) float64      { return x }

// transformed is the transform of numbers in f64.
func transformed(z []Complex[float64]) []Complex[float64] {
	n := int64(len(z))
	table, size := Table(n, 1, false), Factors(n, 1)
	for _, s := range Stages(n) {
		next := make([]Complex[float64], n)
		for q := range s.Before {
			for p := range s.Rest {
				x := make([]Complex[float64], s.Radix)
				for j := range x {
					x[j] = z[(q*s.Radix+int64(j))*s.Rest+p]
				}
				for k, y := range Butterfly(doubles{}, x) {
					if k > 0 && s.Turns() {
						i := s.Factor(int64(k), p)
						y = Times(doubles{}, y, Complex[float64]{table[i], table[size+i]})
					}
					next[(q+int64(k)*s.Before)*s.Rest+p] = y
				}
			}
		}
		z = next
	}
	return z
}
