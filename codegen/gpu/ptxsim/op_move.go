package ptxsim

import (
	"math/bits"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// mov copies a value, packs several into one, or unpacks one.
func (c *compiler) mov() {
	if c.has("pred") {
		c.operands(2)
		d := c.predicateDest(c.in.Operands[0])
		a, na := c.predicate(c.in.Operands[1])
		c.o.Run = func(w *machine.Warp, m uint32) { w.SetPred(d, w.Pred(a, na), m) }
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
	c.o.Run = func(w *machine.Warp, m uint32) {
		D, A := &w.Values[d], &w.Values[a]
		if m == ^uint32(0) {
			*D = *A
			return
		}
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
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
	c.o.Run = func(w *machine.Warp, m uint32) {
		machine.EachLane(m, func(i int) {
			var v uint64
			for j, s := range src {
				v |= w.Values[s][i] << (j * e.Bits())
			}
			w.Values[d][i] = v
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
	c.o.Run = func(w *machine.Warp, m uint32) {
		A := w.Values[a] // a part may be the register itself
		for j, s := range dst {
			if s < 0 {
				continue
			}
			D, shift := &w.Values[s], j*e.Bits()
			for m := m; m != 0; m &= m - 1 {
				i := machine.FirstLane(m)
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
	base := machine.GenericBase(s)
	if to {
		base = -base
	}
	c.o.Run = un(d, a, func(x uint64) uint64 { return x + base })
}

// isspacep says whether a generic address is in a state space.
func (c *compiler) isspacep() {
	s, _ := ptx.SpaceNamed(c.mod("global", "shared", "local", "const"))
	if s == ptx.Generic {
		c.errorf("isspacep needs a state space")
	}
	c.operands(2)
	d, a := c.predicateDest(c.in.Operands[0]), c.src(1, ptx.U64)
	c.o.Run = func(w *machine.Warp, m uint32) {
		A, p := &w.Values[a], uint32(0)
		machine.EachLane(m, func(i int) {
			if w.InSpace(s, A[i]) {
				p |= 1 << i
			}
		})
		w.SetPred(d, p, m)
	}
}
