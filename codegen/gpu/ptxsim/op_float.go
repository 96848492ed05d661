package ptxsim

import (
	"math"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// frnd takes the rounding of a float instruction: .rn unless it says otherwise.
func (c *compiler) frnd() rounding {
	switch c.mod("rn", "rz", "rm", "rp") {
	case "rz":
		return towardZero
	case "rm":
		return downward
	case "rp":
		return upward
	}
	return toNearest
}

// noFlush refuses .ftz: flushing subnormals is no arithmetic of the language.
func (c *compiler) noFlush() {
	if len(c.mods) > 0 && c.mods[0] == "ftz" {
		c.errorf("%s.ftz is not supported: subnormal numbers are kept", c.in.Opcode)
	}
}

// saturate limits the result of a function to [0, 1]; NaN becomes 0.
func saturate(t ptx.Type, v uint64) uint64 {
	x := valueOf(t, v)
	switch {
	case !(x > 0):
		return 0
	case x > 1:
		return formats[t].round(1, toNearest)
	}
	return v
}

// halves applies f to both halves of packed values.
func halves(f func(x, y, z uint64) uint64) func(x, y, z uint64) uint64 {
	return func(x, y, z uint64) uint64 {
		return f(x&0xffff, y&0xffff, z&0xffff) | f(x>>16, y>>16, z>>16)<<16
	}
}

// element is the type of one of the halves, or t itself.
func element(t ptx.Type) ptx.Type {
	switch t {
	case ptx.F16x2:
		return ptx.F16
	case ptx.BF16x2:
		return ptx.BF16
	case ptx.U16x2:
		return ptx.U16
	case ptx.S16x2:
		return ptx.S16
	}
	return t
}

var floats = []ptx.Type{ptx.F16, ptx.F16x2, ptx.BF16, ptx.BF16x2, ptx.F32, ptx.F64}

// arithmetic is the rest of an instruction that rounds the exact result of n values: rounding, flushing, saturation,
// type.
func (c *compiler) arithmetic(n int, exact func(t ptx.Type, r rounding) func(x, y, z uint64) uint64) {
	r := c.frnd()
	c.noFlush()
	sat := c.has("sat")
	t := c.dtype(floats...)
	e := element(t)
	f := exact(e, r)
	if sat {
		g := f
		f = func(x, y, z uint64) uint64 { return saturate(e, g(x, y, z)) }
	}
	if e != t {
		f, c.o.Spread = halves(f), machine.SpreadHalves
	}
	switch n {
	case 1:
		c.unary(t, func(x uint64) uint64 { return f(x, 0, 0) })
	case 2:
		c.binary(t, func(x, y uint64) uint64 { return f(x, y, 0) })
	default:
		c.ternary(t, f)
	}
}

// plainFloat says whether the modifiers are those of f32 or f64 rounded to nearest.
func (c *compiler) plainFloat() (ptx.Type, bool) {
	m := c.mods
	if len(m) > 0 && m[0] == "rn" {
		m = m[1:]
	}
	if len(m) == 1 && (m[0] == "f32" || m[0] == "f64") {
		c.mods = nil
		return ptx.TypeNamed(m[0])
	}
	return ptx.NoType, false
}

// addFloat is add and sub.
func (c *compiler) addFloat() {
	minus := c.in.Opcode == "sub"
	if t, ok := c.plainFloat(); ok {
		switch {
		case t == ptx.F32 && minus:
			c.binary(t, func(x, y uint64) uint64 { return of32(f32of(x) - f32of(y)) })
		case t == ptx.F32:
			c.binary(t, func(x, y uint64) uint64 { return of32(f32of(x) + f32of(y)) })
		case minus:
			c.binary(t, func(x, y uint64) uint64 { return of64(f64of(x) - f64of(y)) })
		default:
			c.binary(t, func(x, y uint64) uint64 { return of64(f64of(x) + f64of(y)) })
		}
		return
	}
	c.arithmetic(2, func(t ptx.Type, r rounding) func(x, y, z uint64) uint64 {
		return func(x, y, _ uint64) uint64 {
			a, b := valueOf(t, x), valueOf(t, y)
			if minus {
				b = -b
			}
			return sum(t, r, a, b)
		}
	})
}

// sum is a + b rounded to t.
func sum(t ptx.Type, r rounding, a, b float64) uint64 {
	if t == ptx.F64 {
		return directed(r, a, b, false, func() float64 { return a + b })
	}
	if a+b == 0 {
		return formats[t].round(zeroSum(r, a, b), r)
	}
	return formats[t].round(addOdd(a, b), r)
}

// zeroSum is a + b where that is zero: of two signs it is +0, but -0 when rounding down.
func zeroSum(r rounding, a, b float64) float64 {
	if r == downward && !(a == 0 && b == 0 && math.Signbit(a) == math.Signbit(b)) {
		return math.Copysign(0, -1)
	}
	return a + b
}

// mulFloat is mul.
func (c *compiler) mulFloat() {
	if t, ok := c.plainFloat(); ok {
		if t == ptx.F32 {
			c.binary(t, func(x, y uint64) uint64 { return of32(f32of(x) * f32of(y)) })
		} else {
			c.binary(t, func(x, y uint64) uint64 { return of64(f64of(x) * f64of(y)) })
		}
		return
	}
	c.arithmetic(2, func(t ptx.Type, r rounding) func(x, y, z uint64) uint64 {
		return func(x, y, _ uint64) uint64 {
			a, b := valueOf(t, x), valueOf(t, y)
			if t == ptx.F64 {
				return directed(r, a, b, true, func() float64 { return a * b })
			}
			return formats[t].round(a*b, r) // exact: at most 48 bits
		}
	})
}

// fma is fma, and mad of floats, which is the same from sm_20 on.
func (c *compiler) fma() {
	if t, ok := c.plainFloat(); ok {
		if t == ptx.F32 {
			c.ternary(t, func(x, y, z uint64) uint64 { return of32(fma32(f32of(x), f32of(y), f32of(z))) })
		} else {
			c.ternary(t, func(x, y, z uint64) uint64 { return of64(math.FMA(f64of(x), f64of(y), f64of(z))) })
		}
		return
	}
	r := c.frnd()
	if r != toNearest {
		c.errorf("%s of floats is supported with .rn only", c.in.Opcode)
	}
	c.noFlush()
	sat := c.has("sat")
	relu := !sat && c.has("relu")
	t := c.dtype(floats...)
	e := element(t)
	f := func(x, y, z uint64) uint64 {
		if e == ptx.F64 {
			return of64(math.FMA(f64of(x), f64of(y), f64of(z)))
		}
		v := formats[e].round(addOdd(valueOf(e, x)*valueOf(e, y), valueOf(e, z)), r)
		switch {
		case sat:
			return saturate(e, v)
		case relu && !(valueOf(e, v) > 0) && v != formats[e].nan:
			return 0
		}
		return v
	}
	if e != t {
		f, c.o.Spread = halves(f), machine.SpreadHalves
	}
	c.ternary(t, f)
}

// approximate refuses what is not exact.
func (c *compiler) approximate() {
	for _, m := range c.mods {
		if m == "approx" || m == "full" {
			c.errorf("%s.%s is refused: its result is an approximation that differs between devices", c.in.Opcode, m)
		}
	}
}

func (c *compiler) divFloat() {
	c.approximate()
	c.exact("div")
	c.binaryFloat(func(x, y float32) float32 { return x / y }, func(x, y float64) float64 { return x / y })
}

// exact takes .rn, which has to be there.
func (c *compiler) exact(op string) {
	if c.mod("rn") == "" {
		c.errorf("%s of floats is supported with .rn only", op)
	}
	c.noFlush()
}

func (c *compiler) binaryFloat(f func(x, y float32) float32, g func(x, y float64) float64) {
	t := c.dtype(ptx.F32, ptx.F64)
	if t == ptx.F32 {
		c.binary(t, func(x, y uint64) uint64 { return of32(f(f32of(x), f32of(y))) })
		return
	}
	c.binary(t, func(x, y uint64) uint64 { return of64(g(f64of(x), f64of(y))) })
}

func (c *compiler) unaryFloat(f func(x float32) float32, g func(x float64) float64) {
	t := c.dtype(ptx.F32, ptx.F64)
	if t == ptx.F32 {
		c.unary(t, func(x uint64) uint64 { return of32(f(f32of(x))) })
		return
	}
	c.unary(t, func(x uint64) uint64 { return of64(g(f64of(x))) })
}

func (c *compiler) sqrt() {
	c.approximate()
	c.exact("sqrt")
	c.unaryFloat(sqrt32, math.Sqrt)
}

func (c *compiler) rcp() {
	c.approximate()
	c.exact("rcp")
	c.unaryFloat(func(x float32) float32 { return 1 / x }, func(x float64) float64 { return 1 / x })
}

// minMaxFloat is min and max of floats: a NaN gives way to a number unless .NaN is there, and -0 is less than +0.
func (c *compiler) minMaxFloat() {
	c.noFlush()
	nan := c.has("NaN")
	xor := c.has("xorsign")
	if xor && !c.has("abs") {
		c.errorf("%s.xorsign needs .abs", c.in.Opcode)
	}
	t := c.dtype(floats...)
	e := element(t)
	isMin := c.in.Opcode == "min"
	sign := uint64(1) << (e.Bits() - 1)
	f := func(x, y, _ uint64) uint64 {
		var s uint64
		if xor {
			s = (x ^ y) & sign
			x, y = x&^sign, y&^sign
		}
		a, b := valueOf(e, x), valueOf(e, y)
		var v uint64
		switch {
		case a != a && b != b, nan && (a != a || b != b):
			return formats[e].nan
		case a != a:
			v = y
		case b != b:
			v = x
		case a == b: // equal, or zeros of two signs
			if v = x | y; !isMin {
				v = x & y
			}
		case (a < b) == isMin:
			v = x
		default:
			v = y
		}
		return v | s
	}
	if e != t {
		f, c.o.Spread = halves(f), machine.SpreadHalves
	}
	c.binary(t, func(x, y uint64) uint64 { return f(x, y, 0) })
}

// signBit is abs and neg, which change nothing but the sign, of NaN, too.
func (c *compiler) signBit(f func(v, sign uint64) uint64) {
	c.noFlush()
	t := c.dtype(floats...)
	sign := uint64(1) << (t.Bits() - 1)
	if element(t) != t {
		sign |= sign16
	}
	c.unary(t, func(x uint64) uint64 { return f(x, sign) })
}

// copysign is the magnitude of b with the sign of a.
func (c *compiler) copysign() {
	t := c.dtype(ptx.F32, ptx.F64)
	sign := uint64(1) << (t.Bits() - 1)
	c.binary(t, func(x, y uint64) uint64 { return x&sign | y&^sign })
}

// testp tests a property of a float.
func (c *compiler) testp() {
	op := c.mod("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	if op == "" {
		c.errorf("testp needs a property")
	}
	t := c.dtype(ptx.F32, ptx.F64)
	c.operands(2)
	d, a := c.predicateDest(c.in.Operands[0]), c.src(1, t)
	smallest := 0x1p-126
	if t == ptx.F64 {
		smallest = 0x1p-1022
	}
	test := func(x float64) bool {
		switch op {
		case "finite":
			return x-x == 0
		case "infinite":
			return math.IsInf(x, 0)
		case "number":
			return x == x
		case "notanumber":
			return x != x
		case "normal":
			return x-x == 0 && math.Abs(x) >= smallest
		}
		return x != 0 && math.Abs(x) < smallest
	}
	c.o.Run = func(w *machine.Warp, m uint32) {
		A, p := &w.Values[a], uint32(0)
		machine.EachLane(m, func(i int) {
			if test(valueOf(t, A[i])) {
				p |= 1 << i
			}
		})
		w.SetPred(d, p, m)
	}
}
