package kernel

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Kernel text]
//
// Print writes this grammar and Parse reads it; blanks and line ends only separate tokens, and // starts a
// comment that ends with its line. The plan is printed after the kernels, as comments.
//
//	module = "kernels" string [ "[" name { "," name } "]" ] { site | func | kernel }
//	site   = "site" int string "at" string ":" int ":" int "op" string "text" string [ "shows" shape ]
//	func   = "func" sym "(" [ vals ] ")" "->" "(" [ types ] ")" [ "site" int ] "{" { stmt } "return" [ refs ] "}"
//	kernel = "kernel" sym "(" [ buffer { "," buffer } ] ")" [ "over" axes ]
//	         "{" [ contract ] { "note" string } { stmt } [ "schedule" "{" { directive } "}" ] "}"
//	directive = word [ ref | name ] { word int } [ "{" { directive } "}" ]            see DirectiveKinds
//	contract = "contract" ref "by" ref [ "rows" ref ] "columns" ref "along" ref     see Note [Contracts]
//	buffer = ( "in" | "out" [ "stream" ] ) name ":" dtype "[" [ extent { "," extent } ] "]"
//	         [ "strides" "[" [ dims ] "]" ]
//	axes   = axis { "," axis }
//	axis   = ref "in" int ".." extent
//	extent = dim | "ceildiv" "(" dim "," int ")"
//	stmt   = ref ":" dtype "=" instr [ "site" int ]                        instr as in ir/scalar, Note [Scalar text]
//	       | "check" kind refs "site" int
//	       | ref ":" "i64" "=" "dim" dim
//	       | ref ":" dtype "=" "load" name access
//	       | "store" name access "," ref
//	       | [ vals "=" ] ( "loop" | "parallel" ) axis [ "carry" val "=" ref { "," val "=" ref } ]
//	         "{" { stmt } [ "next" refs ] "}"
//	       | [ vals "=" ] "iterate" ref "upto" ref [ "carry" val "=" ref { "," val "=" ref } ]
//	         "{" { stmt } [ "next" refs ] [ "until" ref ] "}"
//	       | val "=" "reduce" kind order axes [ "chunk" ref ] "{" { stmt } "yield" ref "}"
//	       | [ vals "=" ] "if" ref "{" { stmt } [ "yield" refs ] "}" "else" "{" { stmt } [ "yield" refs ] "}"
//	       | [ vals "=" ] "call" sym [ refs ]
//	access = "[" factor { "+" factor } "]"
//	factor = [ coef "*" ] ref | coef
//	coef   = [ "-" ] int | name | "(" dim ")"
//	vals   = val { "," val }        val = ref ":" dtype        refs = ref { "," ref }
//
//	kernel @rows(in x: f32[M, N], out y: f32[M]) over %0 in 0..M {
//	  note "sqrt"
//	  %1: f32 = reduce sum lanes %2 in 0..N {
//	    %3: f32 = load x[N*%0 + %2]
//	    %4: f32 = mul %3, %3
//	    yield %4
//	  }
//	  %5: f32 = sqrt %1
//	  store y[%0], %5
//	}

// Print writes m as text, Refs renumbered in the order of their definitions.
func Print(w io.Writer, m *Module) error {
	bw := bufio.NewWriter(w)
	p := &printer{w: bw}
	p.printf("kernels %s", strconv.Quote(m.Name))
	if len(m.Dims) > 0 {
		p.printf("[%s]", strings.Join(m.Dims, ", "))
	}
	p.printf("\n")
	if len(m.Sites) > 0 {
		p.printf("\n")
	}
	for i, s := range m.Sites {
		p.printf("site %d %s at %s:%d:%d op %s text %s", i, strconv.Quote(s.Kind), strconv.Quote(s.File), s.Line, s.Col,
			strconv.Quote(s.Op), strconv.Quote(s.Text))
		if len(s.Shows) > 0 {
			p.printf(" shows %s", types.Shape(s.Shows))
		}
		for c := s.Caller; c != nil; c = c.Caller {
			p.printf(" called at %s:%d:%d text %s", strconv.Quote(c.File), c.Line, c.Col, strconv.Quote(c.Text))
		}
		p.printf("\n")
	}
	for _, f := range m.Funcs {
		p.printf("\n")
		p.fn(f)
	}
	for _, k := range m.Kernels {
		p.printf("\n")
		p.kernel(k)
	}
	if m.Plan != nil {
		p.printf("\n")
		PrintPlan(bw, m.Plan, nil)
	}
	return bw.Flush()
}

