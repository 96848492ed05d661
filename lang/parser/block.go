package parser

import (
	"strings"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"
)

// block parses `{ stmts; value }`. An error in a statement costs the rest of that statement.
func (p *parser) block() *ast.Block {
	defer p.nest()()
	start, mark := p.start(), p.scope.mark()
	b := &ast.Block{At: p.from(start)}
	if !p.at("{") {
		p.unexpected("`{`")
		return b
	}
	open := p.next()
	for !p.at("}") && !p.eof() && b.Value == nil {
		p.statement(b)
		if p.failed && !p.recover(";") {
			break
		}
	}
	p.closing(open, "}", "`;` or `}`")
	p.scope.release(mark)
	b.At = p.from(start)
	return b
}

// recover skips to the end of the statement or arm that failed: past the next separator or to the
// closing brace, outside brackets. It reports whether parsing can go on there.
func (p *parser) recover(separator string) bool {
	if p.stopped {
		return false
	}
	p.failed = false
	for depth := 0; !p.eof(); p.next() {
		switch v := p.tok().text; v {
		case "(", "[", "{":
			depth++
		case "}":
			if depth == 0 {
				return true
			}
			depth--
		case ")", "]":
			depth = max(depth-1, 0)
		case "let", "return":
			if depth == 0 && p.newLine() {
				return true
			}
		case separator:
			if depth == 0 {
				p.next()
				return true
			}
		}
	}
	p.failed = true
	return false
}

// newLine reports whether the current token is on a later line than the one before.
func (p *parser) newLine() bool {
	return !p.eof() && strings.Contains(p.file.Text[p.end:p.cur.start], "\n")
}

// statement parses one statement, or the value of b.
func (p *parser) statement(b *ast.Block) {
	start, mark := p.start(), p.scope.mark()
	switch {
	case p.at("let"):
		head := p.letHead()
		if p.at("in") {
			x := p.letBody(head)
			p.scope.release(mark)
			p.endExpr(b, x, start)
			return
		}
		p.endStmt(b, head)
	case p.at("return"):
		p.next()
		s := &ast.ReturnStmt{}
		if !p.at(";") && !p.at("}") && !p.eof() {
			s.Value = p.expr()
		}
		s.At = p.from(start)
		if p.at("}") { // the value of the function, like that of a block
			b.Stmts = append(b.Stmts, s)
			return
		}
		p.endStmt(b, s)
	case p.at(";"):
		p.unexpected("a statement").Help = "there is no empty statement: remove the `;`"
		b.Stmts = append(b.Stmts, &ast.ExprStmt{At: p.from(start), X: &ast.BadExpr{At: p.from(start)}})
	default:
		x := p.expr()
		if op := p.tok().text; isAssign(op) {
			p.assignment(b, x, start)
			return
		}
		p.endExpr(b, x, start)
	}
}

func isAssign(op string) bool {
	switch op {
	case "=", "+=", "-=", "*=", "/=", ".+=", ".-=", ".*=", "./=":
		return true
	}
	return false
}

// assignment parses the rest of `target op value;`.
func (p *parser) assignment(b *ast.Block, target ast.Expr, start int) {
	base := target
	for {
		i, ok := base.(*ast.Index)
		if !ok {
			break
		}
		base = i.X
	}
	if _, ok := base.(*ast.Name); !ok {
		d := p.report(diag.CodeAssignTarget, target.Span(), "this cannot be assigned to")
		d.Help = "the left of `" + p.tok().text + "` is a variable or an index of one; `==` compares"
	}
	op := p.next().text
	value := p.expr()
	p.endStmt(b, &ast.AssignStmt{At: p.from(start), Target: target, Op: op, Value: value})
}

// endStmt adds s, which wants a `;`.
func (p *parser) endStmt(b *ast.Block, s ast.Stmt) {
	b.Stmts = append(b.Stmts, s)
	if p.failed || p.accept(";") {
		setEnd(s, p.end)
		return
	}
	if p.at("}") || p.newLine() && p.startsStmt() {
		p.missingSemicolon()
		return
	}
	p.unexpected("`;`")
}

