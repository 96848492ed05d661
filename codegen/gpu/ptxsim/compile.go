package ptxsim

import (
	"fmt"
	"slices"

	"healc/codegen/gpu/ptx"
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
	in     *ptx.Instruction

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
	// +1: an operand that is true decides what an instruction of predicates gives; -1: one that is false
	decides int
	negated [2]bool // of puses, for decides

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
	v       *ptx.Variable
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
	m    *Module
	f    *function
	in   *ptx.Instruction
	o    *op
	mods []string

	slots  map[string]int32
	preds  map[string]int32
	consts map[uint64]int32
}

// Parse reads the text of a PTX module and translates its functions. The name is for messages. The error is a
// *ptx.Error for the first line that is wrong, not known or not implemented.
func Parse(name, text string) (m *Module, err error) {
	source, err := ptx.Parse(name, text)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*ptx.Error)
			if !ok {
				panic(r)
			}
			m, err = nil, e
		}
	}()
	return translate(source), nil
}

// translate translates all functions of a module.
func translate(source *ptx.Module) *Module {
	m := &Module{Module: source, funcs: map[string]*function{}}
	for name, f := range source.Functions {
		m.funcs[name] = &function{Function: f}
	}
	for _, f := range m.funcs {
		if f.Defined {
			c := &compiler{m: m, f: f, slots: map[string]int32{}, preds: map[string]int32{}, consts: map[uint64]int32{}}
			c.function()
		}
	}
	return m
}

func (c *compiler) function() {
	start := make([]int32, len(c.f.Instructions)+1) // in code, of each instruction of instrs
	for i, in := range c.f.Instructions {
		start[i] = int32(len(c.f.code))
		c.instruction(in)
	}
	start[len(c.f.Instructions)] = int32(len(c.f.code))
	// Running into the end is a return.
	end := &ptx.Instruction{Line: c.f.Line, Opcode: "ret"}
	if n := len(c.f.Instructions); n > 0 {
		end.Line, end.Location = c.f.Instructions[n-1].Line, c.f.Instructions[n-1].Location
	}
	c.instruction(end)
	for i := range c.f.code {
		o := &c.f.code[i]
		switch {
		case o.kind == opBranch && o.target < 0: // skips the next instruction for lanes without its guard
			o.target = int32(i + 2)
		case o.kind == opBranch:
			o.target = start[c.label(o.in, o.in.Operands[0].Name)]
		case o.kind == opIndexed:
			name := o.in.Operands[1].Name
			list, ok := c.f.Targets[name]
			if !ok {
				c.fail(o.in.Line, "there is no list of targets %s", name)
			}
			for _, l := range list {
				o.targets = append(o.targets, start[c.label(o.in, l)])
			}
		}
	}
	c.f.joins()
	c.f.tracked = c.f.mayReadUndefined()
}

func (c *compiler) label(in *ptx.Instruction, name string) int {
	i, ok := c.f.Labels[name]
	if !ok {
		c.fail(in.Line, "there is no label %s", name)
	}
	return i
}

// instruction translates one instruction. What is not opPlain or a branch never has a guard: a branch around it stands
// before it.
func (c *compiler) instruction(in *ptx.Instruction) {
	c.in, c.mods = in, in.Modifiers
	form, ok := instructions[in.Opcode]
	if !ok {
		c.errorf("instruction %s is not known", in.Opcode)
	}
	o := op{guard: -1, in: in, target: -1, join: -1}
	c.o = &o
	form(c)
	if len(c.mods) > 0 {
		c.errorf("%s: modifier .%s is not supported here", in.Opcode, c.mods[0])
	}
	if in.Guard != nil {
		guarded := &o
		skip := op{kind: opBranch, in: in, target: -1, join: -1}
		if o.kind != opPlain && o.kind != opBranch {
			guarded = &skip
		}
		c.o = guarded
		guarded.guard, _ = c.predicate(*in.Guard)
		guarded.not = in.Negated
		if guarded == &skip {
			skip.not = !in.Negated
			c.f.code = append(c.f.code, skip)
		}
	}
	c.f.code = append(c.f.code, o)
}

// fail stops the translation with an error at a line; Parse recovers it.
func (c *compiler) fail(line int, format string, args ...any) {
	panic(c.m.Errorf(line, format, args...))
}

func (c *compiler) errorf(format string, args ...any) { c.fail(c.in.Line, format, args...) }

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
func (c *compiler) dtype(allowed ...ptx.Type) ptx.Type {
	if len(c.mods) == 0 {
		c.errorf("%s needs a type", c.in.Opcode)
	}
	t, ok := ptx.TypeNamed(c.mods[0])
	if !ok || !slices.Contains(allowed, t) {
		c.errorf("%s: .%s is not supported", c.in.Opcode, c.mods[0])
	}
	c.mods = c.mods[1:]
	return t
}

// operands checks the number of operands.
func (c *compiler) operands(n int) {
	if len(c.in.Operands) != n {
		c.errorf("%s has %s, not %d", c.in.Opcode, plural(n, "operand"), len(c.in.Operands))
	}
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