// String is the text of m.
func (m *Module) String() string {
	var b strings.Builder
	_ = Print(&b, m) // a strings.Builder never fails
	return b.String()
}

// String is the text of k.
func (k *Kernel) String() string {
	var b strings.Builder
	bw := bufio.NewWriter(&b)
	(&printer{w: bw}).kernel(k)
	_ = bw.Flush()
	return b.String()
}

type printer struct {
	w     *bufio.Writer // remembers the first error until Flush
	types []types.DType
	names map[Ref]int
	buffs []Param
	note  func(at any) []string // comment lines to print under a statement, kernel or function

	lines  *diag.Lines // what is printed to, where it is to know the places of lines; else nil
	source Source
}

// Lines is the text of k by lines, with their places.
func (k *Kernel) Lines() []diag.Placed {
	var l diag.Lines
	bw := bufio.NewWriter(&l)
	(&printer{w: bw, lines: &l, source: k.Source}).kernel(k)
	_ = bw.Flush() // diag.Lines never fails
	return l.List
}

// place says which source the line comes from that begins now.
func (p *printer) place(at diag.Span) {
	if p.lines != nil {
		_ = p.w.Flush()
		p.lines.Place(at)
	}
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *printer) notes(at any, indent string) {
	if p.note != nil {
		for _, line := range p.note(at) {
			p.printf("%s// ^ error: %s\n", indent, line)
		}
	}
}

func (p *printer) fn(f *Func) {
	p.types, p.names, p.buffs = f.Types, map[Ref]int{}, nil
	p.printf("func %s(", ir.FormatSym(f.Name))
	params := make([]Ref, len(f.Params))
	for i := range params {
		params[i] = Ref(i)
	}
	p.define(params)
	p.printf(") -> (")
	for i, t := range f.Results {
		if i > 0 {
			p.printf(", ")
		}
		p.printf("%s", t)
	}
	p.printf(")")
	if f.Site >= 0 {
		p.printf(" site %d", f.Site)
	}
	p.printf(" {\n")
	p.notes(f, "  ")
	p.block(f.Body, "  ")
	p.end("return", f.Vals, "  ", true)
	p.printf("}\n")
}

func (p *printer) kernel(k *Kernel) {
	p.types, p.names, p.buffs = k.Types, map[Ref]int{}, k.Params
	p.printf("kernel %s(", ir.FormatSym(k.Name))
	for i, b := range k.Params {
		if i > 0 {
			p.printf(", ")
		}
		p.buffer(b)
	}
	p.printf(")")
	if len(k.Axes) > 0 {
		p.printf(" over ")
		p.axes(k.Axes)
	}
	p.printf(" {\n")
	p.notes(k, "  ")
	if k.Contract != nil {
		p.contract(k)
		p.notes(k.Contract, "  ")
	}
	for _, n := range k.Notes {
		p.place(n.At)
		p.printf("  note %s\n", strconv.Quote(n.String()))
	}
	p.block(k.Body, "  ")
	if k.Schedule != nil {
		p.schedule(k.Schedule, "  ")
	}
	p.printf("}\n")
}

func (p *printer) buffer(b Param) {
	dir := "in"
	if b.Out {
		dir = "out"
	}
	if b.Stream {
		dir = "out stream"
	}
	if b.Work {
		dir = "work"
	}
	if b.InPlace {
		dir = "inplace"
	}
	switch {
	case b.Local && b.Work:
		dir = "work local"
	case b.Local:
		dir = "local"
	}
	p.printf("%s %s: %s%s", dir, b.Name, b.DType, formatExtents(b.Shape))
	if b.Elems != nil {
		p.printf(" strides %s", types.Shape(b.Elems))
	}
}

