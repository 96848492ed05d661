package ptxsim

import (
	"fmt"
	"slices"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// compiler translates one function. in is the instruction at hand and o what becomes of it; mods and the
// methods below take it apart.
type compiler struct {
	m    *machine.Module
	f    *machine.Function
	in   *ptx.Instruction
	o    *machine.Op
	mods []string

	slots  map[string]int32
	preds  map[string]int32
	consts map[uint64]int32
}

// Parse reads the text of a PTX module and translates its functions. The name is for messages. The error is a
// *ptx.Error for the first line that is wrong, not known or not implemented.
func Parse(name, text string) (m *machine.Module, err error) {
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
func translate(source *ptx.Module) *machine.Module {
	m := &machine.Module{Module: source, Code: map[string]*machine.Function{}}
	for name, f := range source.Functions {
		m.Code[name] = &machine.Function{Function: f}
	}
	for _, f := range m.Code {
		if f.Defined {
			c := &compiler{m: m, f: f, slots: map[string]int32{}, preds: map[string]int32{}, consts: map[uint64]int32{}}
			c.function()
		}
	}
	return m
}

func (c *compiler) function() {
	start := make([]int32, len(c.f.Instructions)+1) // in Code, of each instruction
	for i, in := range c.f.Instructions {
		start[i] = int32(len(c.f.Code))
		c.instruction(in)
	}
	start[len(c.f.Instructions)] = int32(len(c.f.Code))
	// Running into the end is a return.
	end := &ptx.Instruction{Line: c.f.Line, Opcode: "ret"}
	if n := len(c.f.Instructions); n > 0 {
		end.Line, end.Location = c.f.Instructions[n-1].Line, c.f.Instructions[n-1].Location
	}
	c.instruction(end)
	for i := range c.f.Code {
		o := &c.f.Code[i]
		switch {
		case o.Kind == machine.OpBranch && o.Target < 0: // skips the next instruction for lanes without its guard
			o.Target = int32(i + 2)
		case o.Kind == machine.OpBranch:
			o.Target = start[c.label(o.Instruction, o.Instruction.Operands[0].Name)]
		case o.Kind == machine.OpIndexed:
			name := o.Instruction.Operands[1].Name
			list, ok := c.f.Targets[name]
			if !ok {
				c.fail(o.Instruction.Line, "there is no list of targets %s", name)
			}
			for _, l := range list {
				o.Targets = append(o.Targets, start[c.label(o.Instruction, l)])
			}
		}
	}
	setJoins(c.f)
	c.f.Tracked = mayReadUndefined(c.f)
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
	o := machine.Op{Guard: -1, Instruction: in, Target: -1, Join: -1}
	c.o = &o
	form(c)
	if len(c.mods) > 0 {
		c.errorf("%s: modifier .%s is not supported here", in.Opcode, c.mods[0])
	}
	if in.Guard != nil {
		guarded := &o
		skip := machine.Op{Kind: machine.OpBranch, Instruction: in, Target: -1, Join: -1}
		if o.Kind != machine.OpPlain && o.Kind != machine.OpBranch {
			guarded = &skip
		}
		c.o = guarded
		guarded.Guard, _ = c.predicate(*in.Guard)
		guarded.GuardNegated = in.Negated
		if guarded == &skip {
			skip.GuardNegated = !in.Negated
			c.f.Code = append(c.f.Code, skip)
		}
	}
	c.f.Code = append(c.f.Code, o)
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
