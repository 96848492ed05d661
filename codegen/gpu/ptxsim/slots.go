package ptxsim

import (
	"fmt"
	"slices"
	"strings"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// This file gives operands their slots in a frame: registers, constants, addresses, special registers and predicates.

// dst is the slot of the destination, a register of exactly the width of t.
func (c *compiler) dst(t ptx.Type) int32 { return c.dest(c.in.Operands[0], t, false) }

// src is the slot of source i of type t.
func (c *compiler) src(i int, t ptx.Type) int32 { return c.source(c.in.Operands[i], t, false) }

// dest is the slot of a destination. A wide one may be larger than t.
func (c *compiler) dest(a ptx.Operand, t ptx.Type, wide bool) int32 {
	if a.Kind != ptx.RegisterOperand || a.Not {
		c.errorf("%s: the destination has to be a register", c.in.Opcode)
	}
	s := c.register(a, t, wide)
	c.o.Defs = append(c.o.Defs, s)
	return s
}

// source is the slot of a source. A wide one may be a larger register, of which the low bits count.
func (c *compiler) source(a ptx.Operand, t ptx.Type, wide bool) int32 {
	if a.Not {
		c.errorf("%s: ! stands before predicates only", c.in.Opcode)
	}
	switch a.Kind {
	case ptx.RegisterOperand:
		if f := machine.Special(a.Name); f != nil {
			return c.special(a.Name, f)
		}
		s := c.register(a, t, wide)
		c.o.Uses, c.o.UsedBits = append(c.o.Uses, s), append(c.o.UsedBits, mask(t.Bits()))
		return s
	case ptx.IntegerOperand:
		if t.Float() && t.Bits() > 16 {
			c.errorf("%s: a constant of type .%s is written 0f or 0d and its bits", c.in.Opcode, t)
		}
		return c.constant(a.Bits & mask(t.Bits()))
	case ptx.FloatOperand:
		if t.Integer() || a.Wide && t.Bits() < 64 && !t.Float() || t.Bits() < 32 {
			c.errorf("%s: a float constant stands for a value of type .%s", c.in.Opcode, t)
		}
		return c.constant(a.FloatBits(t))
	case ptx.SymbolOperand:
		return c.symbol(a, t)
	}
	c.errorf("%s: operand %v is not a value", c.in.Opcode, a.Name)
	return 0
}

// register is the slot of a register that is used as a value of type t.
func (c *compiler) register(a ptx.Operand, t ptx.Type, wide bool) int32 {
	r, ok := c.f.Register(a.Name)
	switch {
	case !ok && (strings.HasPrefix(a.Name, "%clock") || strings.HasPrefix(a.Name, "%globaltimer")):
		c.errorf("%s is refused: it differs between runs", a.Name)
	case !ok:
		c.errorf("register %s is not declared or not known", a.Name)
	case r == ptx.Pred:
		c.errorf("%s: %s is a predicate, not a value", c.in.Opcode, a.Name)
	case r.Bits() < t.Bits() || r.Bits() > t.Bits() && !wide:
		c.errorf("%s: %s has %d bits, and .%s has %d", c.in.Opcode, a.Name, r.Bits(), t, t.Bits())
	case r.Float() && t.Integer() || r.Integer() && t.Float():
		c.errorf("%s: %s is a .%s, and not a .%s", c.in.Opcode, a.Name, r, t)
	}
	s, ok := c.slots[a.Name]
	if !ok {
		s = c.value()
		c.slots[a.Name] = s
	}
	return s
}

// width is the number of bits of a register.
func (c *compiler) width(a ptx.Operand) int {
	t, _ := c.f.Register(a.Name)
	return t.Bits()
}

// value makes a slot.
func (c *compiler) value() int32 {
	c.f.Values++
	return int32(c.f.Values - 1)
}

// constant is the slot of a constant.
func (c *compiler) constant(v uint64) int32 {
	s, ok := c.consts[v]
	if !ok {
		s = c.value()
		c.consts[v] = s
		c.f.Fixed = append(c.f.Fixed, machine.Fixed{Slot: s, Kind: machine.FixedConst, Bits: v})
	}
	return s
}

// symbol is the slot of the address of a variable. The address of shared, local and constant memory is that in the
// state space.
func (c *compiler) symbol(a ptx.Operand, t ptx.Type) int32 {
	if a.Variable == nil {
		c.errorf("%s is not declared", a.Name)
	}
	if t.Bits() != 64 && !(t.Bits() == 32 && (a.Variable.Space == ptx.Shared || a.Variable.Space == ptx.Local)) {
		c.errorf("%s: an address in .%s memory does not have %d bits", c.in.Opcode, a.Variable.Space, t.Bits())
	}
	key := fmt.Sprintf("%s+%d@%p", a.Name, a.Offset, a.Variable)
	s, ok := c.slots[key]
	if ok {
		return s
	}
	x := machine.Fixed{Slot: c.value(), Kind: machine.FixedSymbol, Bits: uint64(a.Offset), Variable: a.Variable}
	switch a.Variable.Space {
	case ptx.Param:
		c.errorf("the address of parameter %s is not supported", a.Name)
	case ptx.Local:
		x.Kind = machine.FixedLocal
	default:
		if !slices.Contains(c.f.Symbols, a.Variable) {
			c.f.Symbols = append(c.f.Symbols, a.Variable)
		}
	}
	c.slots[key] = x.Slot
	c.f.Fixed = append(c.f.Fixed, x)
	return x.Slot
}

// special is the slot of a special register.
func (c *compiler) special(name string, fill func(w *machine.Warp, v *machine.Lanes)) int32 {
	s, ok := c.slots[name]
	if !ok {
		s = c.value()
		c.slots[name] = s
		c.f.Fixed = append(c.f.Fixed, machine.Fixed{Slot: s, Kind: machine.FixedSpecial, Fill: fill})
	}
	return s
}

// predicate is the slot of a predicate that is read, and whether it is negated.
func (c *compiler) predicate(a ptx.Operand) (s int32, not bool) {
	if a.Kind == ptx.IntegerOperand {
		// An immediate predicate: a slot that is never written is false.
		return c.predicateSlot("false"), a.Bits != 0
	}
	if t, ok := c.f.Register(a.Name); a.Kind != ptx.RegisterOperand || !ok || t != ptx.Pred {
		c.errorf("%s: %s is not a predicate", c.in.Opcode, a.Name)
	}
	s = c.predicateSlot(a.Name)
	c.o.PredicateUses = append(c.o.PredicateUses, s)
	return s, a.Not
}

// predicateDest is the slot of a predicate that is written; -1 for _.
func (c *compiler) predicateDest(a ptx.Operand) int32 {
	if a.Kind == ptx.SinkOperand {
		return -1
	}
	if t, ok := c.f.Register(a.Name); a.Kind != ptx.RegisterOperand || !ok || t != ptx.Pred {
		c.errorf("%s: %s is not a predicate", c.in.Opcode, a.Name)
	}
	s := c.predicateSlot(a.Name)
	c.o.PredicateDefs = append(c.o.PredicateDefs, s)
	return s
}

func (c *compiler) predicateSlot(name string) int32 {
	s, ok := c.preds[name]
	if !ok {
		s = int32(c.f.Predicates)
		c.f.Predicates++
		c.preds[name] = s
	}
	return s
}

// moves says that the instruction moves the bits of these operands of type t, as the others say.
func (c *compiler) moves(t ptx.Type, slots ...int32) {
	c.o.Spread, c.o.Moved, c.o.MovedBits = machine.SpreadMoves, slots, t.Bits()
}
