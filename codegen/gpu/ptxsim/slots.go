package ptxsim

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// This file gives operands their slots in a frame: registers, constants, addresses, special registers and predicates.

// dst is the slot of the destination, a register of exactly the width of t.
func (c *compiler) dst(t dtype) int32 { return c.dest(c.in.args[0], t, false) }

// src is the slot of source i of type t.
func (c *compiler) src(i int, t dtype) int32 { return c.source(c.in.args[i], t, false) }

// dest is the slot of a destination. A wide one may be larger than t.
func (c *compiler) dest(a operand, t dtype, wide bool) int32 {
	if a.kind != argReg || a.not {
		c.errorf("%s: the destination has to be a register", c.in.op)
	}
	s := c.register(a, t, wide)
	c.o.defs = append(c.o.defs, s)
	return s
}

// source is the slot of a source. A wide one may be a larger register, of which the low bits count.
func (c *compiler) source(a operand, t dtype, wide bool) int32 {
	if a.not {
		c.errorf("%s: ! stands before predicates only", c.in.op)
	}
	switch a.kind {
	case argReg:
		if f := special(a.name); f != nil {
			return c.special(a.name, f)
		}
		s := c.register(a, t, wide)
		c.o.uses, c.o.counts = append(c.o.uses, s), append(c.o.counts, mask(t.bits()))
		return s
	case argInt:
		if t.float() && t.bits() > 16 {
			c.errorf("%s: a constant of type .%s is written 0f or 0d and its bits", c.in.op, t)
		}
		return c.constant(a.bits & mask(t.bits()))
	case argFloat:
		if t.integer() || a.wide && t.bits() < 64 && !t.float() || t.bits() < 32 {
			c.errorf("%s: a float constant stands for a value of type .%s", c.in.op, t)
		}
		return c.constant(floatBits(a, t))
	case argSymbol:
		return c.symbol(a, t)
	}
	c.errorf("%s: operand %v is not a value", c.in.op, a.name)
	return 0
}

// register is the slot of a register that is used as a value of type t.
func (c *compiler) register(a operand, t dtype, wide bool) int32 {
	r, ok := c.f.register(a.name)
	switch {
	case !ok && (strings.HasPrefix(a.name, "%clock") || strings.HasPrefix(a.name, "%globaltimer")):
		c.errorf("%s is refused: it differs between runs", a.name)
	case !ok:
		c.errorf("register %s is not declared or not known", a.name)
	case r == pred:
		c.errorf("%s: %s is a predicate, not a value", c.in.op, a.name)
	case r.bits() < t.bits() || r.bits() > t.bits() && !wide:
		c.errorf("%s: %s has %d bits, and .%s has %d", c.in.op, a.name, r.bits(), t, t.bits())
	case r.float() && t.integer() || r.integer() && t.float():
		c.errorf("%s: %s is a .%s, and not a .%s", c.in.op, a.name, r, t)
	}
	s, ok := c.slots[a.name]
	if !ok {
		s = c.value()
		c.slots[a.name] = s
	}
	return s
}

// width is the number of bits of a register.
func (c *compiler) width(a operand) int {
	t, _ := c.f.register(a.name)
	return t.bits()
}

// value makes a slot.
func (c *compiler) value() int32 {
	c.f.nvals++
	return int32(c.f.nvals - 1)
}

// constant is the slot of a constant.
func (c *compiler) constant(v uint64) int32 {
	s, ok := c.consts[v]
	if !ok {
		s = c.value()
		c.consts[v] = s
		c.f.fixed = append(c.f.fixed, fixed{slot: s, kind: fixedConst, bits: v})
	}
	return s
}

// symbol is the slot of the address of a variable. The address of shared, local and constant memory is that in the
// state space.
func (c *compiler) symbol(a operand, t dtype) int32 {
	if a.v == nil {
		c.errorf("%s is not declared", a.name)
	}
	if t.bits() != 64 && !(t.bits() == 32 && (a.v.space == shared || a.v.space == local)) {
		c.errorf("%s: an address in .%s memory does not have %d bits", c.in.op, a.v.space, t.bits())
	}
	key := fmt.Sprintf("%s+%d@%p", a.name, a.add, a.v)
	s, ok := c.slots[key]
	if ok {
		return s
	}
	x := fixed{slot: c.value(), kind: fixedSymbol, bits: uint64(a.add), v: a.v}
	switch a.v.space {
	case param:
		c.errorf("the address of parameter %s is not supported", a.name)
	case local:
		x.kind = fixedLocal
	default:
		if !slices.Contains(c.f.symbols, a.v) {
			c.f.symbols = append(c.f.symbols, a.v)
		}
	}
	c.slots[key] = x.slot
	c.f.fixed = append(c.f.fixed, x)
	return x.slot
}

// special is the slot of a special register.
func (c *compiler) special(name string, fill func(w *warp, v *lanes)) int32 {
	s, ok := c.slots[name]
	if !ok {
		s = c.value()
		c.slots[name] = s
		c.f.fixed = append(c.f.fixed, fixed{slot: s, kind: fixedSpecial, special: name, fill: fill})
	}
	return s
}

// predicate is the slot of a predicate that is read, and whether it is negated.
func (c *compiler) predicate(a operand) (s int32, not bool) {
	if a.kind == argInt {
		// An immediate predicate: a slot that is never written is false.
		return c.predicateSlot("false"), a.bits != 0
	}
	if t, ok := c.f.register(a.name); a.kind != argReg || !ok || t != pred {
		c.errorf("%s: %s is not a predicate", c.in.op, a.name)
	}
	s = c.predicateSlot(a.name)
	c.o.puses = append(c.o.puses, s)
	return s, a.not
}

// predicateDest is the slot of a predicate that is written; -1 for _.
func (c *compiler) predicateDest(a operand) int32 {
	if a.kind == argAny {
		return -1
	}
	if t, ok := c.f.register(a.name); a.kind != argReg || !ok || t != pred {
		c.errorf("%s: %s is not a predicate", c.in.op, a.name)
	}
	s := c.predicateSlot(a.name)
	c.o.pdefs = append(c.o.pdefs, s)
	return s
}

func (c *compiler) predicateSlot(name string) int32 {
	s, ok := c.preds[name]
	if !ok {
		s = int32(c.f.npreds)
		c.f.npreds++
		c.preds[name] = s
	}
	return s
}

// pred is the lanes where a predicate holds.
func (w *warp) pred(s int32, not bool) uint32 {
	if not {
		return ^w.preds[s]
	}
	return w.preds[s]
}

// setPred sets a predicate for the lanes of m; slot -1 is nowhere.
func (w *warp) setPred(s int32, v, m uint32) {
	if s >= 0 {
		w.preds[s] = w.preds[s]&^m | v&m
	}
}

// each calls f for the lanes of m.
func each(m uint32, f func(i int)) {
	for ; m != 0; m &= m - 1 {
		f(bits.TrailingZeros32(m))
	}
}