// ref is the name of a value; one that has no definition before shows as "%undefined".
func (p *printer) ref(r Ref) string {
	if n, ok := p.names[r]; ok {
		return "%" + strconv.Itoa(n)
	}
	return "%undefined"
}

func (p *printer) number(r Ref) string {
	p.names[r] = len(p.names)
	return p.ref(r)
}

func (p *printer) typeOf(r Ref) types.DType {
	if r >= 0 && int(r) < len(p.types) {
		return p.types[r]
	}
	return types.Invalid
}

// define prints new values with their types.
func (p *printer) define(rs []Ref) {
	for i, r := range rs {
		if i > 0 {
			p.printf(", ")
		}
		p.printf("%s: %s", p.number(r), p.typeOf(r))
	}
}

func (p *printer) defineEq(rs []Ref) {
	p.define(rs)
	if len(rs) > 0 {
		p.printf(" = ")
	}
}

func (p *printer) refs(rs []Ref) string {
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = p.ref(r)
	}
	return strings.Join(parts, ", ")
}

func (p *printer) axes(as []Axis) {
	for i, a := range as {
		if i > 0 {
			p.printf(", ")
		}
		p.printf("%s in %d..%s", p.number(a.Var), a.Begin, FormatExtent(a.Extent))
	}
}

func (p *printer) block(b *Block, indent string) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		p.place(p.source.Of(s))
		p.printf("%s", indent)
		p.stmt(s, indent)
		p.notes(s, indent)
	}
}

// end prints the values that leave a block; without values the word is printed only when always is set.
func (p *printer) end(word string, rs []Ref, indent string, always bool) {
	if len(rs) == 0 && !always {
		return
	}
	p.printf("%s\n", strings.TrimRight(indent+word+" "+p.refs(rs), " "))
}

