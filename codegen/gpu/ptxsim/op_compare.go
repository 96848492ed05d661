package ptxsim

import (
	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// comparison takes the comparison of setp and set.
func (c *compiler) comparison() string {
	op := c.mod("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
		"num", "nan")
	if op == "" {
		c.errorf("%s needs a comparison", c.in.Opcode)
	}
	return op
}

// relation is which of less, equal, greater and unordered a comparison accepts.
type relation struct{ less, equal, greater, unordered bool }

var relations = map[string]relation{
	"eq": {equal: true}, "ne": {less: true, greater: true},
	"lt": {less: true}, "le": {less: true, equal: true}, "gt": {greater: true}, "ge": {greater: true, equal: true},
	"equ": {equal: true, unordered: true}, "neu": {less: true, greater: true, unordered: true},
	"ltu": {less: true, unordered: true}, "leu": {less: true, equal: true, unordered: true},
	"gtu": {greater: true, unordered: true}, "geu": {greater: true, equal: true, unordered: true},
	"num": {less: true, equal: true, greater: true}, "nan": {unordered: true},
	"lo": {less: true}, "ls": {less: true, equal: true}, "hi": {greater: true}, "hs": {greater: true, equal: true},
}

// comparer is the test of a comparison of values of type t.
func (c *compiler) comparer(op string, t ptx.Type) func(x, y uint64) bool {
	r := relations[op]
	unsigned := len(op) == 2 && (op == "lo" || op == "ls" || op == "hi" || op == "hs")
	if t.Float() {
		if unsigned {
			c.errorf("%s.%s compares integers", c.in.Opcode, op)
		}
		if t == ptx.F32 {
			return func(x, y uint64) bool {
				a, b := f32of(x), f32of(y)
				return a < b && r.less || a == b && r.equal || a > b && r.greater || (a != a || b != b) && r.unordered
			}
		}
		return func(x, y uint64) bool {
			a, b := valueOf(t, x), valueOf(t, y)
			return a < b && r.less || a == b && r.equal || a > b && r.greater || (a != a || b != b) && r.unordered
		}
	}
	switch {
	case r.unordered || op == "num":
		c.errorf("%s.%s compares floats", c.in.Opcode, op)
	case t.Untyped() && op != "eq" && op != "ne":
		c.errorf("%s.%s needs a type with an order", c.in.Opcode, op)
	case unsigned && t.Signed():
		c.errorf("%s.%s compares unsigned values", c.in.Opcode, op)
	}
	switch op {
	case "eq":
		return func(x, y uint64) bool { return x == y }
	case "ne":
		return func(x, y uint64) bool { return x != y }
	}
	if t.Signed() {
		shift := 64 - t.Bits()
		return func(x, y uint64) bool {
			a, b := int64(x<<shift), int64(y<<shift)
			return a < b && r.less || a == b && r.equal || a > b && r.greater
		}
	}
	return func(x, y uint64) bool { return x < y && r.less || x == y && r.equal || x > y && r.greater }
}

var comparables = []ptx.Type{
	ptx.B16, ptx.B32, ptx.B64, ptx.U16, ptx.U32, ptx.U64, ptx.S16, ptx.S32, ptx.S64, ptx.F16, ptx.BF16, ptx.F32,
	ptx.F64,
}

// setp sets a predicate, and its complement, to a comparison that may be combined with a third predicate.
func (c *compiler) setp() {
	op := c.comparison()
	join := c.mod("and", "or", "xor")
	c.noFlush()
	t := c.dtype(append(comparables, ptx.F16x2, ptx.BF16x2)...)
	n := 3
	if join != "" {
		n = 4
	}
	c.operands(n)
	p, q := c.in.Operands[0], ptx.Operand{Kind: ptx.SinkOperand}
	if p.Kind == ptx.PairOperand {
		p, q = p.List[0], p.List[1]
	}
	a, b := c.src(1, t), c.src(2, t)
	test := c.comparer(op, element(t))
	var z int32
	var nz bool
	if join != "" {
		z, nz = c.predicate(c.in.Operands[3])
	}
	d, e := c.predicateDest(p), c.predicateDest(q)
	if element(t) != t {
		// p for the lower halves, q for the upper ones
		if d >= 0 && e >= 0 {
			c.o.Spread = machine.SpreadHalves
		}
		lower := compareStep(a, b, func(x, y uint64) bool { return test(x&0xffff, y&0xffff) })
		upper := compareStep(a, b, func(x, y uint64) bool { return test(x>>16, y>>16) })
		c.o.Run = func(w *machine.Warp, m uint32) {
			x, y := lower(w, m), upper(w, m)
			if join != "" {
				k := w.Pred(z, nz)
				x, y = combine(join, x, k), combine(join, y, k)
			}
			w.SetPred(d, x, m)
			w.SetPred(e, y, m)
		}
		return
	}
	compare := compareStep(a, b, test)
	if join == "" && e < 0 {
		c.o.Run = func(w *machine.Warp, m uint32) { w.SetPred(d, compare(w, m), m) }
		return
	}
	c.o.Run = func(w *machine.Warp, m uint32) {
		x := compare(w, m)
		y := ^x
		if join != "" {
			k := w.Pred(z, nz)
			x, y = combine(join, x, k), combine(join, y, k)
		}
		w.SetPred(d, x, m)
		w.SetPred(e, y, m)
	}
}

func combine(op string, x, y uint32) uint32 {
	switch op {
	case "and":
		return x & y
	case "or":
		return x | y
	}
	return x ^ y
}

// compareStep is the lanes of m where a test holds.
func compareStep(a, b int32, test func(x, y uint64) bool) func(w *machine.Warp, m uint32) uint32 {
	return func(w *machine.Warp, m uint32) uint32 {
		A, B, p := &w.Values[a], &w.Values[b], uint32(0)
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			if test(A[i], B[i]) {
				p |= 1 << i
			}
		}
		return p
	}
}

