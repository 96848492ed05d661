package ir

import (
	"fmt"

	"healc/ir/scalar"
	"healc/ir/scan"
	"healc/lang/diag"
	"healc/lang/types"
)

// Parse reads the text form (see Note [IR text]). Spans point into file. It checks the syntax, that every
// value is defined before it is used, and every result type against the table; Verify checks the rest.
// A syntax error ends the work, other errors are collected. The module is nil when there are errors;
// the list is never nil. The text is not a user's program, so that its diagnostics have no code.
func Parse(file *diag.File) (*Module, *diag.List) {
	p := &parser{Scanner: scan.New(file), values: map[string]*Value{}}
	m := &Module{}
	p.Run(func() { p.module(m) })
	p.List.Sort()
	if p.List.HasErrors() {
		return nil, &p.List
	}
	return m, &p.List
}

// maxNesting bounds the depth of regions, and with it the stack that passes need.
const maxNesting = 1000

type parser struct {
	*scan.Scanner
	values map[string]*Value // the visible values; nil is not stored
	depth  int
}

// --- module, functions, blocks ---

func (p *parser) module(m *Module) {
	if !p.AcceptWord("module") {
		p.Fail("expected `module`")
	}
	m.Name = p.Str()
	for !p.Done() {
		m.Funcs = append(m.Funcs, p.fn())
	}
}

func (p *parser) fn() *Func {
	start := p.Pos
	f := &Func{Public: p.AcceptWord("pub"), IO: p.AcceptWord("io"), Body: &Block{}}
	if !p.AcceptWord("func") {
		p.Fail("expected `func`")
	}
	f.Name = p.Sym()
	f.Span = p.Span(start, p.Pos)
	if p.Peek("[") {
		p.Items("[", "]", func() { f.Dims = append(f.Dims, p.shapeParam()) })
	}
	leave := p.params(f.Body)
	p.Expect("->")
	if p.Peek("(") {
		p.Items("(", ")", func() { f.Results = append(f.Results, p.Type()) })
	} else {
		f.Results = []types.Tensor{p.Type()}
	}
	if p.AcceptWord("updates") {
		for _, v := range p.operands() {
			f.Updates = append(f.Updates, int64(v.Index))
		}
	}
	p.block(f.Body, "return")
	leave()
	return f
}

// shapeParam reads a name as types.Dim has them; those of the checker may hold other marks than a word.
func (p *parser) shapeParam() string {
	p.Skip()
	at := p.Pos
	d := p.Dim(",]")
	name, ok := d.AsParam()
	if !ok {
		p.FailAt(at, "expected the name of a shape parameter")
	}
	return name
}

// params reads the parameters of b; the function it returns ends their scope.
func (p *parser) params(b *Block) func() {
	var mine []string
	p.Items("(", ")", func() {
		name, at := p.Value()
		p.Expect(":")
		v := b.Param("", p.Type(), at)
		if isParamName(name) {
			v.Name = name
		}
		p.define(name, v, &mine)
	})
	return func() { p.leave(mine) }
}

func (p *parser) define(name string, v *Value, mine *[]string) {
	if p.values[name] != nil {
		p.ErrorAt(v.Span, "%%%s is already defined", name)
		return
	}
	p.values[name] = v
	*mine = append(*mine, name)
}

func (p *parser) leave(mine []string) {
	for _, n := range mine {
		delete(p.values, n)
	}
}

// block reads the operations of b up to the word end and the yields, all in braces.
func (p *parser) block(b *Block, end string) {
	if p.depth++; p.depth > maxNesting {
		p.Fail("regions are nested more than %d deep", maxNesting)
	}
	var mine []string
	p.Expect("{")
	for !p.AcceptWord(end) {
		b.Ops = append(b.Ops, p.op(&mine))
	}
	b.Yields = p.operands()
	p.Expect("}")
	p.leave(mine)
	p.depth--
}

func (p *parser) operands() []*Value {
	var vs []*Value
	for p.Peek("%") {
		name, at := p.Value()
		v := p.values[name]
		if v == nil {
			p.ErrorAt(at, "%%%s is not defined here", name)
			v = &Value{Type: types.Tensor{}, Span: at}
		}
		vs = append(vs, v)
		if !p.Accept(",") {
			break
		}
		if !p.Peek("%") {
			p.Fail("expected a value after the comma")
		}
	}
	return vs
}

// --- operations ---