// stmt prints s and the end of its line. Results are numbered after what stands in the statement's own
// blocks, so that numbers grow down the page; they are printed first all the same.
// It is long because it has a case for each statement.
func (p *printer) stmt(s Stmt, indent string) {
	inner := indent + "  "
	switch s := s.(type) {
	case *Let:
		line := scalar.FormatInstr(s.ID, s.In, func(r Ref) string {
			if r == s.ID && s.In.Op != scalar.Check {
				return p.number(r)
			}
			return p.ref(r)
		})
		if s.In.Op == scalar.Check {
			line += " site " + strconv.Itoa(s.Site)
		}
		p.printf("%s\n", line)
	case *DimValue:
		p.defineEq([]Ref{s.ID})
		p.printf("dim %s\n", s.Dim)
	case *Load:
		at := p.access(s.At)
		p.defineEq([]Ref{s.ID})
		p.printf("load %s%s\n", p.param(s.Param), at)
	case *Store:
		p.printf("store %s%s, %s\n", p.param(s.Param), p.access(s.At), p.ref(s.Val))
	case *Loop:
		init := make([]string, len(s.Init))
		for i, r := range s.Init {
			init[i] = p.ref(r)
		}
		p.defineEq(s.IDs)
		word := "loop"
		if s.Parallel {
			word = "parallel"
		}
		p.printf("%s ", word)
		p.axes([]Axis{s.Axis})
		p.carry(s.Vars, init)
		p.printf(" {\n")
		p.block(s.Body, inner)
		p.end("next", s.Next, inner, false)
		p.printf("%s}\n", indent)
	case *Iterate:
		init, count := make([]string, len(s.Init)), p.ref(s.Count)
		for i, r := range s.Init {
			init[i] = p.ref(r)
		}
		p.defineEq(s.IDs)
		p.printf("iterate %s upto %s", p.number(s.Var), count)
		p.carry(s.Vars, init)
		p.printf(" {\n")
		p.block(s.Body, inner)
		p.end("next", s.Next, inner, false)
		if s.Until != scalar.None {
			p.end("until", []Ref{s.Until}, inner, true)
		}
		p.printf("%s}\n", indent)
	case *Transform:
		word := "transform"
		if s.Inverse {
			word += " inverse"
		}
		line := fmt.Sprintf("%s %d", word, s.Size)
		for i, l := range []*Line{&s.Data, &s.Source, s.Times, &s.Table, &s.Spare} {
			if l != nil {
				line += fmt.Sprintf(" %s %s%s", []string{"to", "of", "times", "by", "with"}[i], p.param(l.Param),
					p.access(l.At))
			}
		}
		line += " modulo " + p.ref(s.P)
		if s.Inverse {
			line += " scale " + p.ref(s.Scale)
		}
		p.defineEq([]Ref{s.ID})
		p.printf("%s\n", line)
	case *Sort:
		word := "sort"
		if s.Positions {
			word += " positions"
		}
		p.printf("%s %s to %s%s of %s%s with %s%s", word, s.Size, p.param(s.Data.Param), p.access(s.Data.At),
			p.param(s.Source.Param), p.access(s.Source.At), p.param(s.Spare.Param), p.access(s.Spare.At))
		for i, r := range s.Ranks {
			p.printf(" %s %s to %s", []string{"ranks", "and"}[min(i, 1)], p.ref(r.First), p.ref(r.End))
		}
		p.printf("\n")
	case *Reduce:
		p.defineEq([]Ref{s.ID})
		p.printf("reduce %s %s ", s.Kind, s.Order)
		p.axes(s.Axes)
		if s.Chunk != scalar.None {
			p.printf(" chunk %s", p.ref(s.Chunk))
		}
		p.printf(" {\n")
		p.block(s.Body, inner)
		p.end("yield", []Ref{s.Val}, inner, true)
		p.printf("%s}\n", indent)
	case *If:
		cond := p.ref(s.Cond)
		p.defineEq(s.IDs)
		p.printf("if %s {\n", cond)
		p.block(s.Then, inner)
		p.end("yield", s.ThenVals, inner, false)
		p.printf("%s} else {\n", indent)
		p.block(s.Else, inner)
		p.end("yield", s.ElseVals, inner, false)
		p.printf("%s}\n", indent)
	case *Call:
		args := p.refs(s.Args)
		p.defineEq(s.IDs)
		p.printf("%s\n", strings.TrimRight("call "+ir.FormatSym(s.Func)+" "+args, " "))
	default:
		panic(fmt.Sprintf("BUG: statement %T", s))
	}
}

// carry prints the values that a loop carries, with what they start as.
func (p *printer) carry(vars []Ref, init []string) {
	for i, v := range vars {
		sep := ", "
		if i == 0 {
			sep = " carry "
		}
		p.printf("%s%s: %s = %s", sep, p.number(v), p.typeOf(v), at(init, i))
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "%undefined"
}

func (p *printer) param(i int) string {
	if i < 0 || i >= len(p.buffs) {
		return "undefined"
	}
	return p.buffs[i].Name
}

func (p *printer) access(a Access) string {
	var parts []string
	for _, t := range a.Terms {
		if t.Coef.IsConst(1) {
			parts = append(parts, p.ref(t.Var))
		} else {
			parts = append(parts, formatCoef(t.Coef)+"*"+p.ref(t.Var))
		}
	}
	if len(parts) == 0 || !a.Offset.IsConst(0) {
		parts = append(parts, formatCoef(a.Offset))
	}
	return "[" + strings.Join(parts, " + ") + "]"
}

// formatCoef writes a dim as one factor.
func formatCoef(d types.Dim) string {
	if _, lit := d.Const(); lit {
		return d.String()
	}
	if _, name := d.AsParam(); name {
		return d.String()
	}
	return "(" + d.String() + ")"
}

// FormatExtent writes an extent: `N`, or `ceildiv(N, 4096)`.
func FormatExtent(e abi.Extent) string {
	if e.Div > 1 {
		return fmt.Sprintf("ceildiv(%s, %d)", e.Dim, e.Div)
	}
	return e.Dim.String()
}

func formatExtents(es []abi.Extent) string {
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = FormatExtent(e)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
