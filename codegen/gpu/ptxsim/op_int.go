package ptxsim

import (
	"math/bits"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

var integers = []ptx.Type{ptx.U16, ptx.U32, ptx.U64, ptx.S16, ptx.S32, ptx.S64}

// isFloat says whether the last modifier is a float type: add, mul and their like are two instructions by one name.
func (c *compiler) isFloat() bool {
	if len(c.mods) == 0 {
		return false
	}
	switch c.mods[len(c.mods)-1] {
	case "f16", "f16x2", "bf16", "bf16x2", "f32", "f64":
		return true
	}
	return false
}

// add is add and sub.
func (c *compiler) add() {
	if c.isFloat() {
		c.addFloat()
		return
	}
	if len(c.mods) > 0 && c.mods[0] == "cc" {
		c.carry()
		return
	}
	sat := c.has("sat")
	t := c.dtype(append(integers, ptx.B32, ptx.B64, ptx.U16x2, ptx.S16x2)...) // LLVM writes add.b64, too
	if t == ptx.U16x2 || t == ptx.S16x2 {
		if c.in.Opcode == "sub" || sat {
			c.errorf("%s.%s does not exist", c.in.Opcode, t)
		}
		f := halves(func(x, y, _ uint64) uint64 { return (x + y) & 0xffff })
		c.binary(t, func(x, y uint64) uint64 { return f(x, y, 0) })
		c.o.Spread = machine.SpreadHalves
		return
	}
	if sat {
		c.saturated(t)
		return
	}
	m := mask(t.Bits())
	c.o.Spread = machine.SpreadUp
	if c.in.Opcode == "sub" {
		c.binary(t, func(x, y uint64) uint64 { return (x - y) & m })
		return
	}
	c.binary(t, func(x, y uint64) uint64 { return (x + y) & m })
}

// saturated is add.sat.s32 and sub.sat.s32.
func (c *compiler) saturated(t ptx.Type) {
	if t != ptx.S32 {
		c.errorf("%s.sat has type .s32", c.in.Opcode)
	}
	minus := c.in.Opcode == "sub"
	c.binary(t, func(x, y uint64) uint64 {
		a, b := int64(int32(x)), int64(int32(y))
		if minus {
			b = -b
		}
		return uint64(uint32(min(max(a+b, -1<<31), 1<<31-1)))
	})
}

// carry is add.cc, addc, sub.cc and subc. The carry flag of a subtraction is its borrow.
func (c *compiler) carry() {
	with := c.in.Opcode == "addc" || c.in.Opcode == "subc"
	sets := c.has("cc")
	t := c.dtype(ptx.U32, ptx.S32, ptx.U64, ptx.S64, ptx.B32, ptx.B64)
	c.operands(3)
	d, a, b := c.dst(t), c.src(1, t), c.src(2, t)
	minus := c.in.Opcode == "sub" || c.in.Opcode == "subc"
	shift := 64 - t.Bits()
	c.o.Run = func(w *machine.Warp, m uint32) {
		D, A, B := &w.Values[d], &w.Values[a], &w.Values[b]
		in, out := w.Carry(), uint32(0)
		for x := m; x != 0; x &= x - 1 {
			i := machine.FirstLane(x)
			var k uint64
			if with {
				k = uint64(in >> i & 1)
			}
			// The values stand in the upper bits, so that carries come out of bit 63; ones below carry a carry in.
			var s, o uint64
			if minus {
				s, o = bits.Sub64(A[i]<<shift, B[i]<<shift, 0)
				var o2 uint64
				s, o2 = bits.Sub64(s, k<<shift, 0)
				o |= o2
			} else {
				s, o = bits.Add64(A[i]<<shift, B[i]<<shift, 0)
				var o2 uint64
				s, o2 = bits.Add64(s, k<<shift, 0)
				o |= o2
			}
			D[i] = s >> shift
			out |= uint32(o) << i
		}
		if sets {
			w.SetCarry(in&^m | out)
		}
	}
}

// mulHigh is the upper half of a product of values of type t.
func mulHigh(t ptx.Type, x, y uint64) uint64 {
	if t.Bits() < 64 {
		return extend(t, x) * extend(t, y) >> t.Bits() & mask(t.Bits())
	}
	hi, _ := bits.Mul64(x, y)
	if t == ptx.S64 {
		// of signed values: less what the signs contribute as if they were positive
		hi -= uint64(int64(x)>>63)&y + uint64(int64(y)>>63)&x
	}
	return hi
}

// wide is the type of twice the width.
func wide(t ptx.Type) ptx.Type {
	switch t {
	case ptx.U16:
		return ptx.U32
	case ptx.S16:
		return ptx.S32
	case ptx.U32:
		return ptx.U64
	}
	return ptx.S64
}

func (c *compiler) mul() {
	if c.isFloat() {
		c.mulFloat()
		return
	}
	part := c.mod("lo", "hi", "wide")
	switch part {
	case "lo":
		t := c.dtype(append(integers, ptx.B32, ptx.B64, ptx.B16)...)
		m := mask(t.Bits())
		c.binary(t, func(x, y uint64) uint64 { return x * y & m })
		c.o.Spread = machine.SpreadUp
	case "hi":
		t := c.dtype(integers...)
		c.binary(t, func(x, y uint64) uint64 { return mulHigh(t, x, y) })
	case "wide":
		t := c.dtype(ptx.U16, ptx.S16, ptx.U32, ptx.S32)
		c.operands(3)
		d, a, b := c.dst(wide(t)), c.src(1, t), c.src(2, t)
		m := mask(2 * t.Bits())
		c.o.Run = bin(d, a, b, func(x, y uint64) uint64 { return extend(t, x) * extend(t, y) & m })
	default:
		c.errorf("mul of integers is .lo, .hi or .wide")
	}
}

// mad is mad and madc, with or without .cc, of integers; mad of floats is fma.
func (c *compiler) mad() {
	if c.isFloat() {
		c.fma()
		return
	}
	part := c.mod("lo", "hi", "wide")
	sat := part == "hi" && c.has("sat")
	sets := c.has("cc")
	switch {
	case part == "":
		c.errorf("%s of integers is .lo, .hi or .wide", c.in.Opcode)
	case part == "wide":
		if c.in.Opcode == "madc" || sets {
			c.errorf("%s.wide has no carry", c.in.Opcode)
		}
		t := c.dtype(ptx.U16, ptx.S16, ptx.U32, ptx.S32)
		c.operands(4)
		d, x, y, z := c.dst(wide(t)), c.src(1, t), c.src(2, t), c.src(3, wide(t))
		m := mask(2 * t.Bits())
		c.o.Run = ter(d, x, y, z, func(x, y, z uint64) uint64 { return (extend(t, x)*extend(t, y) + z) & m })
		return
	}
	t := c.dtype(integers...)
	product := func(x, y uint64) uint64 { return x * y & mask(t.Bits()) }
	if part == "hi" {
		product = func(x, y uint64) uint64 { return mulHigh(t, x, y) }
	}
	m := mask(t.Bits())
	if c.in.Opcode == "mad" && !sets {
		if sat {
			if t != ptx.S32 {
				c.errorf("mad.hi.sat has type .s32")
			}
			c.ternary(t, func(x, y, z uint64) uint64 {
				v := int64(int32(product(x, y))) + int64(int32(z))
				return uint64(uint32(min(max(v, -1<<31), 1<<31-1)))
			})
			return
		}
		if part == "lo" {
			c.ternary(t, func(x, y, z uint64) uint64 { return (x*y + z) & m })
			c.o.Spread = machine.SpreadUp
			return
		}
		c.ternary(t, func(x, y, z uint64) uint64 { return (product(x, y) + z) & m })
		return
	}
	if t.Bits() == 16 {
		c.errorf("%s with a carry has 32 or 64 bits", c.in.Opcode)
	}
	c.operands(4)
	d, x, y, z := c.dst(t), c.src(1, t), c.src(2, t), c.src(3, t)
	with := c.in.Opcode == "madc"
	shift := 64 - t.Bits()
	c.o.Run = func(w *machine.Warp, m uint32) {
		D, X, Y, Z := &w.Values[d], &w.Values[x], &w.Values[y], &w.Values[z]
		in, out := w.Carry(), uint32(0)
		for r := m; r != 0; r &= r - 1 {
			i := machine.FirstLane(r)
			s, o := bits.Add64(product(X[i], Y[i])<<shift, Z[i]<<shift, 0)
			if with {
				var o2 uint64
				s, o2 = bits.Add64(s, uint64(in>>i&1)<<shift, 0)
				o |= o2
			}
			D[i] = s >> shift
			out |= uint32(o) << i
		}
		if sets {
			w.SetCarry(in&^m | out)
		}
	}
}

// mul24 is mul24 and mad24: products of the low 24 bits.
func (c *compiler) mul24() {
	part := c.mod("lo", "hi")
	if part == "" {
		c.errorf("%s is .lo or .hi", c.in.Opcode)
	}
	t := c.dtype(ptx.U32, ptx.S32)
	product := func(x, y uint64) uint64 {
		x, y = x&(1<<24-1), y&(1<<24-1)
		if t == ptx.S32 {
			x, y = uint64(int64(x<<40)>>40), uint64(int64(y<<40)>>40)
		}
		p := x * y
		if part == "hi" {
			p >>= 16 // bits 47 to 16
		}
		return p & mask(32)
	}
	if c.in.Opcode == "mul24" {
		c.binary(t, product)
		return
	}
	c.ternary(t, func(x, y, z uint64) uint64 { return (product(x, y) + z) & mask(32) })
}

// divide gives the quotient and remainder of two values; the divisor is not zero.
func divide(t ptx.Type, x, y uint64) (q, r uint64) {
	if !t.Signed() {
		return x / y, x % y
	}
	a, b := int64(extend(t, x)), int64(extend(t, y))
	if b == -1 { // the smallest number wraps
		return uint64(-a) & mask(t.Bits()), 0
	}
	return uint64(a/b) & mask(t.Bits()), uint64(a%b) & mask(t.Bits())
}

func (c *compiler) div() {
	if c.isFloat() {
		c.divFloat()
		return
	}
	c.quotient(func(q, r uint64) uint64 { return q })
}

func (c *compiler) rem() { c.quotient(func(q, r uint64) uint64 { return r }) }

func (c *compiler) quotient(pick func(q, r uint64) uint64) {
	t := c.dtype(integers...)
	c.operands(3)
	d, a, b := c.dst(t), c.src(1, t), c.src(2, t)
	c.o.Run = func(w *machine.Warp, m uint32) {
		D, A, B, zero := &w.Values[d], &w.Values[a], &w.Values[b], uint32(0)
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			if B[i] == 0 {
				zero |= 1 << i
				continue
			}
			D[i] = pick(divide(t, A[i], B[i]))
		}
		if zero != 0 {
			w.Undefine(d, zero)
		}
	}
}