// set sets a register to a comparison: all ones, or 1.0 for a float.
func (c *compiler) set() {
	op := c.comparison()
	join := c.mod("and", "or", "xor")
	c.noFlush()
	dt := c.dtype(ptx.U32, ptx.S32, ptx.F32)
	t := c.dtype(comparables...)
	n := 3
	if join != "" {
		n = 4
	}
	c.operands(n)
	d, a, b := c.dst(dt), c.src(1, t), c.src(2, t)
	compare := compareStep(a, b, c.comparer(op, t))
	var z int32
	var nz bool
	if join != "" {
		z, nz = c.predicate(c.in.Operands[3])
	}
	yes := mask(32)
	if dt == ptx.F32 {
		yes = uint64(f32bits(1))
	}
	c.o.Run = func(w *machine.Warp, m uint32) {
		x := compare(w, m)
		if join != "" {
			x = combine(join, x, w.Pred(z, nz))
		}
		D := &w.Values[d]
		machine.EachLane(m, func(i int) { D[i] = yes & -uint64(x>>i&1) })
	}
}

// selp selects by a predicate.
func (c *compiler) selp() {
	t := c.dtype(append(comparables, ptx.F16x2)...)
	c.operands(4)
	d, a, b := c.dst(t), c.src(1, t), c.src(2, t)
	p, np := c.predicate(c.in.Operands[3])
	c.o.Spread, c.o.Selected, c.o.Selector, c.o.SelectorNegated = machine.SpreadSelect, [2]int32{a, b}, p, np
	c.o.Run = func(w *machine.Warp, m uint32) {
		D, A, B, k := &w.Values[d], &w.Values[a], &w.Values[b], w.Pred(p, np)
		for ; m != 0; m &= m - 1 {
			i := machine.FirstLane(m)
			if k>>i&1 != 0 {
				D[i] = A[i]
			} else {
				D[i] = B[i]
			}
		}
	}
}

// slct selects by the sign of a value: -0 and NaN are no positive numbers, but -0 >= 0 holds.
func (c *compiler) slct() {
	c.noFlush()
	t := c.dtype(comparables...)
	kt := c.dtype(ptx.S32, ptx.F32)
	c.operands(4)
	d, a, b, k := c.dst(t), c.src(1, t), c.src(2, t), c.src(3, kt)
	c.o.Run = ter(d, a, b, k, func(x, y, z uint64) uint64 {
		if kt == ptx.S32 && int32(z) >= 0 || kt == ptx.F32 && f32of(z) >= 0 {
			return x
		}
		return y
	})
}
