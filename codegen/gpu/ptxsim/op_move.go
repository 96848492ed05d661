package ptxsim

import (
	"math/bits"

	"healc/codegen/gpu/ptx"
)

// mov copies a value, packs several into one, or unpacks one.
func (c *compiler) mov() {
	if c.has("pred") {
		c.operands(2)
		d := c.predicateDest(c.in.Operands[0])
		a, na := c.predicate(c.in.Operands[1])
		c.o.run = func(w *warp, m uint32) { w.setPred(d, w.pred(a, na), m) }
		return
	}
	t := c.dtype(ptx.B16, ptx.B32, ptx.B64, ptx.B128, ptx.U16, ptx.U32, ptx.U64, ptx.S16, ptx.S32, ptx.S64, ptx.F16,
		ptx.BF16, ptx.F16x2, ptx.BF16x2, ptx.F32, ptx.F64)
	c.operands(2)
	d, a := c.in.Operands[0], c.in.Operands[1]
	switch {
	case t == ptx.B128:
		c.errorf("mov.b128 is not supported")
	case a.Kind == ptx.VectorOperand:
		c.pack(t, a)
	case d.Kind == ptx.VectorOperand:
		c.unpack(t, d)
	default:
		if a.Kind == ptx.IntegerOperand && t.Float() {
			t = untyped[bits.Len(uint(t.Bits()/32))]
		}
		c.moved(t)
	}
}

func (c *compiler) moved(t ptx.Type) {
	d, a := c.dest(c.in.Operands[0], t, false), c.source(c.in.Operands[1], t, false)
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
func (c *compiler) part(t ptx.Type, n int) ptx.Type {
	if n >= 2 {
		switch t.Bits() / n {
		case 8:
			c.errorf("parts of 8 bits are not supported")
		case 16:
			return ptx.B16
		case 32:
			return ptx.B32
		}
	}
	c.errorf("a value of type .%s does not have %d parts", t, n)
	return ptx.NoType
}

func (c *compiler) pack(t ptx.Type, a ptx.Operand) {
	e := c.part(t, len(a.List))
	d := c.dst(t)
	var src []int32
	for _, x := range a.List {
		src = append(src, c.source(x, e, false))
	}
	c.moves(e, src...)
	c.o.run = func(w *warp, m uint32) {
		each(m, func(i int) {
			var v uint64
			for j, s := range src {
				v |= w.vals[s][i] << (j * e.Bits())
			}
			w.vals[d][i] = v
		})
	}
}

func (c *compiler) unpack(t ptx.Type, d ptx.Operand) {
	e := c.part(t, len(d.List))
	a := c.src(1, t)
	var dst []int32
	for _, x := range d.List {
		if x.Kind == ptx.SinkOperand {
			dst = append(dst, -1)
		} else {
			dst = append(dst, c.dest(x, e, false))
		}
	}
	c.moves(t, a)
	keep := mask(e.Bits())
	c.o.run = func(w *warp, m uint32) {
		A := w.vals[a] // a part may be the register itself
		for j, s := range dst {
			if s < 0 {
				continue
			}
			D, shift := &w.vals[s], j*e.Bits()
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
	s, _ := ptx.SpaceNamed(c.mod("global", "shared", "local", "const", "param"))
	if s == ptx.Generic {
		c.errorf("cvta needs a state space")
	}
	if s == ptx.Param {
		c.errorf("generic addresses of parameters are not supported")
	}
	t := c.dtype(ptx.U32, ptx.U64)
	if t != ptx.U64 {
		c.errorf("generic addresses have 64 bits")
	}
	c.operands(2)
	d, a := c.dst(t), c.src(1, t)
	var base uint64
	switch s {
	case ptx.Shared:
		base = sharedWindow
	case ptx.Local:
		base = localWindow
	}
	if to {
		base = -base
	}
	c.o.run = un(d, a, func(x uint64) uint64 { return x + base })
}

// isspacep says whether a generic address is in a state space.
func (c *compiler) isspacep() {
	s, _ := ptx.SpaceNamed(c.mod("global", "shared", "local", "const"))
	if s == ptx.Generic {
		c.errorf("isspacep needs a state space")
	}
	c.operands(2)
	d, a := c.predicateDest(c.in.Operands[0]), c.src(1, ptx.U64)
	c.o.run = func(w *warp, m uint32) {
		A, p := &w.vals[a], uint32(0)
		each(m, func(i int) {
			in := false
			switch x := A[i]; s {
			case ptx.Shared:
				in = x-sharedWindow < windowSize
			case ptx.Local:
				in = x-localWindow < windowSize
			case ptx.Global:
				in = x >= globalBase
			}
			if s == ptx.Const {
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
