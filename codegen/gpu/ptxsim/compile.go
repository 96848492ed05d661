package ptxsim

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// lanes is one value for each lane of a warp, zero-extended from the width of its register.
type lanes [32]uint64

// step executes an instruction for the lanes of a mask.
type step func(w *warp, m uint32)

// opKind says what the run loop does with an operation.
type opKind uint8

const (
	opPlain   opKind = iota // run, go on
	opBranch                // to target
	opIndexed               // to one of targets
	opCall
	opReturn
	opExit
	opTrap
	opBarrier // of the block
	opSync    // run when the lanes of a member mask are there
)

// op is a translated instruction.
type op struct {
	kind   opKind
	not    bool  // the guard is negated
	guard  int32 // predicate slot, or -1
	target int32
	join   int32 // where the ways of a branch meet again, or -1; see flow.go
	run    step
	in     *instr

	uses, defs   []int32 // slots of values
	puses, pdefs []int32 // slots of predicates
	effect       bool    // the operands matter at once: see Note [Undefined registers]
	loads        bool    // the results are defined whatever the operands are
	spread       propagation
	counts       []uint64 // of each of uses, the bits that matter
	operands     []int32  // spreadAnd, spreadOr: all, constants among them
	moved        []int32  // spreadMoves: slots, constants among them
	width        int      // spreadMoves: of moved
	sel          [2]int32 // spreadSelect
	selp         int32
	selNot       bool
	decides      int     // +1: an operand that is true decides what an instruction of predicates gives; -1: one that is false
	negated      [2]bool // of puses, for decides

	targets []int32
	index   int32 // slot that selects one of targets
	members int32 // opSync: slot of the member mask
	call    *callOp
	barrier *barrierOp
}

// fixed is a slot of a frame that is no register.
type fixed struct {
	slot    int32
	kind    fixedKind
	bits    uint64
	v       *variable
	special string
	fill    func(w *warp, v *lanes) // special registers
}

type fixedKind uint8

const (
	fixedConst fixedKind = iota
	fixedSymbol
	fixedLocal
	fixedSpecial
)

// compiler translates one function. in is the instruction at hand and o what becomes of it; mods and the
// methods below take it apart.
type compiler struct {
	p    *parser
	f    *function
	in   *instr
	o    *op
	mods []string

	slots  map[string]int32
	preds  map[string]int32
	consts map[uint64]int32
}

// compile translates all functions.
func (m *Module) compile(p *parser) {
	for _, f := range m.funcs {
		if f.body {
			c := &compiler{p: p, f: f, slots: map[string]int32{}, preds: map[string]int32{}, consts: map[uint64]int32{}}
			c.function()
		}
	}
	for _, v := range m.vars {
		for _, r := range v.refs {
			if t := p.names[r.name]; t == nil || t.space != global && t.space != constant {
				p.fail(v.line, "the value of %s is the address of %s, which is no global variable", v.name, r.name)
			}
		}
	}
}

func (c *compiler) function() {
	start := make([]int32, len(c.f.source)+1) // in code, of each instruction of source
	for i, in := range c.f.source {
		start[i] = int32(len(c.f.code))
		c.instruction(in)
	}
	start[len(c.f.source)] = int32(len(c.f.code))
	// Running into the end is a return.
	end := &instr{line: c.f.line, op: "ret"}
	if n := len(c.f.source); n > 0 {
		end.line, end.loc = c.f.source[n-1].line, c.f.source[n-1].loc
	}
	c.instruction(end)
	for i := range c.f.code {
		o := &c.f.code[i]
		switch {
		case o.kind == opBranch && o.target < 0: // skips the next instruction for lanes without its guard
			o.target = int32(i + 2)
		case o.kind == opBranch:
			o.target = start[c.label(o.in, o.in.args[0].name)]
		case o.kind == opIndexed:
			name := o.in.args[1].name
			list, ok := c.f.targets[name]
			if !ok {
				c.p.fail(o.in.line, "there is no list of targets %s", name)
			}
			for _, l := range list {
				o.targets = append(o.targets, start[c.label(o.in, l)])
			}
		}
	}
	c.f.joins()
	c.f.tracked = c.f.mayReadUndefined()
}

func (c *compiler) label(in *instr, name string) int {
	i, ok := c.f.labels[name]
	if !ok {
		c.p.fail(in.line, "there is no label %s", name)
	}
	return i
}

// instruction translates one instruction. What is not opPlain or a branch never has a guard: a branch around it stands
// before it.
func (c *compiler) instruction(in *instr) {
	c.in, c.mods = in, in.mods
	form, ok := instructions[in.op]
	if !ok {
		c.errorf("instruction %s is not known", in.op)
	}
	o := op{guard: -1, in: in, target: -1, join: -1}
	c.o = &o
	form(c)
	if len(c.mods) > 0 {
		c.errorf("%s: modifier .%s is not supported here", in.op, c.mods[0])
	}
	if in.guard != nil {
		guarded := &o
		skip := op{kind: opBranch, in: in, target: -1, join: -1}
		if o.kind != opPlain && o.kind != opBranch {
			guarded = &skip
		}
		c.o = guarded
		guarded.guard, _ = c.predicate(*in.guard)
		guarded.not = in.not
		if guarded == &skip {
			skip.not = !in.not
			c.f.code = append(c.f.code, skip)
		}
	}
	c.f.code = append(c.f.code, o)
}

func (c *compiler) errorf(format string, args ...any) { c.p.fail(c.in.line, format, args...) }

// mod takes the next modifier if it is one of the names, and answers "" if it is not.
func (c *compiler) mod(names ...string) string {
	if len(c.mods) > 0 && slices.Contains(names, c.mods[0]) {
		m := c.mods[0]
		c.mods = c.mods[1:]
		return m
	}
	return ""
}

// has takes the next modifier if it is this one.
func (c *compiler) has(name string) bool { return c.mod(name) != "" }

// dtype takes the next modifier, which is a type, one of those allowed.
func (c *compiler) dtype(allowed ...dtype) dtype {
	if len(c.mods) == 0 {
		c.errorf("%s needs a type", c.in.op)
	}
	t, ok := dtypes[c.mods[0]]
	if !ok || !slices.Contains(allowed, t) {
		c.errorf("%s: .%s is not supported", c.in.op, c.mods[0])
	}
	c.mods = c.mods[1:]
	return t
}

// operands checks the number of operands.
func (c *compiler) operands(n int) {
	if len(c.in.args) != n {
		c.errorf("%s has %s, not %d", c.in.op, plural(n, "operand"), len(c.in.args))
	}
}

// dst is the slot of destination i, a register of exactly the width of t.
func (c *compiler) dst(i int, t dtype) int32 { return c.dest(c.in.args[i], t, false) }

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
