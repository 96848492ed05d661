package ptxsim

import "math"

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
	all := []dtype{u8, u16, u32, u64, s8, s16, s32, s64, f16, bf16, f32, f64}
	dt := c.dtype(append(all, f16x2, bf16x2, tf32)...)
	at := c.dtype(all...)
	if satfinite {
		c.errorf("cvt.satfinite is not supported")
	}
	if dt == f16x2 || dt == bf16x2 {
		c.cvtPair(dt, at, frnd, relu)
		return
	}
	c.operands(2)
	d, a := c.dest(c.in.args[0], dt, true), c.source(c.in.args[1], at, true)
	width := c.width(c.in.args[0])
	f := c.conversion(dt, at, irnd, frnd, sat)
	if at.integer() && dt.integer() && !sat {
		c.moves(at, a)
		c.o.run = resize(d, a, dt, at, width)
		return
	}
	if relu {
		if !dt.float() && dt != tf32 || at != f32 {
			c.errorf("cvt.relu is of f32 to a smaller float")
		}
		f = clamp(dt, f)
	}
	in, out := mask(at.bits()), mask(width)
	if dt.signed() {
		c.o.run = un(d, a, func(x uint64) uint64 { return dt.extend(f(x&in)) & out })
		return
	}
	if dt.bits() == width && at.bits() == 64 {
		c.o.run = un(d, a, f)
		return
	}
	c.o.run = un(d, a, func(x uint64) uint64 { return f(x & in) })
}

// resize is a cvt between integers, into a register of some width: sign bits go on from the narrower type where that is
// signed.
func resize(d, a int32, dt, at dtype, width int) step {
	from, out := at, dt.bits()
	if dt.bits() <= at.bits() {
		from = dt
	}
	if dt.signed() {
		out = width
	}
	keep := mask(out)
	if !from.signed() {
		keep &= mask(from.bits())
		return func(w *warp, m uint32) {
			D, A := &w.vals[d], &w.vals[a]
			if m == ^uint32(0) {
				for i := range D {
					D[i] = A[i] & keep
				}
				return
			}
			for ; m != 0; m &= m - 1 {
				i := lane(m)
				D[i] = A[i] & keep
			}
		}
	}
	shift := 64 - from.bits()
	return un(d, a, func(x uint64) uint64 { return uint64(int64(x<<shift)>>shift) & keep })
}

// clamp makes negative results 0, as .relu says; NaN stays.
func clamp(t dtype, f func(x uint64) uint64) func(x uint64) uint64 {
	return func(x uint64) uint64 {
		v := f(x)
		if t.value(v) < 0 {
			return 0
		}
		return v &^ (1 << (t.bits() - 1) * boolean(t.value(v) == 0))
	}
}

// cvtPair is cvt.rn.f16x2.f32 d, a, b: a in the upper half.
func (c *compiler) cvtPair(dt, at dtype, frnd string, relu bool) {
	if at != f32 || frnd != "rn" && frnd != "rz" {
		c.errorf("cvt to .%s is of two .f32, with .rn or .rz", dt)
	}
	e := element(dt)
	f := c.conversion(e, at, "", frnd, false)
	if relu {
		f = clamp(e, f)
	}
	c.operands(3)
	d, a, b := c.dst(dt), c.src(1, at), c.src(2, at)
	c.o.run = bin(d, a, b, func(x, y uint64) uint64 { return f(x)<<16 | f(y) })
}

// conversion is the function of a cvt. Its argument has the width of at, and its result that of dt.
func (c *compiler) conversion(dt, at dtype, irnd, frnd string, sat bool) func(x uint64) uint64 {
	to := toNearest
	switch frnd + irnd {
	case "rz", "rzi":
		to = towardZero
	case "rm", "rmi":
		to = downward
	case "rp", "rpi":
		to = upward
	case "rna":
		if dt != tf32 {
			c.errorf("cvt.rna is to .tf32")
		}
		to = nearestAway
	}
	switch {
	case at.integer() && dt.integer():
		if irnd != "" || frnd != "" {
			c.errorf("a cvt between integers does not round")
		}
		if sat {
			return func(x uint64) uint64 { return saturateInt(dt, at, x) }
		}
		return func(x uint64) uint64 { return at.extend(x) & mask(dt.bits()) }
	case at.integer():
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
	case dt.integer():
		if irnd == "" {
			c.errorf("a cvt of a float to an integer needs .rni, .rzi, .rmi or .rpi")
		}
		return func(x uint64) uint64 { return floatToInt(dt, at, x, to) }
	}
	return c.floatToFloat(dt, at, irnd != "", frnd != "", to, sat)
}

// floatToFloat widens, rounds to a smaller format, or rounds to an integral value.
func (c *compiler) floatToFloat(dt, at dtype, integral, rounds bool, to rounding, sat bool) func(x uint64) uint64 {
	smaller := formats[dt].frac < formats[at].frac || formats[dt].exp < formats[at].exp
	switch {
	case integral && dt != at:
		c.errorf("a cvt that rounds to an integral value has one type")
	case smaller && !rounds:
		c.errorf("a cvt to a smaller float needs .rn, .rz, .rm or .rp")
	case dt == tf32 && at != f32:
		c.errorf("cvt to .tf32 is of .f32")
	}
	f := func(x uint64) uint64 {
		v := at.value(x)
		if integral {
			v = roundIntegral(v, to)
		}
		r := formats[dt].round(v, to)
		if dt == tf32 {
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
func saturateInt(dt, at dtype, x uint64) uint64 {
	v := at.extend(x)
	negative := at.signed() && int64(v) < 0
	bits := dt.bits()
	if dt.signed() {
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
func intToFloat(dt, at dtype, x uint64, to rounding) uint64 {
	v := at.extend(x)
	negative := at.signed() && int64(v) < 0
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
	if v < 1<<53 || dt == f64 {
		r = formats[f64].roundUint(v, to)
	}
	if dt != f64 {
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
		r |= 1 << (dt.bits() - 1)
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
func floatToInt(dt, at dtype, x uint64, to rounding) uint64 {
	v := at.value(x)
	if v != v {
		if at == f64 || dt.bits() == 64 {
			return 1 << (dt.bits() - 1)
		}
		return 0
	}
	v = roundIntegral(v, to)
	bits := dt.bits()
	if dt.signed() {
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
