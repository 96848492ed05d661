package ptxsim

import "math/bits"

// mov copies a value, packs several into one, or unpacks one.
func (c *compiler) mov() {
	if c.has("pred") {
		c.operands(2)
		d := c.predicateDest(c.in.args[0])
		a, na := c.predicate(c.in.args[1])
		c.o.run = func(w *warp, m uint32) { w.setPred(d, w.pred(a, na), m) }
		return
	}
	t := c.dtype(b16, b32, b64, b128, u16, u32, u64, s16, s32, s64, f16, bf16, f16x2, bf16x2, f32, f64)
	c.operands(2)
	d, a := c.in.args[0], c.in.args[1]
	switch {
	case t == b128:
		c.errorf("mov.b128 is not supported")
	case a.kind == argVector:
		c.pack(t, a)
	case d.kind == argVector:
		c.unpack(t, d)
	default:
		if a.kind == argInt && t.float() {
			t = untyped[bits.Len(uint(t.bits()/32))]
		}
		c.moved(t)
	}
}

func (c *compiler) moved(t dtype) {
	d, a := c.dest(c.in.args[0], t, false), c.source(c.in.args[1], t, false)
	c.moves(t, a)
	c.o.run = func(w *warp, m uint32) {
		D, A := &w.vals[d], &w.vals[a]
		if m == ^uint32(0) {
			*D = *A
			return
		}
		for ; m != 0; m &= m - 1 {
			i := lane(m)
			D[i] = A[i]
		}
	}
}

// part is the type of one of n equal parts of a value.
func (c *compiler) part(t dtype, n int) dtype {
	if n >= 2 {
		switch t.bits() / n {
		case 8:
			c.errorf("parts of 8 bits are not supported")
		case 16:
			return b16
		case 32:
			return b32
		}
	}
	c.errorf("a value of type .%s does not have %d parts", t, n)
	return noType
}

func (c *compiler) pack(t dtype, a operand) {
	e := c.part(t, len(a.list))
	d := c.dst(t)
	var src []int32
	for _, x := range a.list {
		src = append(src, c.source(x, e, false))
	}
	c.moves(e, src...)
	c.o.run = func(w *warp, m uint32) {
		each(m, func(i int) {
			var v uint64
			for j, s := range src {
				v |= w.vals[s][i] << (j * e.bits())
			}
			w.vals[d][i] = v
		})
	}
}

func (c *compiler) unpack(t dtype, d operand) {
	e := c.part(t, len(d.list))
	a := c.src(1, t)
	var dst []int32
	for _, x := range d.list {
		if x.kind == argAny {
			dst = append(dst, -1)
		} else {
			dst = append(dst, c.dest(x, e, false))
		}
	}
	c.moves(t, a)
	keep := mask(e.bits())
	c.o.run = func(w *warp, m uint32) {
		A := w.vals[a] // a part may be the register itself
		for j, s := range dst {
			if s < 0 {
				continue
			}
			D, shift := &w.vals[s], j*e.bits()
			for m := m; m != 0; m &= m - 1 {
				i := lane(m)
				D[i] = A[i] >> shift & keep
			}
		}
	}
}

// cvta converts addresses between a state space and generic ones.
func (c *compiler) cvta() {
	to := c.has("to")
	s := spaces[c.mod("global", "shared", "local", "const", "param")]
	if s == generic {
		c.errorf("cvta needs a state space")
	}
	if s == param {
		c.errorf("generic addresses of parameters are not supported")
	}
	t := c.dtype(u32, u64)
	if t != u64 {
		c.errorf("generic addresses have 64 bits")
	}
	c.operands(2)
	d, a := c.dst(t), c.src(1, t)
	var base uint64
	switch s {
	case shared:
		base = sharedWindow
	case local:
		base = localWindow
	}
	if to {
		base = -base
	}
	c.o.run = un(d, a, func(x uint64) uint64 { return x + base })
}

// isspacep says whether a generic address is in a state space.
func (c *compiler) isspacep() {
	s := spaces[c.mod("global", "shared", "local", "const")]
	if s == generic {
		c.errorf("isspacep needs a state space")
	}
	c.operands(2)
	d, a := c.predicateDest(c.in.args[0]), c.src(1, u64)
	c.o.run = func(w *warp, m uint32) {
		A, p := &w.vals[a], uint32(0)
		each(m, func(i int) {
			in := false
			switch x := A[i]; s {
			case shared:
				in = x-sharedWindow < windowSize
			case local:
				in = x-localWindow < windowSize
			case global:
				in = x >= globalBase
			}
			if s == constant {
				k := search(w.block.dev.regions, A[i])
				in = k >= 0 && w.block.dev.regions[k].readOnly
			}
			if in {
				p |= 1 << i
			}
		})
		w.setPred(d, p, m)
	}
}

// special is what fills a special register, or nil.
func special(name string) func(w *warp, v *lanes) { return specials[name] }

var specials = map[string]func(w *warp, v *lanes){
	"%laneid":      func(w *warp, v *lanes) { v.number(func(i int) uint64 { return uint64(i) }) },
	"%warpid":      func(w *warp, v *lanes) { fillLanes(v, uint64(w.index)) },
	"%nwarpid":     func(w *warp, v *lanes) { fillLanes(v, uint64(len(w.block.warps))) },
	"%lanemask_eq": func(w *warp, v *lanes) { v.number(func(i int) uint64 { return 1 << i }) },
	"%lanemask_lt": func(w *warp, v *lanes) { v.number(func(i int) uint64 { return 1<<i - 1 }) },
	"%lanemask_le": func(w *warp, v *lanes) { v.number(func(i int) uint64 { return 2<<i - 1 }) },
	"%lanemask_gt": func(w *warp, v *lanes) { v.number(func(i int) uint64 { return ^(2<<i - 1) & mask(32) }) },
	"%lanemask_ge": func(w *warp, v *lanes) { v.number(func(i int) uint64 { return ^(1<<i - 1) & mask(32) }) },
	"%smid":        func(w *warp, v *lanes) { fillLanes(v, 0) },
	"%nsmid":       func(w *warp, v *lanes) { fillLanes(v, 1) },
	"%gridid":      func(w *warp, v *lanes) { fillLanes(v, uint64(w.block.firstRun)) },
}

func init() {
	for axis, name := range []string{"x", "y", "z"} {
		specials["%tid."+name] = func(w *warp, v *lanes) {
			v.number(func(i int) uint64 { return uint64(w.block.threadID(w.index*32 + i)[axis]) })
		}
		specials["%ntid."+name] = func(w *warp, v *lanes) { fillLanes(v, uint64(w.block.size[axis])) }
		specials["%ctaid."+name] = func(w *warp, v *lanes) { fillLanes(v, uint64(w.block.id[axis])) }
		specials["%nctaid."+name] = func(w *warp, v *lanes) { fillLanes(v, uint64(w.block.grid[axis])) }
	}
}

// number sets each lane to a function of its number.
func (v *lanes) number(f func(i int) uint64) {
	for i := range v {
		v[i] = f(i)
	}
}
