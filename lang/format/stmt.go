package format

import "healc/lang/ast"

// block prints a block of its own: in one line if it is only a short value.
func (w *weaver) block(b *ast.Block) {
	w.begin()
	w.blockIn(b)
	w.end()
}

// blockIn prints a block that breaks with the group around it.
func (w *weaver) blockIn(b *ast.Block) {
	w.tok("{")
	if len(b.Stmts) == 0 && b.Value == nil && !w.commentsAhead() {
		w.tok("}")
		return
	}
	w.indent()
	switch {
	case len(b.Stmts) == 0 && b.Value == nil:
		w.closeLine(opHard)
	case len(b.Stmts) == 0:
		w.line(opLine)
		w.expr(b.Value)
		w.closeLine(opLine)
	default:
		for i, s := range b.Stmts {
			w.itemLine(i == 0)
			w.stmt(s)
		}
		if b.Value != nil {
			w.itemLine(false)
			w.expr(b.Value)
		}
		w.closeItems()
	}
	w.tok("}")
}

func (w *weaver) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LetStmt:
		w.letHead(s.Mut, s.Pattern, s.Type, s.Value)
	case *ast.AssignStmt:
		w.expr(s.Target)
		w.space()
		w.tok(s.Op)
		w.body(s.Value)
	case *ast.ReturnStmt:
		w.tok("return")
		if s.Value != nil {
			w.space()
			w.expr(s.Value)
		}
	case *ast.ExprStmt:
		w.expr(s.X)
	}
	w.optional(";")
}

func (w *weaver) letHead(mut bool, p ast.Pattern, t ast.TypeExpr, value ast.Expr) {
	w.word("let")
	if mut {
		w.word("mut")
	}
	w.pattern(p)
	if t != nil {
		w.tok(":")
		w.space()
		w.typeExpr(t)
	}
	w.space()
	w.tok("=")
	w.body(value)
}

// letExpr prints `let x = e in` line by line, all of a chain in one group.
func (w *weaver) letExpr(l *ast.Let) {
	w.begin()
	for {
		w.letHead(false, l.Pattern, l.Type, l.Value)
		w.space()
		w.tok("in")
		w.line(opLine)
		next, ok := l.Body.(*ast.Let)
		if !ok {
			break
		}
		l = next
	}
	w.expr(l.Body)
	w.end()
}

// ifExpr prints a chain of ifs as one group: all blocks break, or none does.
func (w *weaver) ifExpr(x *ast.If) {
	w.begin()
	for {
		w.word("if")
		w.expr(x.Cond)
		w.space()
		w.blockIn(x.Then)
		if x.Else == nil {
			break
		}
		w.space()
		w.word("else")
		next, ok := x.Else.(*ast.If)
		if !ok {
			w.blockIn(x.Else.(*ast.Block))
			break
		}
		x = next
	}
	w.end()
}

// match prints an arm a line.
func (w *weaver) match(m *ast.Match) {
	w.word("match")
	w.expr(m.X)
	w.space()
	w.tok("{")
	if len(m.Arms) == 0 && !w.commentsAhead() {
		w.tok("}")
		return
	}
	w.indent()
	for i, a := range m.Arms {
		w.itemLine(i == 0)
		w.expr(a.Pattern)
		if a.Guard != nil {
			w.space()
			w.word("if")
			w.expr(a.Guard)
		}
		w.space()
		w.tok("=>")
		w.body(a.Body)
		w.optional(",")
	}
	if len(m.Arms) == 0 {
		w.closeLine(opHard)
	} else {
		w.closeItems()
	}
	w.tok("}")
}
