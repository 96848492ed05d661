package ptxsim

import (
	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// atom is atom and red: read, change and write in one step.
func (c *compiler) atom() {
	a := machine.Access{Atomic: true, Write: true, Read: true}
	for c.mod("relaxed", "acquire", "release", "acq_rel", "sc", "cta", "gpu", "sys", "cluster") != "" {
	}
	a.Space, _ = ptx.SpaceNamed(c.mod("global", "shared"))
	if a.Space == ptx.Generic && c.mod("shared::cta") != "" {
		a.Space = ptx.Shared
	}
	for c.mod("cta", "gpu", "sys", "cluster") != "" {
	}
	op := c.mod("and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max")
	if op == "" {
		c.errorf("%s needs an operation", c.in.Opcode)
	}
	noftz := c.has("noftz")
	t := c.dtype(ptx.B16, ptx.B32, ptx.B64, ptx.U32, ptx.U64, ptx.S32, ptx.S64, ptx.F16, ptx.F16x2, ptx.BF16,
		ptx.BF16x2, ptx.F32, ptx.F64)
	f := c.change(op, t, noftz)
	a.Bytes = t.Bytes()
	c.o.Effect, c.o.Loads = true, true

	// atom has a destination before the address; cas has a value to compare with before the new one
	args := c.in.Operands
	d := int32(-1)
	n := 2
	if op == "cas" {
		n++
	}
	if c.in.Opcode == "atom" {
		n++
	}
	c.operands(n)
	if c.in.Opcode == "atom" {
		if args[0].Kind != ptx.SinkOperand {
			d = c.dest(args[0], untypedOf(t), false)
		}
		args = args[1:]
	} else if op == "cas" || op == "exch" {
		c.errorf("red.%s does not exist", op)
	}
	p, add := c.address(args[0])
	x := c.source(args[1], t, false)
	y := x
	if op == "cas" {
		y = c.source(args[2], t, false)
	}
	size := t.Bytes()
	c.o.Run = func(w *machine.Warp, m uint32) {
		addrs, X, Y := w.Values[p], w.Values[x], w.Values[y]
		var r *machine.Region
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			var off int
			r, off = w.Access(&a, addrs[i]+add, i, r)
			old := machine.Load(r.Data[off:], size)
			machine.Store(r.Data[off:], size, f(old, X[i], Y[i]))
			w.Unlock()
			if d >= 0 {
				w.Values[d][i] = old
			}
		}
	}
}

// change is what an atomic operation stores, of the old value and the operands.
func (c *compiler) change(op string, t ptx.Type, noftz bool) func(old, x, y uint64) uint64 {
	m := mask(t.Bits())
	bad := func() { c.errorf("%s.%s.%s does not exist or is not supported", c.in.Opcode, op, t) }
	switch op {
	case "and", "or", "xor":
		if t != ptx.B32 && t != ptx.B64 {
			bad()
		}
		switch op {
		case "and":
			return func(old, x, _ uint64) uint64 { return old & x }
		case "or":
			return func(old, x, _ uint64) uint64 { return old | x }
		}
		return func(old, x, _ uint64) uint64 { return old ^ x }
	case "cas":
		if !t.Untyped() {
			bad()
		}
		return func(old, x, y uint64) uint64 {
			if old == x {
				return y
			}
			return old
		}
	case "exch":
		if t != ptx.B32 && t != ptx.B64 {
			bad()
		}
		return func(_, x, _ uint64) uint64 { return x }
	case "inc", "dec":
		if t != ptx.U32 {
			bad()
		}
		if op == "inc" {
			return func(old, x, _ uint64) uint64 {
				if old >= x {
					return 0
				}
				return old + 1
			}
		}
		return func(old, x, _ uint64) uint64 {
			if old == 0 || old > x {
				return x
			}
			return old - 1
		}
	case "min", "max":
		if !t.Integer() {
			bad()
		}
		isMin := op == "min"
		return func(old, x, _ uint64) uint64 {
			if less(t, x, old) == isMin && x != old {
				return x
			}
			return old
		}
	}
	e := element(t)
	switch {
	case t.Integer():
		return func(old, x, _ uint64) uint64 { return (old + x) & m }
	case t == ptx.F32 && !noftz:
		return func(old, x, _ uint64) uint64 { return of32(f32of(old) + f32of(x)) }
	case t == ptx.F64 && !noftz:
		return func(old, x, _ uint64) uint64 { return of64(f64of(old) + f64of(x)) }
	case e.Bits() == 16 && e.Float() && noftz:
		f := func(x, y, _ uint64) uint64 { return sum(e, toNearest, valueOf(e, x), valueOf(e, y)) }
		if e != t {
			f = halves(f)
		}
		return f
	}
	bad()
	return nil
}