func (p *parser) op(mine *[]string) *Op {
	p.Skip()
	start := p.Pos
	type result struct {
		name string
		at   diag.Span
		t    types.Tensor
	}
	var results []result
	for p.Peek("%") {
		name, at := p.Value()
		p.Expect(":")
		results = append(results, result{name, at, p.Type()})
		if !p.Accept(",") {
			p.Expect("=")
			break
		}
		if !p.Peek("%") {
			p.Fail("expected a value after the comma")
		}
	}
	p.Skip()
	at := p.Pos
	name := p.Word("an operation")
	def := Lookup(name)
	if def == nil {
		p.FailAt(at, "there is no operation %q", name)
	}
	op := &Op{Def: def, Args: p.operands(), Attrs: make(Attrs, len(def.Attrs))}
	if p.Peek("{") {
		p.Items("{", "}", func() { p.attr(op) })
	}
	op.Span = p.Span(start, p.Pos)
	for p.Accept("^") {
		r := &Block{}
		leave := p.params(r)
		p.block(r, "yield")
		leave()
		op.Regions = append(op.Regions, r)
	}
	ts := make([]types.Tensor, len(results))
	for i, r := range results {
		ts[i] = r.t
	}
	p.checkTypes(op, ts)
	op.SetResults(ts)
	for i, r := range results {
		op.Results[i].Span = r.at
		p.define(r.name, op.Results[i], mine)
		op.Results[i].Span = op.Span
	}
	return op
}

// checkTypes compares the types that the text gives with those of the table.
func (p *parser) checkTypes(op *Op, ts []types.Tensor) {
	for _, a := range op.Args {
		if a.Type.Elem == types.Invalid {
			return // reported where it is used
		}
	}
	want, err := op.Def.Infer(ArgTypes(op.Args), op.Attrs, op.Regions)
	if err != nil {
		p.ErrorAt(op.Span, "%s: %s", op.Def.Name, err)
		return
	}
	if !sameTypes(want, ts) {
		p.ErrorAt(op.Span, "%s gives (%s), not (%s)", op.Def.Name, joinTypes(want), joinTypes(ts))
	}
}

// attr reads `name = value`; the table says what kind of value.
func (p *parser) attr(op *Op) {
	p.Skip()
	at := p.Pos
	name := p.Word("the name of an attribute")
	i := 0
	for i < len(op.Def.Attrs) && op.Def.Attrs[i].Name != name {
		i++
	}
	if i == len(op.Def.Attrs) || op.Attrs[i] != nil {
		if i == len(op.Def.Attrs) {
			p.FailAt(at, "%s has no attribute %q", op.Def.Name, name)
		}
		p.FailAt(at, "attribute %q is given twice", name)
	}
	p.Expect("=")
	op.Attrs[i] = p.attrValue(op.Def.Attrs[i].Kind)
}

func (p *parser) attrValue(k AttrKind) any {
	switch k {
	case AttrInt:
		return p.Integer()
	case AttrInts:
		out := []int64{}
		p.Items("[", "]", func() { out = append(out, p.Integer()) })
		return out
	case AttrFlag:
		if !p.AcceptWord("true") {
			p.Fail("expected `true`; a flag that is false is left out")
		}
		return true
	case AttrStr:
		return p.Str()
	case AttrDType:
		return p.DType()
	case AttrDim:
		return p.Dim(",}")
	case AttrDims:
		return p.Dims()
	case AttrArray:
		return p.array()
	case AttrTypes:
		out := []types.Tensor{}
		p.Items("[", "]", func() { out = append(out, p.Type()) })
		return out
	}
	panic(fmt.Sprintf("BUG: attribute kind %d", k))
}

// array reads a type and the elements of a constant.
func (p *parser) array() *Array {
	p.Skip()
	at := p.Pos
	t := p.Type()
	shape, ok := t.Shape.Ints()
	a := &Array{DType: t.Elem, Shape: shape, Bits: []uint64{}}
	if t.Elem == types.String {
		a.Str, a.Bits = p.Str(), nil
		return a
	}
	for _, n := range shape {
		ok = ok && n >= 0 && n <= types.MaxExtent
	}
	if !ok {
		p.FailAt(at, "the extents of a constant are literals from 0 to %d", types.MaxExtent)
	}
	if p.Peek("[") && isEmpty(shape) {
		p.Expect("[")
		p.Expect("]")
		return a
	}
	p.elements(a, 0)
	return a
}

func isEmpty(shape []int64) bool {
	for _, n := range shape {
		if n == 0 {
			return true
		}
	}
	return false
}

func (p *parser) elements(a *Array, axis int) {
	if axis == len(a.Shape) {
		p.Skip()
		at := p.Pos
		bits, err := scalar.ParseBits(a.DType, p.Until(",]}", "an element"))
		if err != nil {
			p.FailAt(at, "%s", err)
		}
		a.Bits = append(a.Bits, bits)
		return
	}
	n := int64(0)
	p.Items("[", "]", func() { p.elements(a, axis+1); n++ })
	if n != a.Shape[axis] {
		p.Fail("axis %d of the constant has %d elements, not %d", axis, n, a.Shape[axis])
	}
}
