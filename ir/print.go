package ir

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"healc/ir/scalar"
	"healc/ir/scan"
	"healc/lang/diag"
	"healc/lang/types"
)

// Note [IR text]
//
// Print writes this grammar and Parse reads it; blanks and line ends only separate tokens, and // starts a
// comment that ends with its line.
//
//	module = "module" string { func }
//	func   = [ "pub" ] [ "io" ] "func" sym [ "[" name { "," name } "]" ] "(" [ param { "," param } ] ")"
//	         "->" ( type | "(" [ types ] ")" ) [ "updates" values ] "{" { op } "return" [ values ] "}"
//	op     = [ param { "," param } "=" ] name [ values ] [ "{" attr { "," attr } "}" ] { region }
//	region = "^" "(" [ param { "," param } ] ")" "{" { op } "yield" [ values ] "}"
//	param  = value ":" type
//	values = value { "," value }
//	types  = type { "," type }
//	value  = "%" letters, digits, "_", ".", "$"
//	sym    = "@" letters, digits, "_", ".", "$"  |  "@" string
//	type   = dtype [ "[" [ dim { "," dim } ] "]" ]
//	attr   = name "=" ( int | "[" ints "]" | "true" | string | dtype | dim | "[" dims "]" | "[" types "]" |
//	         type array )
//	array  = element | string | "[" [ array { "," array } ] "]"
//	dim    = a sum of products of integers and names, as types.ParseDim reads it
//
// What kind of value an attribute has, the op table says. Optional attributes that are not given and
// flags that are false are left out. An array without elements is "[]" whatever its rank.
//
//	%0: f32[2] = const {value = f32[2] [1.0, -0.0]}
//	%1: f32[M] = tabulate {shape = [M]} ^(%i: i32) {
//	  %2: f32 = index %x, %i {axes = [0]}
//	  yield %2
//	}

// PrintOptions say what Print shows beside the program itself.
type PrintOptions struct {
	Loc bool // the source position of each operation, as a comment

	Lines *diag.Lines // what is printed to, where it is to know the places of lines; else nil

	// note gives comment lines to print under an operation or function; the verifier's errors.
	note func(at any) []string
}

// Print writes m as text. Values are numbered in the order of their definitions; parameters keep their
// name where no visible value has it already.
func Print(w io.Writer, m *Module, opts PrintOptions) error {
	bw := bufio.NewWriter(w)
	p := &printer{w: bw, opts: opts}
	p.printf("module %s\n", strconv.Quote(m.Name))
	for _, f := range m.Funcs {
		p.printf("\n")
		p.fn(f)
	}
	return bw.Flush()
}

// PrintFunc writes one function as text.
func PrintFunc(w io.Writer, f *Func, opts PrintOptions) error {
	bw := bufio.NewWriter(w)
	(&printer{w: bw, opts: opts}).fn(f)
	return bw.Flush()
}

// String is the text of m.
func (m *Module) String() string {
	var b strings.Builder
	_ = Print(&b, m, PrintOptions{}) // a strings.Builder never fails
	return b.String()
}

// String is the text of f.
func (f *Func) String() string {
	var b strings.Builder
	_ = PrintFunc(&b, f, PrintOptions{})
	return b.String()
}

// Names gives every value of f the name that Print gives it, such as "%3" or "%x"; for remarks.
func Names(f *Func) map[*Value]string {
	p := &printer{w: bufio.NewWriter(io.Discard)}
	p.fn(f)
	return p.names
}

