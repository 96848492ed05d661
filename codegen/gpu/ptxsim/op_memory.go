package ptxsim

import (
	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// memory takes the modifiers that ld and st share, up to the type.
func (c *compiler) memory() (a machine.Access, vector int) {
	for {
		switch {
		case c.mod("volatile", "relaxed", "acquire", "release", "mmio") != "":
			a.Atomic = true
		case c.mod("weak", "cta", "gpu", "sys", "cluster", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "uniform",
			"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
			"L2::64B", "L2::128B", "L2::256B") != "":
		case c.has("nc"):
			a.Cached = true
		case c.mod("shared::cta") != "":
			a.Space = ptx.Shared
		default:
			s, ok := ptx.SpaceNamed(firstOf(c.mods))
			if !ok {
				vector = 1
				switch c.mod("v2", "v4") {
				case "v2":
					vector = 2
				case "v4":
					vector = 4
				}
				return a, vector
			}
			a.Space = s
			c.mods = c.mods[1:]
		}
	}
}

func firstOf(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

var memoryTypes = []ptx.Type{
	ptx.B8, ptx.B16, ptx.B32, ptx.B64, ptx.U8, ptx.U16, ptx.U32, ptx.U64, ptx.S8, ptx.S16, ptx.S32, ptx.S64, ptx.F16,
	ptx.BF16, ptx.F32, ptx.F64, ptx.F16x2, ptx.BF16x2,
}

// address is the slot and offset of a memory operand.
func (c *compiler) address(x ptx.Operand) (slot int32, add uint64) {
	if x.Kind != ptx.MemoryOperand {
		c.errorf("%s needs an address in brackets", c.in.Opcode)
	}
	switch {
	case x.Name == "":
		return c.constant(uint64(x.Offset)), 0
	case x.Variable != nil:
		return c.symbol(ptx.Operand{Name: x.Name, Variable: x.Variable, Offset: x.Offset}, ptx.U64), 0
	}
	t, ok := c.f.Register(x.Name)
	if !ok {
		c.errorf("%s is not declared", x.Name)
	}
	if t != ptx.B64 && t != ptx.U64 && t != ptx.S64 && t != ptx.B32 && t != ptx.U32 && t != ptx.S32 {
		c.errorf("%s is a .%s and no address", x.Name, t)
	}
	return c.source(ptx.Operand{Kind: ptx.RegisterOperand, Name: x.Name}, t, false), uint64(x.Offset)
}

// values are the slots of what is loaded or stored; -1 for _.
func (c *compiler) values(x ptx.Operand, t ptx.Type, vector int,
	slot func(a ptx.Operand, t ptx.Type, wide bool) int32) []int32 {
	list := []ptx.Operand{x}
	if x.Kind == ptx.VectorOperand {
		list = x.List
	}
	if len(list) != vector {
		c.errorf("%s has %s, and %d are named", c.in.Opcode, plural(vector, "element"), len(list))
	}
	var slots []int32
	for _, e := range list {
		if e.Kind == ptx.SinkOperand {
			slots = append(slots, -1)
			continue
		}
		slots = append(slots, slot(e, untypedOf(t), true))
	}
	return slots
}

// untypedOf is the type of the bits of t: a load or store takes a register of any type that is large enough.
func untypedOf(t ptx.Type) ptx.Type {
	switch t.Bits() {
	case 8:
		return ptx.B8
	case 16:
		return ptx.B16
	case 32:
		return ptx.B32
	}
	return ptx.B64
}

func (c *compiler) ld() {
	a, vector := c.memory()
	t := c.dtype(memoryTypes...)
	c.operands(2)
	dst := c.values(c.in.Operands[0], t, vector, c.dest)
	masks := make([]uint64, len(dst))
	list := c.in.Operands[0].List
	if vector == 1 {
		list = c.in.Operands[:1]
	}
	for i, d := range dst {
		if d >= 0 {
			masks[i] = mask(c.width(list[i]))
		}
	}
	if a.Space == ptx.Param {
		c.loadParam(t, dst, masks)
		return
	}
	if a.Cached && a.Space != ptx.Global {
		c.errorf("ld.nc is of .global memory")
	}
	c.o.Effect, c.o.Loads = true, true
	a.Read, a.Bytes = true, vector*t.Bytes()
	p, add := c.address(c.in.Operands[1])
	n, signed := t.Bytes(), t.Signed()
	c.o.Run = func(w *machine.Warp, m uint32) {
		addrs := w.Values[p] // the destination may be the address
		var r *machine.Region
		before, same := 0, 0 // the lane before, and how many in a row read what it does
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			if same++; r == nil || addrs[i] != addrs[before] {
				same = 0
			}
			last := before
			before = i
			if same >= 2 && w.ReadAgain(r) {
				for _, d := range dst {
					if d >= 0 {
						w.Values[d][i] = w.Values[d][last]
					}
				}
				continue
			}
			var off int
			r, off = w.Access(&a, addrs[i]+add, i, r)
			for j, d := range dst {
				if d < 0 {
					continue
				}
				v := machine.Load(r.Data[off+j*n:], n)
				if signed {
					v = extend(t, v) & masks[j]
				}
				w.Values[d][i] = v
			}
		}
		w.Unlock()
	}
}

func (c *compiler) st() {
	a, vector := c.memory()
	t := c.dtype(memoryTypes...)
	c.operands(2)
	src := c.values(c.in.Operands[1], t, vector, c.source)
	if a.Space == ptx.Param {
		c.storeParam(t, src)
		return
	}
	if a.Space == ptx.Const || a.Cached {
		c.errorf("st to .const memory")
	}
	c.o.Effect = true
	a.Write, a.Bytes = true, vector*t.Bytes()
	p, add := c.address(c.in.Operands[0])
	n := t.Bytes()
	c.o.Run = func(w *machine.Warp, m uint32) {
		P := &w.Values[p]
		var r *machine.Region
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			var off int
			r, off = w.Access(&a, P[i]+add, i, r)
			for j, s := range src {
				if s >= 0 {
					machine.Store(r.Data[off+j*n:], n, w.Values[s][i])
				}
			}
		}
		w.Unlock()
	}
}

