package ptxsim

// atom is atom and red: read, change and write in one step.
func (c *compiler) atom() {
	a := access{atomic: true, write: true, read: true}
	for c.mod("relaxed", "acquire", "release", "acq_rel", "sc", "cta", "gpu", "sys", "cluster") != "" {
	}
	a.space = spaces[c.mod("global", "shared")]
	if a.space == generic && c.mod("shared::cta") != "" {
		a.space = shared
	}
	for c.mod("cta", "gpu", "sys", "cluster") != "" {
	}
	op := c.mod("and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max")
	if op == "" {
		c.errorf("%s needs an operation", c.in.op)
	}
	noftz := c.has("noftz")
	t := c.dtype(b16, b32, b64, u32, u64, s32, s64, f16, f16x2, bf16, bf16x2, f32, f64)
	f := c.change(op, t, noftz)
	a.bytes = t.bytes()
	c.o.effect, c.o.loads = true, true

	// atom has a destination before the address; cas has a value to compare with before the new one
	args := c.in.args
	d := int32(-1)
	n := 2
	if op == "cas" {
		n++
	}
	if c.in.op == "atom" {
		n++
	}
	c.operands(n)
	if c.in.op == "atom" {
		if args[0].kind != argAny {
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
	size := t.bytes()
	c.o.run = func(w *warp, m uint32) {
		addrs, X, Y := w.vals[p], w.vals[x], w.vals[y]
		var r *region
		for ; m != 0; m &= m - 1 {
			i := lane(m)
			var off int
			r, off = w.find(&a, addrs[i]+add, i, r)
			w.lock(r)
			w.check(&a, r, off, i)
			old := load(r.data[off:], size)
			store(r.data[off:], size, f(old, X[i], Y[i]))
			w.unlock()
			if d >= 0 {
				w.vals[d][i] = old
			}
		}
	}
}

// change is what an atomic operation stores, of the old value and the operands.
func (c *compiler) change(op string, t dtype, noftz bool) func(old, x, y uint64) uint64 {
	m := mask(t.bits())
	bad := func() { c.errorf("%s.%s.%s does not exist or is not supported", c.in.op, op, t) }
	switch op {
	case "and", "or", "xor":
		if t != b32 && t != b64 {
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
		if !t.untyped() {
			bad()
		}
		return func(old, x, y uint64) uint64 {
			if old == x {
				return y
			}
			return old
		}
	case "exch":
		if t != b32 && t != b64 {
			bad()
		}
		return func(_, x, _ uint64) uint64 { return x }
	case "inc", "dec":
		if t != u32 {
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
		if !t.integer() {
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
	case t.integer():
		return func(old, x, _ uint64) uint64 { return (old + x) & m }
	case t == f32 && !noftz:
		return func(old, x, _ uint64) uint64 { return of32(f32of(old) + f32of(x)) }
	case t == f64 && !noftz:
		return func(old, x, _ uint64) uint64 { return of64(f64of(old) + f64of(x)) }
	case e.bits() == 16 && e.float() && noftz:
		f := func(x, y, _ uint64) uint64 { return sum(e, toNearest, e.value(x), e.value(y)) }
		if e != t {
			f = halves(f)
		}
		return f
	}
	bad()
	return nil
}
