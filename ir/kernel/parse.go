package kernel

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scan"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Parse reads the text form (see Note [Kernel text]); the plan, which is comments, is not read. It checks
// the syntax and that values are defined before they are used; Verify checks the rest. The module is
// nil when there are errors; the list is never nil.
func Parse(file *diag.File) (*Module, *diag.List) {
	p := &parser{Scanner: scan.New(file)}
	m := &Module{}
	p.Run(func() { p.module(m) })
	p.List.Sort()
	if p.List.HasErrors() {
		return nil, &p.List
	}
	return m, &p.List
}

// maxNesting bounds the depth of blocks, and with it the stack that later stages need.
const maxNesting = 1000

type parser struct {
	*scan.Scanner
	types  []types.DType  // of the kernel or function being read
	values map[string]Ref // the visible values
	all    map[string]Ref // those of the kernel, the last one of each name
	sched  *Schedule      // of the kernel being read
	buffs  []Param
	depth  int
}

func (p *parser) module(m *Module) {
	if !p.AcceptWord("kernels") {
		p.Fail("expected `kernels`")
	}
	m.Name = p.Str()
	if p.Peek("[") {
		p.Items("[", "]", func() { m.Dims = append(m.Dims, p.Word("a shape parameter")) })
	}
	for !p.Done() {
		switch {
		case p.AcceptWord("site"):
			if n := p.Integer(); n != int64(len(m.Sites)) {
				p.Fail("expected site %d", len(m.Sites))
			}
			m.Sites = append(m.Sites, p.site())
		case p.AcceptWord("func"):
			m.Funcs = append(m.Funcs, p.fn())
		case p.AcceptWord("kernel"):
			m.Kernels = append(m.Kernels, p.kernel())
		default:
			p.Fail("expected `site`, `func` or `kernel`")
		}
	}
}

func (p *parser) keyword(w string) {
	if !p.AcceptWord(w) {
		p.Fail("expected `%s`", w)
	}
}

func (p *parser) site() abi.Site {
	var s abi.Site
	s.Kind = p.Str()
	p.place(&s)
	p.keyword("op")
	s.Op = p.Str()
	p.keyword("text")
	s.Text = p.Str()
	if p.AcceptWord("shows") {
		s.Shows = p.Dims()
	}
	for inner := &s; p.AcceptWord("called"); inner = inner.Caller {
		inner.Caller = &abi.Site{}
		p.place(inner.Caller)
		p.keyword("text")
		inner.Caller.Text = p.Str()
	}
	return s
}

func (p *parser) place(s *abi.Site) {
	p.keyword("at")
	s.File = p.Str()
	p.Expect(":")
	s.Line = int(p.Integer())
	p.Expect(":")
	s.Col = int(p.Integer())
}

func (p *parser) begin() {
	p.types, p.values, p.buffs = nil, map[string]Ref{}, nil
	p.all, p.sched = map[string]Ref{}, nil
}

func (p *parser) fn() *Func {
	p.begin()
	f := &Func{Name: p.Sym(), Site: -1}
	var mine []string
	p.Items("(", ")", func() { p.define(&mine) })
	f.Params = append(f.Params, p.types...)
	p.Expect("->")
	p.Items("(", ")", func() { f.Results = append(f.Results, p.DType()) })
	if p.AcceptWord("site") {
		f.Site = int(p.Integer())
	}
	f.Body, f.Vals = p.block("return")
	f.Types = p.types
	return f
}

func (p *parser) kernel() *Kernel {
	p.begin()
	k := &Kernel{Name: p.Sym()}
	p.Items("(", ")", func() { p.buffs = append(p.buffs, p.buffer()) })
	k.Params = p.buffs
	var mine []string
	if p.AcceptWord("over") {
		k.Axes = p.axes(&mine)
	}
	p.Expect("{")
	contract := func() *Contract { return nil }
	if p.AcceptWord("contract") {
		contract = p.contract()
	}
	for p.AcceptWord("note") {
		k.Notes = append(k.Notes, Note{Op: p.Str()})
	}
	var vals []Ref
	if k.Body, vals = p.stmts(""); len(vals) > 0 {
		p.Fail("a kernel yields nothing")
	}
	k.Types, k.Contract, k.Schedule = p.types, contract(), p.sched
	return k
}

