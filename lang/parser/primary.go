package parser

import (
	"strconv"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"
)

// startsOperand reports whether t can start an expression.
func startsOperand(t token) bool {
	if t.eof() {
		return false
	}
	switch t.kind {
	case lexer.Ident, lexer.Int, lexer.Float, lexer.Char, lexer.String, lexer.Bad:
		return true
	}
	switch t.text {
	case "let", "if", "match", "true", "false", "return",
		"(", "[", "{", "|", "-", "!", "+/", "-/", "*/", "//", "&&/", "||/":
		return true
	}
	return false
}

func (p *parser) startsExpr() bool { return startsOperand(p.tok()) }

func (p *parser) isName() bool { return p.is(lexer.Ident) }

// primary parses what operators join. It fails where no expression starts.
func (p *parser) primary() ast.Expr {
	start := p.start()
	t := p.tok()
	if !t.eof() {
		switch t.kind {
		case lexer.Ident:
			p.next()
			return &ast.Name{At: p.from(start), Name: t.text}
		case lexer.Int, lexer.Float, lexer.Char, lexer.String:
			return p.literal()
		}
	}
	switch t.text {
	case "true", "false":
		p.next()
		return &ast.Lit{At: p.from(start), Kind: ast.BoolLit, Raw: t.text, Value: t.text}
	case "(":
		return p.paren()
	case "[":
		a := &ast.Array{Elems: []ast.Expr{}}
		p.items("]", func() { a.Elems = append(a.Elems, p.expr()) })
		a.At = p.from(start)
		return a
	case "{":
		return p.block()
	case "|":
		return p.lambda()
	case "||":
		p.unexpected("an expression").Help = "a lambda has at least one parameter: `|x| e`"
	case "if":
		return p.ifExpr()
	case "match":
		return p.match()
	case "let":
		return p.letExpr()
	case "return":
		d := p.fail(diag.CodeReturnPlace, p.here(), "`return` is a statement of a block, not an expression")
		d.Help = "the value of an expression needs no `return`; in a block write `return e;`"
	default:
		p.unexpected("an expression")
	}
	return &ast.BadExpr{At: ast.At{Loc: p.here()}}
}

var litKinds = map[lexer.Kind]ast.LitKind{
	lexer.Int: ast.IntLit, lexer.Float: ast.FloatLit, lexer.Char: ast.CharLit, lexer.String: ast.StringLit,
}

func (p *parser) literal() ast.Expr {
	t := p.next()
	l := &ast.Lit{At: ast.At{Loc: p.spanOf(t)}, Kind: litKinds[t.kind], Raw: t.text}
	switch l.Kind {
	case ast.CharLit:
		l.Value = strconv.Itoa(int(lexer.CharValue(t.text)))
	case ast.StringLit:
		l.Value = lexer.Unquote(t.text)
	default:
		l.Value, l.Suffix = lexer.SplitNumber(t.text)
	}
	return l
}

// paren parses `(e)`, which is kept as a Paren, a tuple, or `()`.
func (p *parser) paren() ast.Expr {
	start := p.start()
	elems := []ast.Expr{}
	trailing := p.items(")", func() { elems = append(elems, p.expr()) })
	at := p.from(start)
	if len(elems) != 1 {
		return &ast.Tuple{At: at, Elems: elems}
	}
	if trailing {
		p.report(diag.CodeUnexpected, at.Loc, "one element makes no tuple").Help = "leave out the comma"
	}
	return &ast.Paren{At: at, X: elems[0]}
}

// oneElement reports a type or a pattern in parentheses.
func (p *parser) oneElement(at diag.Span) {
	p.report(diag.CodeUnexpected, at, "one element makes no tuple").Help = "leave out the parentheses"
}

func (p *parser) lambda() ast.Expr {
	start, mark := p.start(), p.scope.mark()
	l := &ast.Lambda{}
	for p.next(); ; { // the bar
		l.Params = append(l.Params, p.pattern())
		if !p.accept(",") {
			break
		}
	}
	if p.at(":") {
		p.unexpected("`,` or `|`").Help = "the types of a lambda's parameters are inferred"
	}
	if !p.accept("|") {
		p.unexpected("`,` or `|`")
	}
	l.Body = p.expr()
	p.scope.release(mark)
	l.At = p.from(start)
	return l
}

// pattern parses a pattern and binds its names.
func (p *parser) pattern() ast.Pattern {
	if !p.at("(") {
		id := p.ident("a name or a tuple of names")
		p.scope.bind(id.Name)
		return &ast.NamePattern{At: id.At, Name: id.Name}
	}
	defer p.nest()()
	start := p.start()
	t := &ast.TuplePattern{Elems: []ast.Pattern{}}
	p.items(")", func() { t.Elems = append(t.Elems, p.pattern()) })
	t.At = p.from(start)
	if len(t.Elems) == 1 {
		p.oneElement(t.Loc)
	}
	return t
}

// letHead parses `let mut pattern: type = value`. The names are bound in what follows, not in the value.
func (p *parser) letHead() *ast.LetStmt {
	start := p.start()
	p.next()
	l := &ast.LetStmt{Mut: p.accept("mut")}
	mark := p.scope.mark()
	l.Pattern = p.pattern()
	bound := append([]string(nil), p.scope.names[mark:]...)
	p.scope.release(mark)
	if p.at(":") && p.peek(1).text != "=" {
		p.next()
		l.Type = p.typeExpr(true)
	}
	if !p.accept("=") {
		p.unexpected("`=`")
	}
	l.Value = p.expr()
	for _, name := range bound {
		p.scope.bind(name)
	}
	l.At = p.from(start)
	return l
}

// letExpr parses `let x = e in body`.
func (p *parser) letExpr() ast.Expr {
	mark := p.scope.mark()
	head := p.letHead()
	if !p.failed && !p.at("in") {
		p.fail(diag.CodeLetForm, p.here(), "expected `in` after the value of this `let`, found %s", p.found()).Help =
			"`let x = e;` stands directly in a block; anywhere else write `let x = e in body`"
	}
	x := p.letBody(head)
	p.scope.release(mark)
	return x
}

// letBody parses `in body` after head.
func (p *parser) letBody(head *ast.LetStmt) ast.Expr {
	if head.Mut {
		p.report(diag.CodeLetForm, head.Loc, "a `let` with `in` cannot be `mut`").Help =
			"declare the variable in a block"
	}
	p.accept("in")
	body := p.expr()
	return &ast.Let{At: p.from(head.Loc.Start), Pattern: head.Pattern, Type: head.Type, Value: head.Value, Body: body}
}
