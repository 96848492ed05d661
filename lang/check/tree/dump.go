package tree

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Bounds of the text: beyond them it is cut, so that its size stays in proportion to the program's.
const (
	maxDumpIndent = 64
	maxDumpElems  = 32
)

// Dump writes the typed tree of a program, one node a line with its type, operands indented below:
//
//	pub fn f[N](x: f32[N]) -> f32
//	    let y: f32[N]
//	        mul: f32[N]
//	            x: f32[N]
//	            x: f32[N]
//	    reduce_sum {axes = [0], keep = false}: f32
//	        y: f32[N]
//
// The text is a function of the source alone.
func Dump(w io.Writer, p *Program) error {
	d := &dumper{w: bufio.NewWriter(w)}
	for i, f := range p.Funcs {
		if i > 0 {
			d.w.WriteByte('\n')
		}
		for _, m := range []struct {
			on   bool
			text string
		}{{f.Public, "pub "}, {f.IO, "@io "}, {f.Kernel, "@kernel "}, {f.Recursive, "recursive "}} {
			if m.on {
				d.w.WriteString(m.text)
			}
		}
		d.w.WriteString(SignatureText(f) + "\n")
		d.expr(1, f.Body)
	}
	return d.w.Flush()
}

type dumper struct{ w *bufio.Writer }

func (d *dumper) line(depth int, format string, args ...any) {
	d.w.WriteString(strings.Repeat("    ", min(depth, maxDumpIndent)))
	fmt.Fprintf(d.w, format+"\n", args...)
}

func (d *dumper) expr(depth int, e Expr) {
	for { // lets follow each other at one depth
		l, ok := e.(*Let)
		if !ok {
			break
		}
		if l.Local == nil {
			d.line(depth, "drop")
		} else {
			d.line(depth, "let %s: %s", l.Local.Name, l.Local.T)
		}
		d.expr(depth+1, l.Value)
		e = l.Body
	}
	switch e := e.(type) {
	case *Const:
		d.line(depth, "%s: %s", constText(e.Value), e.T)
	case *Use:
		d.line(depth, "%s: %s", e.Local.Name, e.T)
	case *Apply:
		d.line(depth, "%s%s: %s", e.Op.Name, attrText(e.Op, e.Attrs), e.T)
		for _, a := range e.Args {
			d.expr(depth+1, a)
		}
		for _, l := range e.Lambdas {
			names := make([]string, len(l.Params))
			for i, p := range l.Params {
				names[i] = p.Name + ": " + p.T.String()
			}
			d.line(depth+1, "|%s|", strings.Join(names, ", "))
			d.expr(depth+2, l.Body)
		}
	case *Call:
		dims := ""
		if len(e.Dims) > 0 {
			dims = e.Dims.String()
		}
		d.line(depth, "call %s%s: %s", e.Fn.Name, dims, e.T)
		for _, a := range e.Args {
			d.expr(depth+1, a)
		}
	case *If:
		d.line(depth, "if: %s", e.T)
		d.expr(depth+1, e.Cond)
		d.line(depth, "then")
		d.expr(depth+1, e.Then)
		d.line(depth, "else")
		d.expr(depth+1, e.Else)
	case *Assign:
		d.line(depth, "assign %s: %s", e.Local.Name, e.Value.Type())
		d.expr(depth+1, e.Value)
	case *Return:
		d.line(depth, "return: %s", e.Value.Type())
		d.expr(depth+1, e.Value)
	case *Move:
		d.line(depth, "move to %s: %s", e.To, e.T)
		d.expr(depth+1, e.X)
	case *Tuple:
		if len(e.Elems) == 0 {
			d.line(depth, "()")
			return
		}
		d.line(depth, "tuple: %s", e.T)
		for _, x := range e.Elems {
			d.expr(depth+1, x)
		}
	case *Get:
		d.line(depth, "get %d: %s", e.Index, e.T)
		d.expr(depth+1, e.X)
	default:
		panic(fmt.Sprintf("BUG: unknown node %T", e))
	}
}

// constText is a constant in row-major order; a tensor in brackets, cut after some elements.
func constText(a *ir.Array) string {
	if a.DType == types.String {
		return strconv.Quote(a.Str)
	}
	if len(a.Shape) == 0 {
		return scalar.FormatBits(a.DType, a.Bits[0])
	}
	var b strings.Builder
	for i, x := range a.Bits {
		if i == maxDumpElems {
			fmt.Fprintf(&b, ", ... %d more", len(a.Bits)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(scalar.FormatBits(a.DType, x))
	}
	return "[" + b.String() + "]"
}

// attrText prints the attributes that are given, in the order of the table.
func attrText(op *ir.OpDef, attrs ir.A) string {
	order := map[string]int{}
	for i, a := range op.Attrs {
		order[a.Name] = i
	}
	names := make([]string, 0, len(attrs))
	for n := range attrs {
		names = append(names, n)
	}
	if len(names) == 0 {
		return ""
	}
	sort.Slice(names, func(i, j int) bool { return order[names[i]] < order[names[j]] })
	for i, n := range names {
		value := fmt.Sprint(attrs[n])
		if list, ok := attrs[n].([]int64); ok {
			value = strings.ReplaceAll(value, " ", ", ")
			if len(list) == 0 {
				value = "[]"
			}
		}
		names[i] = n + " = " + value
	}
	return " {" + strings.Join(names, ", ") + "}"
}
