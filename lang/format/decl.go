package format

import "healc/lang/ast"

func (w *weaver) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		w.funcDecl(d)
	case *ast.ConstDecl:
		w.pub(d.Pub)
		w.word("const")
		w.tok(d.Name.Name)
		w.tok(":")
		w.space()
		w.typeExpr(d.Type)
		w.space()
		w.tok("=")
		w.body(d.Value)
	case *ast.ImportDecl:
		w.word("import")
		w.anyTok()
		if d.Alias != nil {
			w.space()
			w.word("as")
			w.tok(d.Alias.Name)
		}
	case *ast.TestDecl:
		w.word("test")
		w.anyTok()
		w.space()
		w.block(d.Body)
	default:
		panic("BUG: a declaration that parsed is unknown to the formatter")
	}
}

// word prints a keyword and a blank.
func (w *weaver) word(s string) {
	w.tok(s)
	w.space()
}

func (w *weaver) pub(pub bool) {
	if pub {
		w.word("pub")
	}
}

// funcDecl prints a function, its attributes before `pub` wherever that stands among them.
func (w *weaver) funcDecl(d *ast.FuncDecl) {
	moved := false
	for _, a := range d.Attrs {
		if w.source() == "pub" {
			w.skip()
			moved = true
		}
		w.tok("@")
		w.tok(a.Name.Name)
		if w.source() == "(" {
			w.list("(", ")", len(a.Args), func(i int) { w.expr(a.Args[i]) })
		}
		w.space()
	}
	if moved {
		w.text("pub")
		w.space()
	} else {
		w.pub(d.Pub)
	}
	w.word("fn")
	w.tok(d.Name.Name)
	if w.source() == "[" {
		w.list("[", "]", len(d.Dims), func(i int) {
			w.tok(d.Dims[i].Name.Name)
			if bound := d.Dims[i].Bound; bound != nil {
				w.tok(":")
				w.space()
				w.tok(bound.Name)
			}
			if of := d.Dims[i].Of; of != nil {
				w.tok("[")
				w.tok(of.Name)
				w.tok("]")
			}
		})
	}
	w.list("(", ")", len(d.Params), func(i int) {
		p := d.Params[i]
		w.tok(p.Name.Name)
		w.tok(":")
		w.space()
		if p.Mut {
			w.tok("&")
			w.word("mut")
		}
		w.typeExpr(p.Type)
	})
	w.space()
	if d.Result != nil {
		w.word("->")
		w.typeExpr(d.Result)
		w.space()
	}
	if !d.Equals {
		w.block(d.Body.(*ast.Block))
		return
	}
	w.tok("=")
	w.body(d.Body)
}

// body prints what follows `=` or `=>`: in the next line where it fits only there. What fits in
// neither breaks inside if it is of a form that does so well, else before and inside.
func (w *weaver) body(x ast.Expr) {
	switch {
	case isStatementLike(x):
		w.space()
		w.expr(x)
	case breaksInside(x) && !w.commentsAhead():
		w.emit(opBody)
		w.last = ""
		w.expr(x)
		w.emit(opBodyEnd)
	default:
		w.begin()
		w.indent()
		w.line(opLine)
		w.chain(x, false)
		w.emit(opDedent)
		w.end()
	}
}

// isStatementLike reports whether x always starts on the line of its `=`.
func isStatementLike(x ast.Expr) bool {
	switch x.(type) {
	case *ast.Block, *ast.If, *ast.Match, *ast.Lambda:
		return true
	}
	return false
}

// breaksInside reports whether x has brackets around most of it.
func breaksInside(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Array, *ast.Tuple, *ast.Call, *ast.Paren:
		return true
	case *ast.Reduce:
		return breaksInside(x.X)
	}
	return false
}

// typeExpr prints a type. Types do not break: a long head breaks between its parameters.
func (w *weaver) typeExpr(t ast.TypeExpr) {
	switch t := t.(type) {
	case *ast.TensorType:
		w.tok(t.Elem.Name)
		if t.Square {
			w.flatList("[", "]", len(t.Dims), func(i int) { w.expr(t.Dims[i]) })
		}
		if t.Layout != nil {
			w.space()
			w.word("in")
			w.tok(t.Layout.Name)
		}
		if t.Place != nil {
			w.space()
			w.word("on")
			w.tok(t.Place.Name)
		}
		if t.Sharded != nil {
			w.space()
			w.tok("sharded")
			w.flatList("(", ")", 1, func(int) { w.expr(t.Sharded.Axis) })
		}
	case *ast.TupleType:
		w.flatList("(", ")", len(t.Elems), func(i int) { w.typeExpr(t.Elems[i]) })
	}
}

func (w *weaver) pattern(p ast.Pattern) {
	switch p := p.(type) {
	case *ast.NamePattern:
		w.tok(p.Name)
	case *ast.TuplePattern:
		w.flatList("(", ")", len(p.Elems), func(i int) { w.pattern(p.Elems[i]) })
	}
}

// list prints n items in brackets, one a line where they do not fit.
func (w *weaver) list(open, closer string, n int, item func(i int)) {
	w.listWith(opLine, open, closer, n, item)
}

func (w *weaver) listWith(separator opKind, open, closer string, n int, item func(i int)) {
	if n == 0 {
		w.flatList(open, closer, 0, item)
		return
	}
	w.tok(open)
	w.begin()
	w.indent()
	w.line(opSoft)
	for i := range n {
		item(i)
		if i+1 < n {
			w.tok(",")
			w.line(separator)
		}
	}
	w.trailingComma()
	w.closeLine(opSoft)
	w.tok(closer)
	w.end()
}

// flatList prints n items in brackets, on one line as far as it is up to the list.
func (w *weaver) flatList(open, closer string, n int, item func(i int)) {
	w.tok(open)
	for i := range n {
		item(i)
		if i+1 < n {
			w.tok(",")
			w.space()
		}
	}
	w.tok(closer)
}
