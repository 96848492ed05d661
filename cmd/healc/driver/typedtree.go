package driver

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strings"

	"healc/ir"
	"healc/lang/check"
)

// TypedTree writes a checked program, one expression a line with its type, operands indented. A chain of
// lets stays at one depth, as the block that it was.
//
//	fn norm[N](x: f32[N]) -> f32
//	  sqrt: f32
//	    reduce_sum {axes = [0]}: f32
//	      mul: f32[N]
//	        x: f32[N]
//	        x: f32[N]
func TypedTree(w io.Writer, p *check.Program) error {
	t := &typedTree{w: bufio.NewWriter(w)}
	for i, f := range p.Funcs {
		if i > 0 {
			fmt.Fprintln(t.w)
		}
		t.function(f)
	}
	return t.w.Flush()
}

type typedTree struct{ w *bufio.Writer }

func (t *typedTree) line(depth int, format string, args ...any) {
	fmt.Fprintf(t.w, "%s%s\n", strings.Repeat("  ", depth), fmt.Sprintf(format, args...))
}

func (t *typedTree) function(f *check.Func) {
	var head strings.Builder
	for _, flag := range []struct {
		set  bool
		text string
	}{{f.IO, "@io "}, {f.Kernel, "@kernel "}, {f.Public, "pub "}} {
		if flag.set {
			head.WriteString(flag.text)
		}
	}
	head.WriteString("fn " + f.Name)
	if len(f.Dims) > 0 {
		head.WriteString("[" + strings.Join(f.Dims, ", ") + "]")
	}
	t.line(0, "%s(%s) -> %s", head.String(), localList(f.Params), f.Result)
	t.expr(1, f.Body)
}

func localList(ls []*check.Local) string {
	parts := make([]string, len(ls))
	for i, l := range ls {
		parts[i] = l.Name + ": " + l.T.String()
	}
	return strings.Join(parts, ", ")
}

func (t *typedTree) expr(depth int, e check.Expr) {
	for {
		let, ok := e.(*check.Let)
		if !ok {
			break
		}
		if let.Local != nil {
			t.line(depth, "let %s: %s", let.Local.Name, let.Local.T)
		} else {
			t.line(depth, "do: %s", let.Value.Type())
		}
		t.expr(depth+1, let.Value)
		e = let.Body
	}
	switch e := e.(type) {
	case *check.Const:
		t.line(depth, "const %s: %s", shortConst(e.Value), e.T)
	case *check.Use:
		t.line(depth, "%s: %s", e.Local.Name, e.T)
	case *check.Apply:
		t.line(depth, "%s%s: %s", e.Op.Name, attrs(e.Attrs), e.T)
		t.exprs(depth+1, e.Args)
		for _, l := range e.Lambdas {
			t.line(depth+1, "|%s|", localList(l.Params))
			t.expr(depth+2, l.Body)
		}
	case *check.Call:
		dims := ""
		if len(e.Dims) > 0 {
			dims = e.Dims.String()
		}
		t.line(depth, "call %s%s: %s", e.Fn.Name, dims, e.T)
		t.exprs(depth+1, e.Args)
	case *check.If:
		t.line(depth, "if: %s", e.T)
		t.exprs(depth+1, []check.Expr{e.Cond, e.Then, e.Else})
	case *check.Assign:
		t.line(depth, "assign %s: %s", e.Local.Name, e.Value.Type())
		t.expr(depth+1, e.Value)
	case *check.Return:
		t.line(depth, "return: %s", e.Value.Type())
		t.expr(depth+1, e.Value)
	case *check.Tuple:
		t.line(depth, "tuple: %s", e.T)
		t.exprs(depth+1, e.Elems)
	case *check.Get:
		t.line(depth, "get %d: %s", e.Index, e.T)
		t.expr(depth+1, e.X)
	default:
		panic(fmt.Sprintf("BUG: typed tree holds a %T", e))
	}
}

func (t *typedTree) exprs(depth int, es []check.Expr) {
	for _, e := range es {
		t.expr(depth, e)
	}
}

// shortConst prints a constant, cut when it is long.
func shortConst(a *ir.Array) string {
	const most = 16
	if a.Len() <= most {
		return ir.FormatAttr(a)
	}
	return fmt.Sprintf("of %d elements", a.Len())
}

func attrs(a ir.A) string {
	if len(a) == 0 {
		return ""
	}
	names := make([]string, 0, len(a))
	for n := range a {
		names = append(names, n)
	}
	sort.Strings(names)
	for i, n := range names {
		if array, ok := a[n].(*ir.Array); ok {
			names[i] = n + " = " + shortConst(array)
		} else {
			names[i] = n + " = " + ir.FormatAttr(a[n])
		}
	}
	return " {" + strings.Join(names, ", ") + "}"
}