// sad is c + |a - b|.
func (c *compiler) sad() {
	t := c.dtype(integers...)
	m := mask(t.Bits())
	c.ternary(t, func(x, y, z uint64) uint64 {
		if less(t, x, y) {
			x, y = y, x
		}
		return (z + x - y) & m
	})
}

// less compares two integers of type t.
func less(t ptx.Type, x, y uint64) bool {
	if t.Signed() {
		return int64(extend(t, x)) < int64(extend(t, y))
	}
	return x < y
}

// minMax is min and max of integers and of floats.
func (c *compiler) minMax() {
	if c.isFloat() {
		c.minMaxFloat()
		return
	}
	relu := c.has("relu")
	t := c.dtype(append(integers, ptx.U16x2, ptx.S16x2)...)
	relu = relu || c.has("relu") // behind .s16x2
	if relu && t != ptx.S32 && t != ptx.S16x2 {
		c.errorf("%s.relu has type .s32 or .s16x2", c.in.Opcode)
	}
	isMin, e := c.in.Opcode == "min", element(t)
	f := func(x, y, _ uint64) uint64 {
		if less(e, y, x) == isMin {
			x = y
		}
		if relu && int64(extend(e, x)) < 0 {
			return 0
		}
		return x
	}
	if e != t {
		f, c.o.Spread = halves(f), machine.SpreadHalves
	}
	c.binary(t, func(x, y uint64) uint64 { return f(x, y, 0) })
}

