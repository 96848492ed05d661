package ptxsim

import (
	"math/bits"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

var untyped = []ptx.Type{ptx.B16, ptx.B32, ptx.B64}

// logic is and, or and xor, of values and of predicates.
func (c *compiler) logic() {
	if c.has("pred") {
		c.operands(3)
		d := c.predicateDest(c.in.Operands[0])
		a, na := c.predicate(c.in.Operands[1])
		b, nb := c.predicate(c.in.Operands[2])
		op := c.in.Opcode
		c.o.Decides, c.o.PredicatesNegated = map[string]int{"and": -1, "or": 1}[op], [2]bool{na, nb}
		c.o.Run = func(w *machine.Warp, m uint32) {
			x, y := w.Pred(a, na), w.Pred(b, nb)
			switch op {
			case "and":
				x &= y
			case "or":
				x |= y
			default:
				x ^= y
			}
			w.SetPred(d, x, m)
		}
		return
	}
	t := c.dtype(untyped...)
	c.operands(3)
	d, a, b := c.dst(t), c.src(1, t), c.src(2, t)
	c.o.Operands = []int32{a, b}
	switch c.in.Opcode {
	case "and":
		c.o.Spread = machine.SpreadAnd
		c.o.Run = bin(d, a, b, func(x, y uint64) uint64 { return x & y })
	case "or":
		c.o.Spread = machine.SpreadOr
		c.o.Run = bin(d, a, b, func(x, y uint64) uint64 { return x | y })
	default:
		c.o.Spread = machine.SpreadBitwise
		c.o.Run = bin(d, a, b, func(x, y uint64) uint64 { return x ^ y })
	}
}

// not is not and cnot.
func (c *compiler) not() {
	if c.in.Opcode == "not" && c.has("pred") {
		c.operands(2)
		d := c.predicateDest(c.in.Operands[0])
		a, na := c.predicate(c.in.Operands[1])
		c.o.Run = func(w *machine.Warp, m uint32) { w.SetPred(d, ^w.Pred(a, na), m) }
		return
	}
	t := c.dtype(untyped...)
	if c.in.Opcode == "cnot" {
		c.unary(t, func(x uint64) uint64 { return boolean(x == 0) })
		return
	}
	m := mask(t.Bits())
	c.unary(t, func(x uint64) uint64 { return ^x & m })
	c.o.Spread = machine.SpreadBitwise
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// lop3 looks each bit of three values up in a table of 8 bits.
func (c *compiler) lop3() {
	t := c.dtype(ptx.B32)
	c.operands(5)
	table := c.in.Operands[4]
	if table.Kind != ptx.IntegerOperand || table.Bits > 255 {
		c.errorf("lop3 needs a table from 0 to 255")
	}
	d, x, y, z := c.dst(t), c.src(1, t), c.src(2, t), c.src(3, t)
	c.o.Spread = machine.SpreadBitwise
	c.o.Run = ter(d, x, y, z, func(x, y, z uint64) uint64 {
		var r uint64
		for i := range 8 {
			if table.Bits>>i&1 != 0 {
				r |= choose(x, i&4 != 0) & choose(y, i&2 != 0) & choose(z, i&1 != 0)
			}
		}
		return r & mask(32)
	})
}

func choose(x uint64, set bool) uint64 {
	if set {
		return x
	}
	return ^x
}

// shift is shl and shr: counts from the width on shift everything out.
func (c *compiler) shift() {
	var t ptx.Type
	if c.in.Opcode == "shl" {
		t = c.dtype(untyped...)
	} else {
		t = c.dtype(append(untyped, integers...)...)
	}
	c.operands(3)
	d, a, n := c.dst(t), c.src(1, t), c.src(2, ptx.U32)
	c.moves(t, a)
	m := mask(t.Bits())
	switch {
	case c.in.Opcode == "shl":
		c.o.Run = bin(d, a, n, func(x, y uint64) uint64 { return x << y & m })
	case t.Signed():
		c.o.Run = bin(d, a, n, func(x, y uint64) uint64 { return uint64(int64(extend(t, x))>>y) & m })
	default:
		c.o.Run = bin(d, a, n, func(x, y uint64) uint64 { return x >> y })
	}
}

// funnel is shf: 32 bits of a value of 64 that is shifted; a has the lower half and b the upper one.
func (c *compiler) funnel() {
	dir, mode := c.mod("l", "r"), c.mod("clamp", "wrap")
	if dir == "" || mode == "" {
		c.errorf("shf is .l or .r, .clamp or .wrap")
	}
	t := c.dtype(ptx.B32)
	c.operands(4)
	d, a, b, n := c.dst(t), c.src(1, t), c.src(2, t), c.src(3, ptx.U32)
	c.moves(t, a, b)
	c.o.Run = ter(d, a, b, n, func(x, y, n uint64) uint64 {
		if mode == "clamp" {
			n = min(n, 32)
		} else {
			n &= 31
		}
		v := y<<32 | x
		if dir == "l" {
			return v << n >> 32
		}
		return v >> n & mask(32)
	})
}

// bfe extracts a field: position and length are 8 bits. Beyond the value, it is filled with its sign.
func (c *compiler) bfe() {
	t := c.dtype(ptx.U32, ptx.U64, ptx.S32, ptx.S64)
	c.operands(4)
	d, a, pos, n := c.dst(t), c.src(1, t), c.src(2, ptx.U32), c.src(3, ptx.U32)
	c.moves(t, a)
	width := uint64(t.Bits())
	c.o.Run = ter(d, a, pos, n, func(x, pos, n uint64) uint64 {
		pos, n = pos&255, n&255
		var fill uint64
		if t.Signed() && n > 0 {
			fill = x >> min(pos+n-1, width-1) & 1
		}
		var v uint64
		for i := range width {
			bit := fill
			if i < n && pos+i < width {
				bit = x >> (pos + i) & 1
			}
			v |= bit << i
		}
		return v
	})
}

// bfi inserts the low bits of a into b.
func (c *compiler) bfi() {
	t := c.dtype(ptx.B32, ptx.B64)
	c.operands(5)
	d, a, b, pos, n := c.dst(t), c.src(1, t), c.src(2, t), c.src(3, ptx.U32), c.src(4, ptx.U32)
	c.moves(t, a, b)
	width := uint64(t.Bits())
	c.o.Run = func(w *machine.Warp, m uint32) {
		D, A, B, P, N := &w.Values[d], &w.Values[a], &w.Values[b], &w.Values[pos], &w.Values[n]
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			p, n := P[i]&255, N[i]&255
			var field uint64
			if p < width {
				field = mask(int(min(n, width-p))) << p
			}
			D[i] = B[i]&^field | A[i]<<(p&63)&field
		}
	}
}

// prmt picks four bytes out of eight.
func (c *compiler) prmt() {
	t := c.dtype(ptx.B32)
	mode := c.mod("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
	c.operands(4)
	d, a, b, s := c.dst(t), c.src(1, t), c.src(2, t), c.src(3, t)
	c.moves(t, a, b)
	c.o.Run = ter(d, a, b, s, func(x, y, sel uint64) uint64 {
		v := y<<32 | x
		var r uint64
		for i := range uint64(4) {
			k := sel & 3 // of the modes
			sign := false
			switch mode {
			case "":
				k = sel >> (4 * i) & 15
				sign = k&8 != 0
				k &= 7
			case "f4e":
				k += i
			case "b4e":
				k = (k - i) & 7
			case "rc8":
			case "ecl":
				k = max(k, i)
			case "ecr":
				k = min(k, i)
			case "rc16":
				k = sel&2 + i&1
			}
			by := v >> (8 * k) & 255
			if sign {
				by = -(by >> 7) & 255
			}
			r |= by << (8 * i)
		}
		return r
	})
}

// szext extends the low n bits of a value, with its sign or zeros.
func (c *compiler) szext() {
	mode := c.mod("clamp", "wrap")
	if mode == "" {
		c.errorf("szext is .clamp or .wrap")
	}
	t := c.dtype(ptx.U32, ptx.S32)
	c.operands(3)
	d, a, n := c.dst(t), c.src(1, t), c.src(2, ptx.U32)
	c.o.Run = bin(d, a, n, func(x, n uint64) uint64 {
		if mode == "wrap" {
			n &= 31
		}
		if n >= 32 {
			return x
		}
		if n == 0 {
			return 0
		}
		x &= mask(int(n))
		if t == ptx.S32 && x>>(n-1) != 0 {
			x |= ^mask(int(n))
		}
		return x & mask(32)
	})
}

// bmsk makes a mask of n ones from a position on.
func (c *compiler) bmsk() {
	mode := c.mod("clamp", "wrap")
	if mode == "" {
		c.errorf("bmsk is .clamp or .wrap")
	}
	t := c.dtype(ptx.B32)
	c.binary(t, func(pos, n uint64) uint64 {
		if mode == "wrap" {
			pos, n = pos&31, n&31
		}
		if pos >= 32 {
			return 0
		}
		return mask(int(min(n, 32))) << pos & mask(32)
	})
}

// count is popc and clz, whose results have 32 bits.
func (c *compiler) count() {
	t := c.dtype(ptx.B32, ptx.B64)
	c.operands(2)
	d, a := c.dst(ptx.U32), c.src(1, t)
	if c.in.Opcode == "popc" {
		c.o.Run = un(d, a, func(x uint64) uint64 { return uint64(bits.OnesCount64(x)) })
		return
	}
	less := 64 - t.Bits()
	c.o.Run = un(d, a, func(x uint64) uint64 { return uint64(bits.LeadingZeros64(x) - less) })
}

func (c *compiler) brev() {
	t := c.dtype(ptx.B32, ptx.B64)
	shift := 64 - t.Bits()
	c.unary(t, func(x uint64) uint64 { return bits.Reverse64(x) >> shift })
}

// bfind finds the most significant bit that is not the sign; -1 if there is none.
func (c *compiler) bfind() {
	amount := c.has("shiftamt")
	t := c.dtype(ptx.U32, ptx.U64, ptx.S32, ptx.S64)
	c.operands(2)
	d, a := c.dst(ptx.U32), c.src(1, t)
	c.o.Run = un(d, a, func(x uint64) uint64 {
		if t.Signed() && int64(extend(t, x)) < 0 {
			x = ^x & mask(t.Bits())
		}
		n := bits.Len64(x) - 1
		if n < 0 {
			return mask(32)
		}
		if amount {
			n = t.Bits() - 1 - n
		}
		return uint64(n)
	})
}
