package ptx

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Parse reads the text of a PTX module. The name is for messages. The error is a *ParseError for the first line that
// is wrong or not known.
func Parse(name, text string) (m *Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			m, err = nil, e
		}
	}()
	p := &parser{
		lexer: lexer{name: name, src: text, line: 1},
		m:     &Module{Name: name, text: text, Files: map[int]string{}, Functions: map[string]*Function{}},
		names: map[string]*Variable{},
	}
	p.advance()
	p.module()
	p.references()
	return p.m, nil
}

// parser reads declarations and functions. tok is the token to be read next.
type parser struct {
	lexer
	tok   token
	m     *Module
	names map[string]*Variable // of the module

	f      *Function // being read
	scopes []scope   // of f, innermost last
	loc    Location
}

// advance returns the current token and reads the next one.
func (p *parser) advance() token {
	t := p.tok
	p.tok = p.lexer.next()
	return t
}

func (p *parser) errorf(format string, args ...any) { p.fail(p.tok.line, format, args...) }

// is says whether the current token is this punctuation or word.
func (p *parser) is(text string) bool {
	return p.tok.text == text && (p.tok.kind == tokPunct || p.tok.kind == tokWord)
}

// accept reads the token if it is this one.
func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.errorf("expected %q, found %q", text, p.tok.text)
	}
}

func (p *parser) word() string {
	if p.tok.kind != tokWord {
		p.errorf("expected a name, found %q", p.tok.text)
	}
	return p.advance().text
}

// number reads an integer with its sign.
func (p *parser) number() int64 {
	neg := p.accept("-")
	if p.tok.kind != tokNumber {
		p.errorf("expected a number, found %q", p.tok.text)
	}
	v, err := strconv.ParseUint(strings.TrimSuffix(p.tok.text, "U"), 0, 64)
	if err != nil {
		p.errorf("%q is not an integer", p.tok.text)
	}
	p.advance()
	if neg {
		return -int64(v)
	}
	return int64(v)
}

// count reads a number that is a size: not negative, at most limit.
func (p *parser) count(limit int64) int {
	v := p.number()
	if v < 0 || v > limit {
		p.errorf("%d is not between 0 and %d", v, limit)
	}
	return int(v)
}

// module reads everything.
func (p *parser) module() {
	for p.tok.kind != tokEnd {
		switch {
		case p.accept(".version"):
			p.m.Version = p.advance().text
		case p.accept(".target"):
			p.m.Target = p.word()
			for p.accept(",") {
				p.word()
			}
		case p.accept(".address_size"):
			if n := p.number(); n != 64 {
				p.errorf("addresses of %d bits are not supported", n)
			}
		case p.is(".file"):
			p.file()
		case p.is(".section"):
			p.section()
		default:
			p.declaration()
		}
	}
	if p.m.Version == "" {
		p.errorf("there is no .version")
	}
}

// references checks that the initial values of variables name variables whose addresses are known.
func (p *parser) references() {
	for _, v := range p.m.Variables {
		for _, r := range v.Refs {
			if t := p.names[r.Name]; t == nil || t.Space != Global && t.Space != Const {
				p.fail(v.line, "the value of %s is the address of %s, which is no global variable", v.Name, r.Name)
			}
		}
	}
}

// file reads .file N "name" [, time, size].
func (p *parser) file() {
	p.advance()
	n := p.count(1 << 20)
	if p.tok.kind != tokString {
		p.errorf("expected the name of a file")
	}
	p.m.Files[n] = p.advance().text
	for p.accept(",") {
		p.number()
	}
}

// section skips a section of DWARF.
func (p *parser) section() {
	p.advance()
	p.word()
	p.expect("{")
	for depth := 1; depth > 0; {
		switch t := p.advance(); {
		case t.kind == tokEnd:
			p.errorf("a section does not end")
		case t.kind == tokPunct && t.text == "{":
			depth++
		case t.kind == tokPunct && t.text == "}":
			depth--
		}
	}
}

// declaration reads a variable or a function of the module with its linkage.
func (p *parser) declaration() {
	extern := false
	for {
		switch {
		case p.accept(".extern"):
			extern = true
			continue
		case p.accept(".visible"), p.accept(".weak"), p.accept(".common"):
			continue
		case p.accept(".entry"):
			p.function(true)
		case p.accept(".func"):
			p.function(false)
		case p.accept(".pragma"):
			p.advance()
			p.expect(";")
		default:
			v := p.variable(extern)
			if p.names[v.Name] != nil {
				p.errorf("%s is declared twice", v.Name)
			}
			p.names[v.Name] = v
			p.m.Variables = append(p.m.Variables, v)
			p.expect(";")
		}
		return
	}
}