// parameter is the variable of an address in .param space, checked to hold n bytes there.
func (c *compiler) parameter(x ptx.Operand, n int) (v *ptx.Variable, offset int) {
	if x.Kind != ptx.MemoryOperand || x.Variable == nil || x.Variable.Space != ptx.Param {
		c.errorf("%s.param needs the name of a parameter", c.in.Opcode)
	}
	if x.Offset < 0 || int(x.Offset)+n > x.Variable.Size {
		c.errorf("%d bytes at byte %d of %s, which has %d", n, x.Offset, x.Name, x.Variable.Size)
	}
	if int(x.Offset)%n != 0 {
		c.errorf("an access of %d bytes at byte %d of %s", n, x.Offset, x.Name)
	}
	return x.Variable, x.Variable.Offset + int(x.Offset)
}

func (c *compiler) loadParam(t ptx.Type, dst []int32, masks []uint64) {
	n := t.Bytes()
	v, off := c.parameter(c.in.Operands[1], n*len(dst))
	if v.OfEntry {
		c.o.Run = func(w *machine.Warp, m uint32) {
			for j, d := range dst {
				if d < 0 {
					continue
				}
				D, x := &w.Values[d], extend(t, machine.Load(w.LaunchParams()[off+j*n:], n))&masks[j]
				for m := m; m != 0; m &= m - 1 {
					D[machine.FirstLane(m)] = x
				}
			}
		}
		return
	}
	c.o.Run = func(w *machine.Warp, m uint32) {
		machine.EachLane(m, func(i int) {
			for j, d := range dst {
				if d >= 0 {
					x := machine.Load(w.Area(i)[off+j*n:], n)
					w.Values[d][i] = extend(t, x) & masks[j]
				}
			}
		})
	}
}

func (c *compiler) storeParam(t ptx.Type, src []int32) {
	n := t.Bytes()
	v, off := c.parameter(c.in.Operands[0], n*len(src))
	if v.OfEntry {
		c.errorf("st to a parameter of a kernel")
	}
	c.o.Effect = true
	c.o.Run = func(w *machine.Warp, m uint32) {
		machine.EachLane(m, func(i int) {
			for j, s := range src {
				if s >= 0 {
					machine.Store(w.Area(i)[off+j*n:], n, w.Values[s][i])
				}
			}
		})
	}
}

// prefetch has no effect that can be seen.
func (c *compiler) prefetch() {
	c.mods = nil
	c.o.Run = func(*machine.Warp, uint32) {}
}

// fence orders accesses of one thread, which are in order here.
func (c *compiler) fence() {
	for c.mod("sc", "acq_rel", "acquire", "release", "cta", "gpu", "gl", "sys", "cluster") != "" {
	}
	c.operands(0)
	c.o.Run = func(*machine.Warp, uint32) {}
}