func (p *parser) buffer() Param {
	b := Param{Out: p.AcceptWord("out")}
	b.Stream = b.Out && p.AcceptWord("stream")
	if !b.Out {
		b.Work = p.AcceptWord("work")
		b.InPlace = !b.Work && p.AcceptWord("inplace")
		b.Local = !b.InPlace && p.AcceptWord("local")
		b.Out = b.Work || b.InPlace || b.Local
	}
	if !b.Out {
		p.keyword("in")
	}
	b.Name = p.Word("the name of a buffer")
	p.Expect(":")
	b.DType = p.DType()
	b.Shape = []abi.Extent{}
	p.Items("[", "]", func() { b.Shape = append(b.Shape, p.extent()) })
	if p.AcceptWord("strides") {
		b.Elems = p.Dims()
	}
	return b
}

// extent reads an extent that ends before a comma, a closing bracket or a word that can follow one.
func (p *parser) extent() abi.Extent {
	if !p.AcceptWord("ceildiv") {
		return abi.Extent{Dim: p.plainDim()}
	}
	p.Expect("(")
	e := abi.Extent{Dim: p.Dim(",")}
	p.Expect(",")
	e.Div = p.Integer()
	p.Expect(")")
	return e
}

// plainDim reads a dim that ends at a blank, too.
func (p *parser) plainDim() types.Dim { return p.Dim(",])} ") }

// --- values ---

// define reads `%name: dtype` and makes it a visible value.
func (p *parser) define(mine *[]string) Ref {
	name, at := p.Value()
	p.Expect(":")
	return p.add(name, at, p.DType(), mine)
}

func (p *parser) add(name string, at diag.Span, t types.DType, mine *[]string) Ref {
	r := Ref(len(p.types))
	p.types = append(p.types, t)
	p.show(name, at, r, mine)
	return r
}

func (p *parser) show(name string, at diag.Span, r Ref, mine *[]string) {
	if _, twice := p.values[name]; twice {
		p.ErrorAt(at, "%%%s is already defined", name)
		return
	}
	p.values[name], p.all[name] = r, r
	*mine = append(*mine, name)
}

func (p *parser) hide(mine []string) {
	for _, n := range mine {
		delete(p.values, n)
	}
}

func (p *parser) ref() Ref {
	name, at := p.Value()
	r, ok := p.values[name]
	if !ok {
		p.ErrorAt(at, "%%%s is not defined here", name)
		return scalar.None
	}
	return r
}

// refs reads any number of values with commas between them.
func (p *parser) refs() []Ref {
	var rs []Ref
	for p.Peek("%") {
		rs = append(rs, p.ref())
		if !p.Accept(",") {
			return rs
		}
		if !p.Peek("%") {
			p.Fail("expected a value after the comma")
		}
	}
	return rs
}

func (p *parser) axes(mine *[]string) []Axis {
	as := []Axis{p.axis(mine)}
	for p.Accept(",") {
		as = append(as, p.axis(mine))
	}
	return as
}

func (p *parser) axis(mine *[]string) Axis {
	name, at := p.Value()
	p.keyword("in")
	begin := p.Integer()
	p.Expect("..")
	return Axis{Begin: begin, Extent: p.extent(), Var: p.add(name, at, types.I64, mine)}
}

// --- statements ---

// block reads statements in braces; word, when it is not "", stands before the values at the end.
func (p *parser) block(word string) (*Block, []Ref) {
	p.Expect("{")
	return p.stmts(word)
}

func (p *parser) stmts(word string) (*Block, []Ref) {
	b, mine := p.open()
	var vals []Ref
	for !p.Accept("}") {
		if word != "" && p.AcceptWord(word) {
			vals = p.refs()
			p.Expect("}")
			break
		}
		if p.depth == 1 && word == "" && p.AcceptWord("schedule") {
			p.sched = p.schedule()
			p.Expect("}")
			break
		}
		b.Stmts = append(b.Stmts, p.stmt(mine))
	}
	p.hide(*mine)
	p.depth--
	return b, vals
}

// result is a value that a statement will define: it has its number at once, and is visible after it.
type result struct {
	name string
	at   diag.Span
	r    Ref
}

