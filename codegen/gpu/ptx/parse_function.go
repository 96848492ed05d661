package ptx

import (
	"fmt"
	"strings"
)

// scope has the names that are declared between braces: variables, and the registers of inner braces, which get a
// name of their own in the function.
type scope struct {
	vars map[string]*Variable
	regs map[string]string
}

func newScope() scope { return scope{map[string]*Variable{}, map[string]string{}} }

// function reads a declaration or definition after .entry or .func.
func (p *parser) function(entry bool) {
	f := &Function{Entry: entry, Line: p.tok.line, regs: map[string]Type{}, ranges: map[string]ranged{},
		Labels: map[string]int{}, Targets: map[string][]string{}}
	if !entry && p.is("(") {
		f.Results = p.parameters()
	}
	f.Name = p.word()
	if p.is("(") {
		f.Params = p.parameters()
	}
	p.attributes(f)
	old := p.m.Functions[f.Name]
	switch {
	case old == nil:
		p.m.Functions[f.Name] = f
	case old.Defined:
		if p.is("{") {
			p.errorf("function %s is defined twice", f.Name)
		}
	default:
		// Calls and references made before the definition mean the same function.
		*old = *f
		f = old
	}
	f.ParamBytes = layout(f.Params)
	f.AreaBytes = layout(append(append([]*Variable{}, f.Params...), f.Results...))
	if p.accept(";") {
		return
	}
	f.Defined = true
	for _, v := range f.Params {
		v.OfEntry = entry
	}
	p.f, p.loc = f, Location{}
	p.scopes = []scope{newScope()}
	for _, v := range append(append([]*Variable{}, f.Params...), f.Results...) {
		p.scopes[0].vars[v.Name] = v
	}
	p.expect("{")
	p.body()
	if f.AreaBytes > maxArea {
		p.fail(f.Line, "%s has %d bytes of parameters, and %d are possible", f.Name, f.AreaBytes, maxArea)
	}
	p.f, p.scopes = nil, nil
}

// maxArea limits the parameters of a function together with its variables for calls. The hardware has 4 KiB for a
// kernel.
const maxArea = 1 << 16

// parameters reads (.param .b32 a, .param .b64 b).
func (p *parser) parameters() []*Variable {
	var vars []*Variable
	p.expect("(")
	for !p.accept(")") {
		if len(vars) > 0 {
			p.expect(",")
		}
		if !p.is(".param") {
			p.errorf("parameters that are no .param are not supported")
		}
		vars = append(vars, p.variable(false))
	}
	return vars
}

// attributes reads the directives between the parameters and the body of a function.
func (p *parser) attributes(f *Function) {
	for {
		switch {
		case p.accept(".maxntid"), p.is(".reqntid"):
			required := p.accept(".reqntid")
			n := [3]int{1, 1, 1}
			for i := range n {
				n[i] = p.count(1 << 20)
				if i == 2 || !p.accept(",") {
					break
				}
			}
			f.MaxThreads = n[0] * n[1] * n[2]
			if required {
				f.Required = n
			}
		case p.accept(".minnctapersm"), p.accept(".maxnreg"), p.accept(".maxnctapersm"):
			p.number()
		case p.accept(".noreturn"):
		case p.accept(".pragma"):
			p.advance()
			p.accept(";")
		default:
			return
		}
	}
}

// body reads statements up to the closing brace of the function.
func (p *parser) body() {
	for depth := 1; ; {
		switch {
		case p.tok.kind == tokEnd:
			p.errorf("function %s does not end", p.f.Name)
		case p.accept("{"):
			depth++
			p.scopes = append(p.scopes, newScope())
		case p.accept("}"):
			depth--
			p.scopes = p.scopes[:len(p.scopes)-1]
			if depth == 0 {
				return
			}
		default:
			p.statement()
		}
	}
}

func (p *parser) statement() {
	switch {
	case p.accept(".reg"):
		p.registers()
	case p.is(".param") || p.is(".local") || p.is(".shared") || p.is(".global") || p.is(".const"):
		p.localVariable()
	case p.accept(".loc"):
		p.location()
	case p.accept(".pragma"):
		p.advance()
		p.expect(";")
	case p.is(".file"):
		p.file()
	case p.accept(";"):
	case p.tok.kind == tokWord && !strings.HasPrefix(p.tok.text, ".") && p.label():
	default:
		p.instruction()
	}
}

