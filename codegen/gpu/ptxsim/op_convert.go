package ptxsim

import (
	"math"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// cvt converts between integers and floats of all widths.
func (c *compiler) cvt() {
	irnd := c.mod("rni", "rzi", "rmi", "rpi")
	frnd := ""
	if irnd == "" {
		frnd = c.mod("rn", "rz", "rm", "rp", "rna")
	}
	c.noFlush()
	relu := c.has("relu")
	sat := c.has("sat")
	satfinite := c.has("satfinite")
	relu = relu || c.has("relu")
	all := []ptx.Type{
		ptx.U8, ptx.U16, ptx.U32, ptx.U64, ptx.S8, ptx.S16, ptx.S32, ptx.S64, ptx.F16, ptx.BF16, ptx.F32, ptx.F64,
	}
	dt := c.dtype(append(all, ptx.F16x2, ptx.BF16x2, ptx.TF32)...)
	at := c.dtype(all...)
	if satfinite {
		c.errorf("cvt.satfinite is not supported")
	}
	if dt == ptx.F16x2 || dt == ptx.BF16x2 {
		c.cvtPair(dt, at, frnd, relu)
		return
	}
	c.operands(2)
	d, a := c.dest(c.in.Operands[0], dt, true), c.source(c.in.Operands[1], at, true)
	width := c.width(c.in.Operands[0])
	f := c.conversion(dt, at, irnd, frnd, sat)
	if at.Integer() && dt.Integer() && !sat {
		c.moves(at, a)
		c.o.Run = resize(d, a, dt, at, width)
		return
	}
	if relu {
		if !dt.Float() && dt != ptx.TF32 || at != ptx.F32 {
			c.errorf("cvt.relu is of f32 to a smaller float")
		}
		f = clamp(dt, f)
	}
	in, out := mask(at.Bits()), mask(width)
	if dt.Signed() {
		c.o.Run = un(d, a, func(x uint64) uint64 { return extend(dt, f(x&in)) & out })
		return
	}
	if dt.Bits() == width && at.Bits() == 64 {
		c.o.Run = un(d, a, f)
		return
	}
	c.o.Run = un(d, a, func(x uint64) uint64 { return f(x & in) })
}

// resize is a cvt between integers, into a register of some width: sign bits go on from the narrower type where that is
// signed.
func resize(d, a int32, dt, at ptx.Type, width int) machine.Step {
	from, out := at, dt.Bits()
	if dt.Bits() <= at.Bits() {
		from = dt
	}
	if dt.Signed() {
		out = width
	}
	keep := mask(out)
	if !from.Signed() {
		keep &= mask(from.Bits())
		return func(w *machine.Warp, m uint32) {
			D, A := &w.Values[d], &w.Values[a]
			if m == ^uint32(0) {
				for i := range D {
					D[i] = A[i] & keep
				}
				return
			}
			for ; m != 0; m &= m - 1 {
				i := machine.FirstLane(m)
				D[i] = A[i] & keep
			}
		}
	}
	shift := 64 - from.Bits()
	return un(d, a, func(x uint64) uint64 { return uint64(int64(x<<shift)>>shift) & keep })
}

// clamp makes negative results 0, as .relu says; NaN stays.
func clamp(t ptx.Type, f func(x uint64) uint64) func(x uint64) uint64 {
	return func(x uint64) uint64 {
		v := f(x)
		if valueOf(t, v) < 0 {
			return 0
		}
		return v &^ (1 << (t.Bits() - 1) * boolean(valueOf(t, v) == 0))
	}
}

// cvtPair is cvt.rn.f16x2.f32 d, a, b: a in the upper half.
func (c *compiler) cvtPair(dt, at ptx.Type, frnd string, relu bool) {
	if at != ptx.F32 || frnd != "rn" && frnd != "rz" {
		c.errorf("cvt to .%s is of two .f32, with .rn or .rz", dt)
	}
	e := element(dt)
	f := c.conversion(e, at, "", frnd, false)
	if relu {
		f = clamp(e, f)
	}
	c.operands(3)
	d, a, b := c.dst(dt), c.src(1, at), c.src(2, at)
	c.o.Run = bin(d, a, b, func(x, y uint64) uint64 { return f(x)<<16 | f(y) })
}

// conversion is the function of a cvt. Its argument has the width of at, and its result that of dt.
func (c *compiler) conversion(dt, at ptx.Type, irnd, frnd string, sat bool) func(x uint64) uint64 {
	to := toNearest
	switch frnd + irnd {
	case "rz", "rzi":
		to = towardZero
	case "rm", "rmi":
		to = downward
	case "rp", "rpi":
		to = upward
	case "rna":
		if dt != ptx.TF32 {
			c.errorf("cvt.rna is to .tf32")
		}
		to = nearestAway
	}
	switch {
	case at.Integer() && dt.Integer():
		if irnd != "" || frnd != "" {
			c.errorf("a cvt between integers does not round")
		}
		if sat {
			return func(x uint64) uint64 { return saturateInt(dt, at, x) }
		}
		return func(x uint64) uint64 { return extend(at, x) & mask(dt.Bits()) }
	case at.Integer():
		if frnd == "" {
			c.errorf("a cvt of an integer to a float needs .rn, .rz, .rm or .rp")
		}
		return func(x uint64) uint64 {
			v := intToFloat(dt, at, x, to)
			if sat {
				v = saturate(dt, v)
			}
			return v
		}
	case dt.Integer():
		if irnd == "" {
			c.errorf("a cvt of a float to an integer needs .rni, .rzi, .rmi or .rpi")
		}
		return func(x uint64) uint64 { return floatToInt(dt, at, x, to) }
	}
	return c.floatToFloat(dt, at, irnd != "", frnd != "", to, sat)
}

// floatToFloat widens, rounds to a smaller format, or rounds to an integral value.
func (c *compiler) floatToFloat(dt, at ptx.Type, integral, rounds bool, to rounding, sat bool) func(x uint64) uint64 {
	smaller := formats[dt].frac < formats[at].frac || formats[dt].exp < formats[at].exp
	switch {
	case integral && dt != at:
		c.errorf("a cvt that rounds to an integral value has one type")
	case smaller && !rounds:
		c.errorf("a cvt to a smaller float needs .rn, .rz, .rm or .rp")
	case dt == ptx.TF32 && at != ptx.F32:
		c.errorf("cvt to .tf32 is of .f32")
	}
	f := func(x uint64) uint64 {
		v := valueOf(at, x)
		if integral {
			v = roundIntegral(v, to)
		}
		r := formats[dt].round(v, to)
		if dt == ptx.TF32 {
			r = r << 13 // its bits are the upper ones of an f32
			if v != v {
				r = nan32
			}
		}
		return r
	}
	if sat {
		return func(x uint64) uint64 { return saturate(dt, f(x)) }
	}
	return f
}

// roundIntegral rounds to an integral value; zero keeps the sign.
func roundIntegral(v float64, to rounding) float64 {
	switch to {
	case towardZero:
		return math.Trunc(v)
	case downward:
		return math.Floor(v)
	case upward:
		return math.Ceil(v)
	}
	return math.RoundToEven(v)
}

// saturateInt is the value of x that is nearest in type dt.
func saturateInt(dt, at ptx.Type, x uint64) uint64 {
	v := extend(at, x)
	negative := at.Signed() && int64(v) < 0
	bits := dt.Bits()
	if dt.Signed() {
		most := mask(bits - 1)
		switch {
		case negative && int64(v) < -int64(most)-1:
			v = ^most
		case !negative && v > most:
			v = most
		}
	} else {
		switch {
		case negative:
			v = 0
		case v > mask(bits):
			v = mask(bits)
		}
	}
	return v & mask(bits)
}

// intToFloat rounds an integer once.
func intToFloat(dt, at ptx.Type, x uint64, to rounding) uint64 {
	v := extend(at, x)
	negative := at.Signed() && int64(v) < 0
	if negative {
		v = -v
		switch to { // of the magnitude
		case downward:
			to = upward
		case upward:
			to = downward
		}
	}
	// A magnitude of more than 53 bits is rounded to odd first; to f64 it is rounded here.
	var r uint64
	if v < 1<<53 || dt == ptx.F64 {
		r = formats[ptx.F64].roundUint(v, to)
	}
	if dt != ptx.F64 {
		f := float64(v)
		if v >= 1<<53 {
			shift := 0
			for v>>shift >= 1<<53 {
				shift++
			}
			q := v >> shift
			if q<<shift != v {
				q |= 1
			}
			f = math.Ldexp(float64(q), shift)
		}
		r = formats[dt].round(f, to)
	}
	if negative {
		r |= 1 << (dt.Bits() - 1)
	}
	return r
}

// roundUint is an integer as an f64.
func (f format) roundUint(v uint64, to rounding) uint64 {
	x := float64(v) // to nearest even
	if x == 0 || x >= 1<<64 || uint64(x) == v {
		if x >= 1<<64 && (to == towardZero || to == downward) {
			x = math.Nextafter(x, 0)
		}
		return math.Float64bits(x)
	}
	switch {
	case (to == towardZero || to == downward) && uint64(x) > v:
		x = math.Nextafter(x, 0)
	case to == upward && uint64(x) < v:
		x = math.Nextafter(x, math.Inf(1))
	}
	return math.Float64bits(x)
}

// floatToInt rounds and saturates. NaN gives 0, except that from f64 or to 64 bits it gives the most significant bit.
func floatToInt(dt, at ptx.Type, x uint64, to rounding) uint64 {
	v := valueOf(at, x)
	if v != v {
		if at == ptx.F64 || dt.Bits() == 64 {
			return 1 << (dt.Bits() - 1)
		}
		return 0
	}
	v = roundIntegral(v, to)
	bits := dt.Bits()
	if dt.Signed() {
		most := math.Ldexp(1, bits-1)
		switch {
		case v >= most:
			return mask(bits - 1)
		case v < -most:
			return 1 << (bits - 1)
		}
		return uint64(int64(v)) & mask(bits)
	}
	switch {
	case v >= math.Ldexp(1, bits):
		return mask(bits)
	case v <= 0:
		return 0
	}
	return uint64(v)
}