// variable reads a declaration from its state space on, without the semicolon.
func (p *parser) variable(extern bool) *Variable {
	v := &Variable{line: p.tok.line, Extern: extern}
	s, ok := SpaceNamed(strings.TrimPrefix(p.tok.text, "."))
	if !ok || p.tok.kind != tokWord || s == Register {
		p.errorf("%q is not supported here", p.tok.text)
	}
	v.Space = s
	p.advance()
	t := p.typed(v)
	v.Name = p.word()
	elems, array := p.extents()
	v.Size = elems * t.Bytes()
	if v.Size > 1<<31 {
		p.errorf("%s has more than 2 GiB", v.Name)
	}
	if v.Extern {
		if v.Space != Shared || !array || v.Size != 0 {
			p.errorf("%s: of external variables only arrays of shared memory without a size are supported", v.Name)
		}
	} else if array && elems == 0 && v.Space != Param {
		p.errorf("%s has no size", v.Name)
	}
	if p.accept("=") {
		if v.Space != Global && v.Space != Const {
			p.errorf("%s: a %s variable has no initial value", v.Name, v.Space)
		}
		p.initial(v, t)
	}
	return v
}

// typed reads alignment and type.
func (p *parser) typed(v *Variable) Type {
	for {
		text := strings.TrimPrefix(p.tok.text, ".")
		switch {
		case p.accept(".align"):
			v.Align = p.count(1 << 20)
			if v.Align == 0 || v.Align&(v.Align-1) != 0 {
				p.errorf("an alignment is a power of two, not %d", v.Align)
			}
		case p.is(".v2"), p.is(".v4"):
			p.errorf("variables of a vector type are not supported")
		default:
			t, ok := TypeNamed(text)
			if !ok || t == Pred {
				p.errorf("%q is not a type of a variable", p.tok.text)
			}
			p.advance()
			v.Align = max(v.Align, t.Bytes())
			if p.is(".ptr") {
				p.typedPointer()
			}
			return t
		}
	}
}

// typedPointer reads the attributes of a parameter that is a pointer: .ptr .global .align 4.
func (p *parser) typedPointer() {
	p.advance()
	for p.is(".global") || p.is(".shared") || p.is(".local") || p.is(".const") {
		p.advance()
	}
	if p.accept(".align") {
		p.number()
	}
}

// extents reads [4][8] and gives the number of elements; [] has none.
func (p *parser) extents() (n int, array bool) {
	n = 1
	for p.accept("[") {
		array = true
		if p.accept("]") {
			n = 0
			continue
		}
		n *= p.count(1 << 31)
		if n > 1<<31 {
			p.errorf("an array is too large")
		}
		p.expect("]")
	}
	return n, array
}

// initial reads the value of v after the equals sign.
func (p *parser) initial(v *Variable, t Type) {
	n := 0
	if p.accept("{") {
		for !p.accept("}") {
			if (n+1)*t.Bytes() > v.Size {
				p.errorf("%s has more values than elements", v.Name)
			}
			p.initialValue(v, t, n*t.Bytes())
			n++
			if !p.is("}") {
				p.expect(",")
			}
		}
		return
	}
	p.initialValue(v, t, 0)
}

func (p *parser) initialValue(v *Variable, t Type, offset int) {
	if p.tok.kind == tokWord {
		r := Reference{Offset: offset, Name: p.word()}
		if r.Name == "generic" && p.accept("(") {
			r.Generic, r.Name = true, p.word()
			p.expect(")")
		}
		if p.is("+") || p.is("-") {
			p.accept("+")
			r.Add = p.number()
		}
		if t.Bits() != 64 {
			p.errorf("an address has 64 bits, not the %d of %s", t.Bits(), t)
		}
		v.Refs = append(v.Refs, r)
		return
	}
	a := p.immediate()
	bits := a.Bits
	if a.Kind == FloatOperand {
		bits = a.FloatBits(t)
	}
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], bits)
	v.Init = append(v.Init, make([]byte, max(0, offset+t.Bytes()-len(v.Init)))...)
	copy(v.Init[offset:], raw[:t.Bytes()])
}

// immediate reads a number: 12, -0x1F, 0f3F800000, 0d3FF0000000000000, 1.5.
func (p *parser) immediate() Operand {
	neg := p.accept("-")
	text := p.tok.text
	if p.tok.kind != tokNumber {
		p.errorf("expected a number, found %q", text)
	}
	a := Operand{Kind: IntegerOperand}
	var err error
	switch {
	case strings.HasPrefix(text, "0f") || strings.HasPrefix(text, "0F"):
		a.Kind = FloatOperand
		a.Bits, err = strconv.ParseUint(text[2:], 16, 32)
		if neg {
			a.Bits ^= 1 << 31
		}
	case strings.HasPrefix(text, "0d") || strings.HasPrefix(text, "0D"):
		a.Kind, a.Wide = FloatOperand, true
		a.Bits, err = strconv.ParseUint(text[2:], 16, 64)
		if neg {
			a.Bits ^= 1 << 63
		}
	default:
		a.Bits, err = strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
		if neg {
			a.Bits = -a.Bits
		}
	}
	if err != nil {
		p.errorf("%q is not a number that is supported: write 0f and 0d with the bits", text)
	}
	p.advance()
	return a
}

// layout gives each variable the next multiple of its alignment, and the size of all.
func layout(vars []*Variable) int {
	n := 0
	for _, v := range vars {
		n = AlignUp(n, v.Align)
		v.Offset = n
		n += v.Size
	}
	return n
}

// AlignUp is the least multiple of an alignment that is not less than n.
func AlignUp(n, align int) int {
	if align <= 1 {
		return n
	}
	return (n + align - 1) / align * align
}