func (p *parser) stmt(mine *[]string) Stmt {
	var results []result
	var ids []Ref
	for p.Peek("%") {
		name, at := p.Value()
		p.Expect(":")
		r := Ref(len(p.types))
		p.types = append(p.types, p.DType())
		results, ids = append(results, result{name, at, r}), append(ids, r)
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
	word := p.Word("a statement")
	s, want := p.body(word, at, ids)
	if want >= 0 && want != len(ids) {
		p.FailAt(at, "%s has %d results", word, want)
	}
	for _, r := range results {
		p.show(r.name, r.at, r.r, mine)
	}
	return s
}

// body reads a statement after its word. want is the number of results it has, or -1 for any.
func (p *parser) body(word string, at int, ids []Ref) (s Stmt, want int) {
	first := scalar.None
	if len(ids) > 0 {
		first = ids[0]
	}
	switch word {
	case "dim":
		return &DimValue{ID: first, Dim: p.plainDim()}, 1
	case "load":
		l := &Load{ID: first, Param: p.param()}
		l.At = p.access()
		return l, 1
	case "store":
		s := &Store{Param: p.param()}
		s.At = p.access()
		p.Expect(",")
		s.Val = p.ref()
		return s, 0
	case "loop", "parallel":
		return p.loop(word == "parallel", ids), -1
	case "iterate":
		return p.iterate(ids), -1
	case "reduce":
		return p.reduce(first), 1
	case "if":
		i := &If{Cond: p.ref(), IDs: ids}
		i.Then, i.ThenVals = p.block("yield")
		p.keyword("else")
		i.Else, i.ElseVals = p.block("yield")
		return i, -1
	case "transform":
		return p.transform(first), 1
	case "sort":
		return p.sort(), 0
	case "call":
		return &Call{IDs: ids, Func: p.Sym(), Args: p.refs()}, -1
	}
	return p.let(word, at, first)
}

func (p *parser) param() int {
	p.Skip()
	at := p.Pos
	name := p.Word("the name of a buffer")
	for i, b := range p.buffs {
		if b.Name == name {
			return i
		}
	}
	p.FailAt(at, "there is no buffer %q", name)
	return 0
}

// access reads the place of an element. The number without a value, if there is one, comes last.
func (p *parser) access() Access {
	var a Access
	p.Expect("[")
	for {
		if p.Peek("%") {
			a.Terms = append(a.Terms, Term{Coef: types.Lit(1), Var: p.ref()})
		} else if coef := p.coef(); p.Accept("*") {
			a.Terms = append(a.Terms, Term{Coef: coef, Var: p.ref()})
		} else {
			a.Offset = coef
			p.Expect("]")
			return a
		}
		if p.Accept("]") {
			return a
		}
		p.Expect("+")
	}
}

func (p *parser) coef() types.Dim {
	if p.Accept("(") {
		d := p.Dim(")")
		p.Expect(")")
		return d
	}
	return p.Dim("*+] ")
}

func (p *parser) loop(parallel bool, ids []Ref) *Loop {
	l := &Loop{Parallel: parallel, IDs: ids}
	var mine []string
	l.Axis = p.axis(&mine)
	l.Init, l.Vars = p.carry(&mine)
	l.Body, l.Next = p.block("next")
	p.hide(mine)
	return l
}

// carry reads the values that a loop carries, if there are any.
func (p *parser) carry(mine *[]string) (init, vars []Ref) {
	if !p.AcceptWord("carry") {
		return nil, nil
	}
	for {
		name, at := p.Value()
		p.Expect(":")
		t := p.DType()
		p.Expect("=")
		init = append(init, p.ref())
		vars = append(vars, p.add(name, at, t, mine))
		if !p.Accept(",") {
			return init, vars
		}
	}
}

func (p *parser) iterate(ids []Ref) *Iterate {
	l := &Iterate{Until: scalar.None, IDs: ids}
	var mine []string
	name, at := p.Value()
	p.keyword("upto")
	l.Count = p.ref()
	l.Var = p.add(name, at, types.I64, &mine)
	l.Init, l.Vars = p.carry(&mine)
	l.Body, l.Next, l.Until = p.loopBody()
	p.hide(mine)
	return l
}

func (p *parser) line() (l Line) {
	l.Param = p.param()
	l.At = p.access()
	return l
}

func (p *parser) sort() *Sort {
	s := &Sort{Positions: p.AcceptWord("positions")}
	s.Size = p.plainDim()
	p.keyword("to")
	s.Data = p.line()
	p.keyword("of")
	s.Source = p.line()
	p.keyword("with")
	s.Spare = p.line()
	for word := "ranks"; p.AcceptWord(word); word = "and" {
		first := p.ref()
		p.keyword("to")
		s.Ranks = append(s.Ranks, Ranks{first, p.ref()})
	}
	return s
}

func (p *parser) transform(id Ref) *Transform {
	t := &Transform{ID: id, Scale: scalar.None, Inverse: p.AcceptWord("inverse")}
	t.Size = p.Integer()
	p.keyword("to")
	t.Data = p.line()
	p.keyword("of")
	t.Source = p.line()
	if p.AcceptWord("times") {
		times := p.line()
		t.Times = &times
	}
	p.keyword("by")
	t.Table = p.line()
	p.keyword("with")
	t.Spare = p.line()
	p.keyword("modulo")
	t.P = p.ref()
	if t.Inverse {
		p.keyword("scale")
		t.Scale = p.ref()
	}
	return t
}

// loopBody reads the statements of an Iterate, and what stands after them.
func (p *parser) loopBody() (b *Block, next []Ref, until Ref) {
	p.Expect("{")
	until = scalar.None
	b, mine := p.open()
	for !p.Accept("}") {
		switch {
		case until == scalar.None && next == nil && p.AcceptWord("next"):
			next = p.refs()
		case until == scalar.None && p.AcceptWord("until"):
			until = p.ref()
		case next != nil || until != scalar.None:
			p.Fail("expected `}`")
		default:
			b.Stmts = append(b.Stmts, p.stmt(mine))
		}
	}
	p.hide(*mine)
	p.depth--
	return b, next, until
}

// open begins a block.
func (p *parser) open() (*Block, *[]string) {
	if p.depth++; p.depth > maxNesting {
		p.Fail("blocks are nested more than %d deep", maxNesting)
	}
	return &Block{}, new([]string)
}

func (p *parser) reduce(id Ref) *Reduce {
	r := &Reduce{ID: id, Chunk: scalar.None}
	p.Skip()
	at := p.Pos
	kind, order := p.Word("a kind of reduction"), p.Word("an order")
	found := false
	for k := ir.ReduceSum; k <= ir.ReduceArgMin; k++ {
		for o := Any; o <= Columns; o++ {
			if k.String() == kind && o.String() == order {
				r.Kind, r.Order, found = k, o, true
			}
		}
	}
	if !found {
		p.FailAt(at, "there is no reduction `%s %s`", kind, order)
	}
	var mine []string
	r.Axes = p.axes(&mine)
	if p.AcceptWord("chunk") {
		r.Chunk = p.ref()
	}
	var vals []Ref
	r.Body, vals = p.block("yield")
	p.hide(mine)
	if len(vals) != 1 {
		p.Fail("the body of a reduction yields one value")
	}
	r.Val = vals[0]
	if r.Val != scalar.None {
		r.Type = p.types[r.Val]
	}
	return r
}

// let reads a scalar instruction.
func (p *parser) let(word string, at int, id Ref) (Stmt, int) {
	op, ok := scalar.ParseOp(word)
	if !ok || op == scalar.Nop || op == scalar.Param {
		p.FailAt(at, "there is no statement %q", word)
	}
	l := &Let{ID: id, In: scalar.Instr{Op: op, Args: [3]Ref{scalar.None, scalar.None, scalar.None}}}
	if id != scalar.None {
		l.In.Type = p.types[id]
	}
	switch op {
	case scalar.Const:
		p.Skip()
		at := p.Pos
		bits, err := scalar.ParseBits(l.In.Type, p.Until("\n }", "an element"))
		if err != nil {
			p.FailAt(at, "%s", err)
		}
		l.In.Imm = bits
		return l, 1
	case scalar.Check:
		p.Skip()
		at := p.Pos
		name := p.Word("the kind of a check")
		kind, ok := scalar.ParseCheckKind(name)
		if !ok {
			p.FailAt(at, "there is no check %q", name)
		}
		l.In.Imm = uint64(kind)
	}
	args := p.refs()
	if len(args) > len(l.In.Args) {
		p.FailAt(at, "%s has no %d operands", word, len(args))
	}
	copy(l.In.Args[:], args)
	if op != scalar.Check {
		return l, 1
	}
	p.keyword("site")
	l.Site = int(p.Integer())
	return l, 0
}
