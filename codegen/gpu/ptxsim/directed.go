package ptxsim

import (
	"math"
	"math/big"
)

// directed is a+b or a*b of f64 in a direction other than to nearest. It is slow: nothing that is generated needs it.
func directed(r rounding, a, b float64, mul bool, nearest func() float64) uint64 {
	x := nearest()
	if !mul && x == 0 {
		x = zeroSum(r, a, b)
	}
	if r == toNearest || a-a != 0 || b-b != 0 || a == 0 || b == 0 {
		return of64(x)
	}
	exact := new(big.Float).SetPrec(4400)
	if mul {
		exact.Mul(big.NewFloat(a).SetPrec(4400), big.NewFloat(b).SetPrec(4400))
	} else {
		exact.Add(big.NewFloat(a).SetPrec(4400), big.NewFloat(b).SetPrec(4400))
	}
	if exact.Sign() == 0 {
		return of64(x)
	}
	return roundBig(exact, r)
}

// roundBig is a number that is not zero as an f64: the float next to it in a direction.
func roundBig(x *big.Float, r rounding) uint64 {
	near, _ := x.Float64()
	up := func(y float64) bool { // y is above x
		return math.IsInf(y, 1) || !math.IsInf(y, -1) && new(big.Float).SetFloat64(y).Cmp(x) > 0
	}
	down := func(y float64) bool {
		return math.IsInf(y, -1) || !math.IsInf(y, 1) && new(big.Float).SetFloat64(y).Cmp(x) < 0
	}
	floor := r == downward || r == towardZero && x.Sign() > 0
	if floor && up(near) {
		near = math.Nextafter(near, math.Inf(-1))
	} else if !floor && down(near) {
		near = math.Nextafter(near, math.Inf(1))
	}
	if near == 0 && x.Sign() < 0 {
		near = math.Copysign(0, -1)
	}
	return math.Float64bits(near)
}
