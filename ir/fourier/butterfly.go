package fourier

// Arithmetic is what a butterfly is computed with: numbers of one type, each operation rounded once.
type Arithmetic[V any] interface {
	Add(x, y V) V
	Sub(x, y V) V
	Mul(x, y V) V
	Neg(x V) V
	Fma(x, y, z V) V // x*y + z
	Real(x float64) V
}

// Complex is a complex number.
type Complex[V any] struct{ Re, Im V }

// Times is x*w: the real part is fma(x.Re, w.Re, -(x.Im*w.Im)), the imaginary one fma(x.Re, w.Im, x.Im*w.Re).
func Times[V any](a Arithmetic[V], x, w Complex[V]) Complex[V] {
	return Complex[V]{
		Re: a.Fma(x.Re, w.Re, a.Neg(a.Mul(x.Im, w.Im))),
		Im: a.Fma(x.Re, w.Im, a.Mul(x.Im, w.Re)),
	}
}

// The real numbers of the butterflies: sines and cosines of 60, 72 and 144 degrees.
var (
	sin60, cos72, sin72 = root(1, 6).sin.hi, root(1, 5).cos.hi, root(1, 5).sin.hi
	cos144, sin144      = root(2, 5).cos.hi, root(2, 5).sin.hi
	half                = -0.5 // the cosine of 120 degrees
)

// Butterfly is the transform of 2, 3, 4 or 5 numbers.
func Butterfly[V any](a Arithmetic[V], x []Complex[V]) []Complex[V] {
	add := func(x, y Complex[V]) Complex[V] { return Complex[V]{a.Add(x.Re, y.Re), a.Add(x.Im, y.Im)} }
	sub := func(x, y Complex[V]) Complex[V] { return Complex[V]{a.Sub(x.Re, y.Re), a.Sub(x.Im, y.Im)} }
	// fma is c*x + y, and turned c*(-i*x) + y, for a real c.
	fma := func(c float64, x, y Complex[V]) Complex[V] {
		return Complex[V]{a.Fma(a.Real(c), x.Re, y.Re), a.Fma(a.Real(c), x.Im, y.Im)}
	}
	turned := func(c float64, x, y Complex[V]) Complex[V] {
		return Complex[V]{a.Fma(a.Real(c), x.Im, y.Re), a.Fma(a.Real(-c), x.Re, y.Im)}
	}
	scaled := func(c float64, x Complex[V]) Complex[V] {
		return Complex[V]{a.Mul(a.Real(c), x.Re), a.Mul(a.Real(c), x.Im)}
	}
	// down is x - i*y, up x + i*y.
	down := func(x, y Complex[V]) Complex[V] { return Complex[V]{a.Add(x.Re, y.Im), a.Sub(x.Im, y.Re)} }
	up := func(x, y Complex[V]) Complex[V] { return Complex[V]{a.Sub(x.Re, y.Im), a.Add(x.Im, y.Re)} }
	switch len(x) {
	case 2:
		return []Complex[V]{add(x[0], x[1]), sub(x[0], x[1])}
	case 3:
		sum, apart := add(x[1], x[2]), sub(x[1], x[2])
		side := fma(half, sum, x[0])
		return []Complex[V]{add(x[0], sum), turned(sin60, apart, side), turned(-sin60, apart, side)}
	case 4:
		even, odd := add(x[0], x[2]), add(x[1], x[3])
		low, high := sub(x[0], x[2]), sub(x[1], x[3])
		return []Complex[V]{add(even, odd), down(low, high), sub(even, odd), up(low, high)}
	case 5:
		sum1, apart1 := add(x[1], x[4]), sub(x[1], x[4])
		sum2, apart2 := add(x[2], x[3]), sub(x[2], x[3])
		side1 := fma(cos144, sum2, fma(cos72, sum1, x[0]))
		side2 := fma(cos72, sum2, fma(cos144, sum1, x[0]))
		turn1 := fma(sin144, apart2, scaled(sin72, apart1))
		turn2 := fma(-sin72, apart2, scaled(sin144, apart1))
		return []Complex[V]{add(x[0], add(sum1, sum2)), down(side1, turn1), down(side2, turn2), up(side2, turn2),
			up(side1, turn1)}
	}
	panic("BUG: there is no butterfly of so many numbers")
}
