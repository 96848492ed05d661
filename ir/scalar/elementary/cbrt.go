package elementary

import (
	"math"

	"healc/ir/scalar"
)

// Cbrt returns the cube root, of negative x too; Cbrt(-0) = -0, Cbrt(±inf) = ±inf.
func Cbrt(e scalar.Emitter, x scalar.Ref) scalar.Ref {
	return onFloat(e, x,
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return cbrtBy(e, x, &cbrtF32) },
		func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return cbrtBy(e, x, &cbrtF64) })
}

// cbrtConsts parametrises |x| = 2^(3(q - base)) 2^j m with m in [1, 2), j in 0 to 2, and 3q + j the exponent field plus
// offset.
type cbrtConsts struct {
	floatFormat
	least, scale float64 // below least, x is multiplied by scale, the cube of a power of two
	offset, base uint64
	p            []float64 // the cube root of m, the start of the iteration
}

var cbrtF32 = cbrtConsts{
	formatF32, 0x1p-126, 0x1p24, 2, 43,
	// On [1, 2]: 2^-10.6.
	[]float64{0x1.3e39a8p-1, 0x1.c1f604p-2, -0x1.ee107ep-5},
}

var cbrtF64 = cbrtConsts{
	formatF64, 0x1p-1022, 0x1p54, 0, 341,
	// On [1, 2]: 2^-19.6.
	[]float64{0x1.e4b1898353a1ap-2, 0x1.ad226a8c03431p-1, -0x1.e07c181790898p-2, 0x1.9f492a5f826cep-3,
		-0x1.9cc5535718582p-5, 0x1.5e88a0a96e979p-8},
}

// cbrtBy takes one step of Halley's iteration for the root of y^3 = 2^j m, y - y (y^3 - 2^j m)/(2 y^3 + 2^j m), which
// cubes the relative error: to 2^-32 and 2^-59. y^3 - 2^j m cancels, so y^2 is taken as a sum of two floats.
func cbrtBy(e scalar.Emitter, x scalar.Ref, c *cbrtConsts) scalar.Ref {
	t, u := c.float, c.bits
	zero := e.Float(t, 0)
	ax := e.Abs(x)
	tiny := e.Lt(ax, e.Float(t, c.least))
	bits := e.Bitcast(u, e.Select(tiny, e.Mul(ax, e.Float(t, c.scale)), ax))
	field := e.Add(e.Shr(bits, e.Bits(u, c.mantissa)), e.Bits(u, c.offset))
	q := e.Shr(e.Mul(field, e.Bits(u, 0x5556)), e.Bits(u, 16)) // field/3
	j := e.Sub(field, e.Mul(q, e.Bits(u, 3)))
	one, two := e.Eq(j, e.Bits(u, 1)), e.Eq(j, e.Bits(u, 2))
	power := func(p0, p1, p2 float64) scalar.Ref {
		return e.Select(two, e.Float(t, p2), e.Select(one, e.Float(t, p1), e.Float(t, p0)))
	}
	oneBits := scalar.FloatBits(t, 1)
	m := e.Bitcast(t, e.Or(e.And(bits, e.Bits(u, 1<<c.mantissa-1)), e.Bits(u, oneBits)))

	y := e.Mul(poly(e, m, c.p...), power(1, math.Cbrt(2), math.Cbrt(4)))
	w := e.Mul(m, power(1, 2, 4))
	s, sl := twoProd(e, y, y)
	d := e.Fma(y, sl, e.Fma(y, s, e.Neg(w)))
	y = e.Sub(y, e.Div(e.Mul(y, d), e.Fma(e.Add(y, y), s, w)))

	base := e.Select(tiny, e.Bits(u, c.base+uint64(math.Ilogb(c.scale))/3), e.Bits(u, c.base))
	r := e.Bitcast(t, e.Add(e.Bitcast(u, y), e.Shl(e.Sub(q, base), e.Bits(u, c.mantissa))))
	ordinary := e.And(e.Lt(zero, ax), e.Lt(ax, e.Float(t, math.Inf(1))))
	return e.Select(ordinary, e.CopySign(r, x), x)
}
