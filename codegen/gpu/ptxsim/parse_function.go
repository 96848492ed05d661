package ptxsim

import (
	"fmt"
	"strings"
)

// scope has the names that are declared between braces: variables, and the registers of inner braces, which get a
// name of their own in the function.
type scope struct {
	vars map[string]*variable
	regs map[string]string
}

func newScope() scope { return scope{map[string]*variable{}, map[string]string{}} }

// function reads a declaration or definition after .entry or .func.
func (p *parser) function(entry bool) {
	f := &function{entry: entry, line: p.tok.line, regs: map[string]dtype{}, ranges: map[string]ranged{},
		labels: map[string]int{}, targets: map[string][]string{}}
	if !entry && p.is("(") {
		f.results = p.parameters()
	}
	f.name = p.word()
	if p.is("(") {
		f.params = p.parameters()
	}
	p.attributes(f)
	old := p.m.funcs[f.name]
	switch {
	case old == nil:
		p.m.funcs[f.name] = f
	case old.body:
		if p.is("{") {
			p.errorf("function %s is defined twice", f.name)
		}
	default:
		// Calls and references made before the definition mean the same function.
		*old = *f
		f = old
	}
	if p.accept(";") {
		return
	}
	f.body = true
	f.paramBytes = layout(f.params)
	f.areaBytes = layout(append(append([]*variable{}, f.params...), f.results...))
	for _, v := range f.params {
		v.launch = entry
	}
	p.f, p.loc = f, location{}
	p.scopes = []scope{newScope()}
	for _, v := range append(append([]*variable{}, f.params...), f.results...) {
		p.scopes[0].vars[v.name] = v
	}
	p.expect("{")
	p.body()
	if f.areaBytes > maxArea {
		p.fail(f.line, "%s has %d bytes of parameters, and %d are possible", f.name, f.areaBytes, maxArea)
	}
	p.f, p.scopes = nil, nil
}

// maxArea limits the parameters of a function together with its variables for calls. The hardware has 4 KiB for a
// kernel.
const maxArea = 1 << 16

// parameters reads (.param .b32 a, .param .b64 b).
func (p *parser) parameters() []*variable {
	var vars []*variable
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
func (p *parser) attributes(f *function) {
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
			f.maxThreads = n[0] * n[1] * n[2]
			if required {
				f.required = n
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
			p.errorf("function %s does not end", p.f.name)
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
	t, ok := dtypes[strings.TrimPrefix(p.tok.text, ".")]
	if !ok || t == b8 || t == u8 || t == s8 {
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
func (p *parser) innerRegister(name string, t dtype) {
	own := fmt.Sprintf("%s@%d", name, len(p.f.regs))
	p.f.regs[own] = t
	p.scopes[len(p.scopes)-1].regs[name] = own
}

// localVariable reads a variable of a function. Shared, global and constant ones are memory of the module.
func (p *parser) localVariable() {
	v := p.variable(false)
	p.expect(";")
	switch v.space {
	case param:
		p.f.areaBytes = alignUp(p.f.areaBytes, v.align)
		v.offset = p.f.areaBytes
		p.f.areaBytes += v.size
	case local:
		p.f.localBytes = alignUp(p.f.localBytes, v.align)
		v.offset = p.f.localBytes
		p.f.localBytes += v.size
	default:
		p.m.vars = append(p.m.vars, v)
	}
	p.scopes[len(p.scopes)-1].vars[v.name] = v
}

// location reads .loc file line column and what may follow it for inlined functions.
func (p *parser) location() {
	p.loc = location{p.count(1 << 20), p.count(1 << 31), p.count(1 << 31)}
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
			p.f.targets[name] = append(p.f.targets[name], p.word())
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
	if _, ok := p.f.labels[name]; ok {
		p.errorf("label %s is there twice", name)
	}
	p.f.labels[name] = len(p.f.source)
	return true
}

// instruction reads one instruction with its guard and operands.
func (p *parser) instruction() {
	in := &instr{line: p.tok.line, loc: p.loc}
	if p.accept("@") {
		in.not = p.accept("!")
		guard := p.named()
		in.guard = &guard
		in.line = p.tok.line
	}
	if p.tok.kind != tokWord || strings.HasPrefix(p.tok.text, ".") {
		p.errorf("expected an instruction, found %q", p.tok.text)
	}
	words := strings.Split(p.advance().text, ".")
	in.op, in.mods = words[0], words[1:]
	for !p.accept(";") {
		if p.tok.kind == tokEnd {
			p.errorf("an instruction does not end")
		}
		if len(in.args) > 0 {
			p.expect(",")
		}
		in.args = append(in.args, p.operand())
	}
	p.f.source = append(p.f.source, in)
	if len(p.f.source) > 1<<22 {
		p.errorf("a function has more than %d instructions", 1<<22)
	}
}

func (p *parser) operand() operand {
	a := p.operand1()
	if p.accept("|") {
		return operand{kind: argPair, list: []operand{a, p.operand1()}}
	}
	return a
}

func (p *parser) operand1() operand {
	switch {
	case p.accept("_"):
		return operand{kind: argAny}
	case p.accept("!"):
		a := p.named()
		a.not = true
		return a
	case p.accept("["):
		return p.memory()
	case p.is("{"), p.is("("):
		a, end := operand{kind: argVector}, "}"
		if p.advance().text == "(" {
			a.kind, end = argList, ")"
		}
		for !p.accept(end) {
			if len(a.list) > 0 {
				p.expect(",")
			}
			a.list = append(a.list, p.operand1())
			if len(a.list) > 255 || p.tok.kind == tokEnd {
				p.errorf("a list of operands does not end")
			}
		}
		return a
	case p.tok.kind == tokWord:
		a := p.named()
		if a.kind == argSymbol && p.accept("+") {
			a.add = p.number()
		}
		return a
	}
	return p.immediate()
}

// named reads a register, a special register or a symbol.
func (p *parser) named() operand {
	a := operand{kind: argSymbol, name: p.word()}
	for i := len(p.scopes) - 1; i > 0; i-- {
		if own, ok := p.scopes[i].regs[a.name]; ok {
			return operand{kind: argReg, name: own}
		}
	}
	if a.name == "WARP_SZ" {
		return operand{kind: argInt, bits: 32}
	}
	if _, ok := p.f.register(a.name); ok {
		a.kind = argReg
		return a
	}
	if a.v = p.lookup(a.name); a.v == nil && strings.HasPrefix(a.name, "%") {
		a.kind = argReg // a special register, or an error that compile reports
	}
	return a
}

// memory reads [base + add] after the bracket.
func (p *parser) memory() operand {
	a := operand{kind: argMemory}
	if p.tok.kind == tokWord {
		b := p.named()
		a.name, a.v = b.name, b.v
		if p.accept("+") || p.is("-") {
			a.add = p.number()
		}
	} else {
		a.add = p.number()
	}
	p.expect("]")
	return a
}

// register is the type of a register.
func (f *function) register(name string) (dtype, bool) {
	if t, ok := f.regs[name]; ok {
		return t, true
	}
	end := len(name)
	for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
		end--
	}
	r, ok := f.ranges[name[:end]]
	if !ok || end == len(name) || len(name)-end > 8 {
		return noType, false
	}
	n := 0
	for _, c := range name[end:] {
		n = 10*n + int(c-'0')
	}
	return r.t, n < r.n && (name[end] != '0' || end+1 == len(name))
}

// lookup finds a variable by its name: in the scopes, innermost first, then in the module.
func (p *parser) lookup(name string) *variable {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if v := p.scopes[i].vars[name]; v != nil {
			return v
		}
	}
	return p.names[name]
}
