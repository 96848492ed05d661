package parser

import (
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"

	plexer "github.com/alecthomas/participle/v2/lexer"
)

// token is a token with its text. The end of the declaration is the token without text.
type token struct {
	kind  lexer.Kind
	text  string
	start int
}

func (t token) eof() bool { return t.text == "" }
func (t token) end() int  { return t.start + len(t.text) }

// tok returns the current token; after a failure, and at the end of the declaration, that is the end.
func (p *parser) tok() token {
	if p.failed {
		return token{start: p.last.end()}
	}
	return p.cur
}

func (p *parser) eof() bool { return p.tok().eof() }

// at reports whether the current token is written s. The texts of names, words and operators differ,
// and literals with quotes keep them, so the text is enough.
func (p *parser) at(s string) bool { return !p.failed && p.cur.text == s }

// is reports whether the current token is of kind k.
func (p *parser) is(k lexer.Kind) bool { return !p.eof() && p.cur.kind == k }

// token returns token i of the file, or the end where the declaration does not have it.
func (p *parser) token(i int) token {
	if i < p.first || i >= p.limit {
		return token{start: p.last.end()}
	}
	t := p.tokens[i]
	return token{t.Kind, t.Text(p.file), int(t.Start)}
}

// peek returns the token n places after the current one.
func (p *parser) peek(n int) token {
	if p.failed {
		return token{start: p.last.end()}
	}
	return p.token(p.pos + n)
}

// seek makes token i the current one.
func (p *parser) seek(i int) {
	p.pos = i
	if i > p.first {
		p.last = p.token(i - 1)
		p.end = p.last.end()
	}
	p.cur = p.token(i)
}

// next consumes the current token.
func (p *parser) next() token {
	t := p.tok()
	if !t.eof() {
		p.last, p.end = t, t.end()
		p.pos++
		p.cur = p.token(p.pos)
	}
	return t
}

// accept consumes the current token if it is written s.
func (p *parser) accept(s string) bool {
	if p.at(s) {
		p.next()
		return true
	}
	return false
}

// expect consumes s or fails.
func (p *parser) expect(s string) {
	if !p.accept(s) {
		p.unexpected("`" + s + "`")
	}
}

// ident consumes a name or fails.
func (p *parser) ident(what string) ast.Ident {
	if !p.is(lexer.Ident) {
		p.unexpected(what)
		return ast.Ident{At: ast.At{Loc: p.here()}}
	}
	t := p.next()
	return ast.Ident{At: ast.At{Loc: p.spanOf(t)}, Name: t.text}
}

// spanOf returns where t is.
func (p *parser) spanOf(t token) diag.Span {
	return diag.Span{File: p.file, Start: t.start, End: t.end()}
}

// start returns where the current token starts; at the end, where the last one ended.
func (p *parser) start() int {
	if t := p.tok(); !t.eof() {
		return t.start
	}
	return p.end
}

// from returns the place from byte start to the end of the last token.
func (p *parser) from(start int) ast.At {
	return ast.At{Loc: diag.Span{File: p.file, Start: start, End: max(start, p.end)}}
}

// closing consumes the bracket that ends what open started, or fails.
func (p *parser) closing(open token, closer, want string) {
	if p.failed || p.accept(closer) {
		return
	}
	at := p.spanOf(open)
	if p.eof() {
		p.fail(diag.CodeUnclosed, at, "this `%s` is never closed", open.text).Help =
			"expected " + want + " before " + p.found()
		return
	}
	d := p.unexpected(want)
	d.Related = append(d.Related, diag.Label{Span: at, Text: "opened here"})
}

// items parses a list between open, which is consumed, and closer. A comma may trail; the result says so.
func (p *parser) items(closer string, item func()) (trailing bool) {
	open := p.next()
	for !p.at(closer) && !p.eof() {
		item()
		if trailing = p.accept(","); !trailing {
			break
		}
	}
	want := "`,` or `" + closer + "`"
	if trailing {
		want = "`" + closer + "`"
	}
	p.closing(open, closer, want)
	return trailing
}

// enter starts a custom production of the grammar at participle's place in the declaration, leave
// moves participle to the place where it ended. Participle has the head of a declaration only, so
// after the body it stands at its end.
func (p *parser) enter(lex *plexer.PeekingLexer) { p.seek(p.first + int(lex.RawCursor())) }

func (p *parser) leave(lex *plexer.PeekingLexer) {
	for int(lex.RawCursor()) < p.pos-p.first && !lex.Peek().EOF() {
		lex.Next()
	}
}

// frame measures the height of what is parsed until the returned function is called; one frame is
// one node higher than the highest in it.
func (p *parser) frame() func() {
	saved := p.height
	p.height = 0
	return func() { p.height = max(saved, p.height+1) }
}

// link counts one more node on top of those of this frame, as chains of operators make them. Where
// the chain is too long it stops the declaration.
func (p *parser) link() {
	if p.height++; p.height > maxHeight {
		p.stop(diag.CodeTooLong, p.here(), "the expression has too many operators: the limit is %d", maxHeight).Help =
			"name a part of it with `let`"
	}
}

// nest enters one level of nesting and returns the function that leaves it. Where the level is too
// deep it stops the declaration.
func (p *parser) nest() func() {
	leave := p.frame()
	if p.depth++; p.depth > maxDepth {
		p.stop(diag.CodeTooDeep, p.here(), "nested too deeply: the limit is %d levels", maxDepth).Help =
			"name a part of it with `let`, or move it to a function"
	}
	return func() {
		p.depth--
		leave()
	}
}