// registers reads .reg .b32 %r<10>, %a;
func (p *parser) registers() {
	t, ok := TypeNamed(strings.TrimPrefix(p.tok.text, "."))
	if !ok || t == B8 || t == U8 || t == S8 {
		p.errorf("%q is not a type of a register", p.tok.text)
	}
	p.advance()
	for {
		name := p.word()
		inner := len(p.scopes) > 1
		switch {
		case p.accept("<"):
			n := p.count(1 << 24)
			p.expect(">")
			if !inner {
				p.f.ranges[name] = ranged{t, n}
				break
			}
			if n > maxInner {
				p.errorf("%d registers between inner braces are not supported", n)
			}
			for i := range n {
				p.innerRegister(fmt.Sprint(name, i), t)
			}
		case inner:
			p.innerRegister(name, t)
		default:
			if old, ok := p.f.regs[name]; ok && old != t {
				p.errorf("register %s is declared with two types", name)
			}
			p.f.regs[name] = t
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(";")
}

// maxInner limits the registers that one declaration between inner braces makes.
const maxInner = 1 << 10

// innerRegister declares a register that is known up to the closing brace.
func (p *parser) innerRegister(name string, t Type) {
	own := fmt.Sprintf("%s@%d", name, len(p.f.regs))
	p.f.regs[own] = t
	p.scopes[len(p.scopes)-1].regs[name] = own
}

// localVariable reads a variable of a function. Shared, global and constant ones are memory of the module.
func (p *parser) localVariable() {
	v := p.variable(false)
	p.expect(";")
	switch v.Space {
	case Param:
		p.f.AreaBytes = AlignUp(p.f.AreaBytes, v.Align)
		v.Offset = p.f.AreaBytes
		p.f.AreaBytes += v.Size
	case Local:
		p.f.LocalBytes = AlignUp(p.f.LocalBytes, v.Align)
		v.Offset = p.f.LocalBytes
		p.f.LocalBytes += v.Size
	default:
		p.m.Variables = append(p.m.Variables, v)
	}
	p.scopes[len(p.scopes)-1].vars[v.Name] = v
}

// location reads .loc file line column and what may follow it for inlined functions.
func (p *parser) location() {
	p.loc = Location{p.count(1 << 20), p.count(1 << 31), p.count(1 << 31)}
	for p.accept(",") {
		switch p.word() {
		case "function_name":
			p.word()
			if p.accept("+") {
				p.number()
			}
		case "inlined_at":
			p.number()
			p.number()
			p.number()
		default:
			p.errorf("an attribute of .loc is not known")
		}
	}
}

// label reads "name:" and, for a list of targets, the list. It reads nothing if the word is no label.
func (p *parser) label() bool {
	save, tok := p.lexer, p.tok
	name := p.word()
	if !p.accept(":") {
		p.lexer, p.tok = save, tok
		return false
	}
	if p.accept(".branchtargets") {
		for {
			p.f.Targets[name] = append(p.f.Targets[name], p.word())
			if !p.accept(",") {
				break
			}
		}
		p.expect(";")
		return true
	}
	if p.is(".callprototype") || p.is(".calltargets") {
		p.errorf("indirect calls are not supported")
	}
	if _, ok := p.f.Labels[name]; ok {
		p.errorf("label %s is there twice", name)
	}
	p.f.Labels[name] = len(p.f.Instructions)
	return true
}

// instruction reads one instruction with its guard and operands.
func (p *parser) instruction() {
	in := &Instruction{Line: p.tok.line, Location: p.loc}
	if p.accept("@") {
		in.Negated = p.accept("!")
		guard := p.named()
		in.Guard = &guard
		in.Line = p.tok.line
	}
	if p.tok.kind != tokWord || strings.HasPrefix(p.tok.text, ".") {
		p.errorf("expected an instruction, found %q", p.tok.text)
	}
	words := strings.Split(p.advance().text, ".")
	in.Opcode, in.Modifiers = words[0], words[1:]
	for !p.accept(";") {
		if p.tok.kind == tokEnd {
			p.errorf("an instruction does not end")
		}
		if len(in.Operands) > 0 {
			p.expect(",")
		}
		in.Operands = append(in.Operands, p.operand())
	}
	p.f.Instructions = append(p.f.Instructions, in)
	if len(p.f.Instructions) > 1<<22 {
		p.errorf("a function has more than %d instructions", 1<<22)
	}
}

func (p *parser) operand() Operand {
	a := p.operand1()
	if p.accept("|") {
		return Operand{Kind: PairOperand, List: []Operand{a, p.operand1()}}
	}
	return a
}

func (p *parser) operand1() Operand {
	switch {
	case p.accept("_"):
		return Operand{Kind: SinkOperand}
	case p.accept("!"):
		a := p.named()
		a.Not = true
		return a
	case p.accept("["):
		return p.memory()
	case p.is("{"), p.is("("):
		a, end := Operand{Kind: VectorOperand}, "}"
		if p.advance().text == "(" {
			a.Kind, end = ListOperand, ")"
		}
		for !p.accept(end) {
			if len(a.List) > 0 {
				p.expect(",")
			}
			a.List = append(a.List, p.operand1())
			if len(a.List) > 255 || p.tok.kind == tokEnd {
				p.errorf("a list of operands does not end")
			}
		}
		return a
	case p.tok.kind == tokWord:
		a := p.named()
		if a.Kind == SymbolOperand && p.accept("+") {
			a.Offset = p.number()
		}
		return a
	}
	return p.immediate()
}

// named reads a register, a special register or a symbol.
func (p *parser) named() Operand {
	a := Operand{Kind: SymbolOperand, Name: p.word()}
	for i := len(p.scopes) - 1; i > 0; i-- {
		if own, ok := p.scopes[i].regs[a.Name]; ok {
			return Operand{Kind: RegisterOperand, Name: own}
		}
	}
	if a.Name == "WARP_SZ" {
		return Operand{Kind: IntegerOperand, Bits: 32}
	}
	if _, ok := p.f.Register(a.Name); ok {
		a.Kind = RegisterOperand
		return a
	}
	if a.Variable = p.lookup(a.Name); a.Variable == nil && strings.HasPrefix(a.Name, "%") {
		a.Kind = RegisterOperand // a special register, or a register that is not declared
	}
	return a
}

// memory reads [base + add] after the bracket.
func (p *parser) memory() Operand {
	a := Operand{Kind: MemoryOperand}
	if p.tok.kind == tokWord {
		b := p.named()
		a.Name, a.Variable = b.Name, b.Variable
		if p.accept("+") || p.is("-") {
			a.Offset = p.number()
		}
	} else {
		a.Offset = p.number()
	}
	p.expect("]")
	return a
}

// lookup finds a variable by its name: in the scopes, innermost first, then in the module.
func (p *parser) lookup(name string) *Variable {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if v := p.scopes[i].vars[name]; v != nil {
			return v
		}
	}
	return p.names[name]
}