// endExpr adds x, which starts at start, as a statement or as the value of the block.
func (p *parser) endExpr(b *ast.Block, x ast.Expr, start int) {
	s := &ast.ExprStmt{At: p.from(start), X: x}
	switch {
	case p.failed:
		b.Stmts = append(b.Stmts, s)
	case p.accept(";"):
		s.At = p.from(start)
		b.Stmts = append(b.Stmts, s)
	case p.at("}") || p.eof(): // the latter is an open bracket, which block reports
		b.Value = x
	case isBlockLike(x) && p.startsStmt():
		b.Stmts = append(b.Stmts, s)
	case p.newLine() && p.startsStmt() && foreignWords[p.last.text] == "":
		b.Stmts = append(b.Stmts, s)
		p.missingSemicolon()
	default:
		b.Stmts = append(b.Stmts, s)
		p.unexpected("`;` or `}`")
	}
}

func (p *parser) startsStmt() bool {
	return p.startsExpr() && foreignWords[p.tok().text] == ""
}

func (p *parser) missingSemicolon() {
	at := diag.Span{File: p.file, Start: p.end, End: p.end}
	p.report(diag.CodeMissingSemicolon, at, "missing `;` after the statement")
}

// setEnd lets the statement s end at byte end, its semicolon.
func setEnd(s ast.Stmt, end int) {
	switch s := s.(type) {
	case *ast.LetStmt:
		s.Loc.End = max(s.Loc.End, end)
	case *ast.AssignStmt:
		s.Loc.End = max(s.Loc.End, end)
	case *ast.ReturnStmt:
		s.Loc.End = max(s.Loc.End, end)
	}
}

// ifExpr parses `if c { a } else { b }`. A chain of `else if` is a loop here: it nests only in the tree.
func (p *parser) ifExpr() ast.Expr {
	first := &ast.If{}
	for x := first; ; {
		start := p.start()
		p.next()
		x.Cond = p.expr()
		x.Then = p.block()
		x.At = p.from(start)
		if !p.accept("else") {
			break
		}
		if !p.at("if") {
			x.Else = p.block()
			break
		}
		p.link()
		next := &ast.If{}
		x.Else = next
		x = next
	}
	// Every if of the chain ends where the last one does.
	for x := first; x != nil; {
		x.Loc.End = max(x.Loc.End, p.end)
		next, _ := x.Else.(*ast.If)
		x = next
	}
	return first
}

// match parses `match e { pattern if guard => value, ... }`. The comma may be left out after a block.
func (p *parser) match() ast.Expr {
	start := p.start()
	p.next()
	m := &ast.Match{X: p.expr(), Arms: []*ast.Arm{}}
	if !p.at("{") {
		p.unexpected("`{`")
		m.At = p.from(start)
		return m
	}
	open := p.next()
	for !p.at("}") && !p.eof() {
		arm := p.arm()
		m.Arms = append(m.Arms, arm)
		if !p.failed && !p.accept(",") && !p.at("}") && !p.eof() {
			if _, ok := arm.Body.(*ast.Block); !ok {
				p.unexpected("`,` or `}`")
			}
		}
		if p.failed && !p.recover(",") {
			break
		}
	}
	p.closing(open, "}", "`,` or `}`")
	m.At = p.from(start)
	return m
}

func (p *parser) arm() *ast.Arm {
	start, mark := p.start(), p.scope.mark()
	a := &ast.Arm{Pattern: p.armPattern()}
	if n, ok := a.Pattern.(*ast.Name); ok {
		p.scope.bind(n.Name)
	}
	if p.accept("if") {
		a.Guard = p.expr()
	}
	if !p.accept("=>") {
		p.unexpected("`=>`")
	}
	a.Body = p.expr()
	p.scope.release(mark)
	a.At = p.from(start)
	return a
}

// armPattern parses a literal, perhaps negated, a name or `_`.
func (p *parser) armPattern() ast.Expr {
	start := p.start()
	negative := p.accept("-")
	var x ast.Expr
	switch {
	case p.is(lexer.Int), p.is(lexer.Float), !negative && (p.is(lexer.Char) || p.is(lexer.String)):
		x = p.literal()
	case !negative && (p.isName() || p.at("true") || p.at("false")):
		x = p.primary()
	default:
		p.unexpected("a pattern: a literal, a name or `_`")
		return &ast.BadExpr{At: ast.At{Loc: p.here()}}
	}
	if negative {
		x = &ast.Unary{At: p.from(start), Op: "-", X: x}
	}
	return x
}