func (c *compiler) abs() {
	if c.isFloat() {
		c.signBit(func(v, sign uint64) uint64 { return v &^ sign })
		return
	}
	t := c.dtype(ptx.S16, ptx.S32, ptx.S64)
	c.unary(t, func(x uint64) uint64 {
		if int64(extend(t, x)) < 0 {
			x = -x
		}
		return x & mask(t.Bits())
	})
}

func (c *compiler) neg() {
	if c.isFloat() {
		c.signBit(func(v, sign uint64) uint64 { return v ^ sign })
		return
	}
	t := c.dtype(ptx.S16, ptx.S32, ptx.S64)
	m := mask(t.Bits())
	c.unary(t, func(x uint64) uint64 { return -x & m })
}

// dp is dp4a and dp2a: products of bytes, added.
func (c *compiler) dp() {
	part := ""
	if c.in.Opcode == "dp2a" {
		if part = c.mod("lo", "hi"); part == "" {
			c.errorf("dp2a is .lo or .hi")
		}
	}
	at, bt := c.dtype(ptx.U32, ptx.S32), c.dtype(ptx.U32, ptx.S32)
	c.operands(4)
	d, a, b, z := c.dst(ptx.U32), c.src(1, at), c.src(2, bt), c.src(3, ptx.U32)
	part8 := func(t ptx.Type, v uint64, i int) uint64 {
		if t == ptx.S32 {
			return extend(ptx.S8, v>>(8*i))
		}
		return extend(ptx.U8, v>>(8*i))
	}
	c.o.Run = ter(d, a, b, z, func(x, y, z uint64) uint64 {
		if c2 := part; c2 == "" {
			for i := range 4 {
				z += part8(at, x, i) * part8(bt, y, i)
			}
			return z & mask(32)
		}
		for i := range 2 {
			h := extend(ptx.U16, x>>(16*i))
			if at == ptx.S32 {
				h = extend(ptx.S16, x>>(16*i))
			}
			k := i
			if part == "hi" {
				k += 2
			}
			z += h * part8(bt, y, k)
		}
		return z & mask(32)
	})
}