type printer struct {
	w       *bufio.Writer // remembers the first error until Flush
	opts    PrintOptions
	names   map[*Value]string
	visible map[string]bool // the parameter names in scope
	open    map[*Block]bool // the blocks around the current place
	next    int
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// place says which source the line comes from that begins now.
func (p *printer) place(at diag.Span) {
	if p.opts.Lines != nil {
		_ = p.w.Flush() // the writer keeps its error
		p.opts.Lines.Place(at)
	}
}

func (p *printer) fn(f *Func) {
	p.place(f.Span)
	p.names, p.visible, p.open, p.next = map[*Value]string{}, map[string]bool{}, map[*Block]bool{}, 0
	if f.Public {
		p.printf("pub ")
	}
	if f.IO {
		p.printf("io ")
	}
	p.printf("func %s", FormatSym(f.Name))
	if len(f.Dims) > 0 {
		p.printf("[%s]", strings.Join(f.Dims, ", "))
	}
	leave := p.params(f.Body)
	p.printf(" -> ")
	if len(f.Results) == 1 {
		p.printf("%s", f.Results[0])
	} else {
		p.printf("(%s)", joinTypes(f.Results))
	}
	for i, k := range f.Updates {
		if i == 0 {
			p.printf(" updates ")
		} else {
			p.printf(", ")
		}
		if k < 0 || k >= int64(len(f.Body.Params)) {
			p.printf("?")
			continue
		}
		p.printf("%s", p.names[f.Body.Params[k]])
	}
	p.printf(" {%s\n", p.loc(f.Span))
	p.notes(f, "  ")
	p.block(f.Body, "  ", "return")
	p.printf("}\n")
	leave()
}

// params names and prints the parameters of b. The function it returns ends their scope.
func (p *printer) params(b *Block) func() {
	var mine []string
	p.printf("(")
	for i, v := range b.Params {
		if i > 0 {
			p.printf(", ")
		}
		if isParamName(v.Name) && !p.visible[v.Name] {
			p.visible[v.Name] = true
			mine = append(mine, v.Name)
			p.names[v] = "%" + v.Name
		} else {
			p.number(v)
		}
		p.printf("%s: %s", p.names[v], v.Type)
	}
	p.printf(")")
	return func() {
		for _, n := range mine {
			delete(p.visible, n)
		}
	}
}

func (p *printer) number(v *Value) {
	p.names[v] = "%" + strconv.Itoa(p.next)
	p.next++
}

// block prints the operations of b, each on lines of its own, and its yields after the word end.
func (p *printer) block(b *Block, indent, end string) {
	if p.open[b] { // only in a module that the verifier rejects
		p.printf("%s// the block around\n", indent)
		return
	}
	p.open[b] = true
	defer delete(p.open, b)
	for _, op := range b.Ops {
		p.op(op, indent)
		p.notes(op, indent)
	}
	p.printf("%s%s", indent, end)
	p.values(b.Yields)
	p.printf("\n")
	p.notes(b, indent)
}

func (p *printer) op(op *Op, indent string) {
	p.place(op.Span)
	p.printf("%s", indent)
	for i, v := range op.Results {
		if i > 0 {
			p.printf(", ")
		}
		p.number(v)
		p.printf("%s: %s", p.names[v], v.Type)
	}
	if len(op.Results) > 0 {
		p.printf(" = ")
	}
	p.printf("%s", op.Def.Name)
	p.values(op.Args)
	p.attrs(op)
	loc := p.loc(op.Span)
	for _, r := range op.Regions {
		p.printf(" ^")
		leave := p.params(r)
		p.printf(" {%s\n", loc)
		loc = ""
		p.block(r, indent+"  ", "yield")
		p.printf("%s}", indent)
		leave()
	}
	p.printf("%s\n", loc)
}

func (p *printer) values(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.printf(",")
		}
		name, ok := p.names[v]
		if !ok {
			name = "%undefined" // only in a module that the verifier rejects
		}
		p.printf(" %s", name)
	}
}

func (p *printer) attrs(op *Op) {
	open := " {"
	for i, def := range op.Def.Attrs {
		if i >= len(op.Attrs) || op.Attrs[i] == nil || op.Attrs[i] == false {
			continue
		}
		p.printf("%s%s = %s", open, def.Name, FormatAttr(op.Attrs[i]))
		open = ", "
	}
	if open == ", " {
		p.printf("}")
	}
}

func (p *printer) loc(at diag.Span) string {
	if !p.opts.Loc || !at.Valid() {
		return ""
	}
	return " // " + strings.ReplaceAll(at.Pos().String(), "\n", " ")
}

func (p *printer) notes(at any, indent string) {
	if p.opts.note == nil {
		return
	}
	for _, line := range p.opts.note(at) {
		p.printf("%s// ^ error: %s\n", indent, strings.ReplaceAll(line, "\n", " "))
	}
}

// FormatAttr writes the value of an attribute the way the text form has it.
func FormatAttr(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []int64:
		parts := make([]string, len(v))
		for i, n := range v {
			parts[i] = strconv.FormatInt(n, 10)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []types.Tensor:
		return "[" + joinTypes(v) + "]"
	case *Array:
		return v.String()
	}
	return fmt.Sprint(v) // int64, bool, types.DType, types.Dim and types.Shape print as source
}

// String writes the array with its type: `f32[2] [1.0, 2.0]`.
func (a *Array) String() string {
	var b strings.Builder
	b.WriteString(a.Type().String())
	b.WriteByte(' ')
	switch {
	case a.DType == types.String:
		b.WriteString(strconv.Quote(a.Str))
	case len(a.Bits) == 0:
		b.WriteString("[]")
	case !a.wellFormed(): // only in a module that the verifier rejects
		fmt.Fprintf(&b, "[%d elements]", len(a.Bits))
	default:
		a.write(&b, 0, 0)
	}
	return b.String()
}

// wellFormed reports whether the number of elements is that of the shape. It holds for everything but
// what a bug has made.
func (a *Array) wellFormed() bool {
	n := types.Lit(1)
	for _, s := range a.Shape {
		var err error
		if n, err = n.Mul(types.Lit(s)); err != nil || s < 0 {
			return false
		}
	}
	return n.IsConst(int64(len(a.Bits))) || a.DType == types.String && len(a.Shape) == 0
}

// write prints the sub-array along axis and below that starts at element begin, and returns where it ends.
func (a *Array) write(b *strings.Builder, axis, begin int) int {
	if axis == len(a.Shape) {
		b.WriteString(scalar.FormatBits(a.DType, a.Bits[begin]))
		return begin + 1
	}
	b.WriteByte('[')
	for i := int64(0); i < a.Shape[axis]; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		begin = a.write(b, axis+1, begin)
	}
	b.WriteByte(']')
	return begin
}

func joinTypes(ts []types.Tensor) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = t.String()
	}
	return strings.Join(parts, ", ")
}

// FormatSym writes the name of a function: "@layer", and in quotes when it holds other characters than
// letters, digits, "_", "." and "$".
func FormatSym(name string) string {
	if scan.IsWord(name) {
		return "@" + name
	}
	return "@" + strconv.Quote(name)
}

// isParamName reports whether a parameter prints by its name; numbers are for the printer to give.
func isParamName(s string) bool { return scan.IsWord(s) && (s[0] < '0' || s[0] > '9') }
