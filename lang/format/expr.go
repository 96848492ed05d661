package format

import (
	"healc/lang/ast"
	"healc/lang/parser"
)

func (w *weaver) expr(x ast.Expr) {
	switch x := x.(type) {
	case *ast.Lit:
		w.tok(x.Raw)
	case *ast.Name:
		w.tok(x.Name)
	case *ast.Member:
		w.tok(x.Module.Name)
		w.tok(".")
		w.tok(x.Name.Name)
	case *ast.Unary:
		w.tok(x.Op)
		w.expr(x.X)
	case *ast.Binary, *ast.Pipe:
		w.chain(x, true)
	case *ast.Range:
		w.rangeExpr(x)
	case *ast.Cast:
		w.expr(x.X)
		w.space()
		w.word("as")
		w.typeExpr(x.Type)
	case *ast.Call:
		w.call(x)
	case *ast.Index:
		w.expr(x.X)
		w.list("[", "]", len(x.Indices), func(i int) { w.expr(x.Indices[i]) })
	case *ast.Reduce:
		w.reduce(x)
	case *ast.Array:
		w.array(x)
	case *ast.Tuple:
		w.list("(", ")", len(x.Elems), func(i int) { w.expr(x.Elems[i]) })
	case *ast.Paren:
		w.paren(x.X)
	case *ast.Lambda:
		w.lambda(x)
	case *ast.Let:
		w.letExpr(x)
	case *ast.If:
		w.ifExpr(x)
	case *ast.Match:
		w.match(x)
	case *ast.Block:
		w.block(x)
	default:
		panic("BUG: an expression that parsed is unknown to the formatter")
	}
}

// link is an operator and its right operand in a chain.
type link struct {
	op    string
	split ast.Expr // of `@[split = n]`
	y     ast.Expr
}

// chain prints x; operators of one level that stand in a row break together, before the operator.
func (w *weaver) chain(x ast.Expr, indent bool) {
	var links []link
	level := 0
	for first := true; ; first = false {
		var l link
		var left ast.Expr
		switch x := x.(type) {
		case *ast.Binary:
			l, left = link{x.Op, x.Split, x.Y}, x.X
		case *ast.Pipe:
			l, left = link{op: "|>", y: x.F}, x.X
		}
		if left == nil || !first && parser.Precedence(l.op) != level {
			break
		}
		level = parser.Precedence(l.op)
		links = append(links, l)
		x = left
		if l.op == ".^" { // associates to the right
			break
		}
	}
	if len(links) == 0 {
		w.expr(x)
		return
	}
	w.begin()
	w.expr(x)
	if indent {
		w.indent()
	}
	for i := len(links) - 1; i >= 0; i-- {
		w.line(opLine)
		w.tok(links[i].op)
		if split := links[i].split; split != nil {
			w.flatList("[", "]", 1, func(int) {
				w.tok("split")
				w.tok("=")
				w.expr(split)
			})
		}
		w.space()
		w.expr(links[i].y)
	}
	if indent {
		w.emit(opDedent)
	}
	w.end()
}

func (w *weaver) rangeExpr(x *ast.Range) {
	if x.Lo != nil {
		w.expr(x.Lo)
	}
	if x.Inclusive {
		w.tok("..=")
	} else {
		w.tok("..")
	}
	if x.Hi != nil {
		w.expr(x.Hi)
	}
	if x.Step != nil {
		w.space()
		w.word("by")
		w.expr(x.Step)
	}
}

func (w *weaver) reduce(x *ast.Reduce) {
	if x.Fun != nil {
		w.function(x.Fun)
		w.tok("/")
	} else {
		w.tok(x.Op + "/")
	}
	if n := options(x); n > 0 {
		w.flatList("[", "]", n, func(int) {
			switch name := w.source(); name { // the order is the author's
			case "keep":
				w.tok(name)
			case "init":
				w.tok(name)
				w.tok("=")
				w.expr(x.Init)
			default:
				w.tok("axis")
				w.tok("=")
				w.expr(x.Axis)
			}
		})
	}
	w.expr(x.X)
}

// options returns how many options x has.
func options(x *ast.Reduce) (n int) {
	if x.Axis != nil {
		n++
	}
	if x.Keep {
		n++
	}
	if x.Init != nil {
		n++
	}
	return n
}

// function prints what is called: a lambda stands in parentheses.
func (w *weaver) function(f ast.Expr) {
	if l, ok := f.(*ast.Lambda); ok {
		w.paren(l)
		return
	}
	w.expr(f)
}

func (w *weaver) call(x *ast.Call) {
	w.function(x.Fun)
	if w.source() == "[" {
		w.flatList("[", "]", len(x.Generics), func(i int) { w.expr(x.Generics[i]) })
	}
	arg := func(i int) {
		a := x.Args[i]
		if a.Name != nil {
			w.tok(a.Name.Name)
			w.space()
			w.tok("=")
			w.space()
		}
		w.expr(a.Value)
	}
	if hugsArgs(x.Args) {
		w.flatList("(", ")", len(x.Args), arg)
		return
	}
	w.list("(", ")", len(x.Args), arg)
}

// hugsArgs reports whether the arguments stay on the line of the call: the last one breaks inside,
// and the others are short.
func hugsArgs(args []ast.Arg) bool {
	if len(args) == 0 {
		return false
	}
	for _, a := range args[:len(args)-1] {
		if !isAtom(a.Value) {
			return false
		}
	}
	switch last := args[len(args)-1].Value.(type) {
	case *ast.Lambda:
		_, ok := last.Body.(*ast.Block)
		return ok
	case *ast.Array, *ast.Block, *ast.Match:
		return len(args) == 1
	case *ast.Call:
		return len(args) == 1
	}
	return false
}

// isAtom reports whether x is a name or a literal, perhaps negated.
func isAtom(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Lit, *ast.Name:
		return true
	case *ast.Unary:
		return isAtom(x.X)
	}
	return false
}

// array prints short elements many a line, others one a line, where they do not fit in one.
func (w *weaver) array(x *ast.Array) {
	separator := opFill
	for _, e := range x.Elems {
		if !isAtom(e) {
			separator = opLine
		}
	}
	w.listWith(separator, "[", "]", len(x.Elems), func(i int) { w.expr(x.Elems[i]) })
}

// paren prints `(x)`.
func (w *weaver) paren(x ast.Expr) {
	w.tok("(")
	w.begin()
	w.indent()
	w.line(opSoft)
	w.chain(x, false)
	w.closeLine(opSoft)
	w.tok(")")
	w.end()
}

func (w *weaver) lambda(x *ast.Lambda) {
	w.tok("|")
	for i, p := range x.Params {
		w.pattern(p)
		if i+1 < len(x.Params) {
			w.tok(",")
			w.space()
		}
	}
	w.tok("|")
	w.space()
	w.expr(x.Body)
}
