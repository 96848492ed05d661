package parser

import (
	"slices"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"

	"github.com/alecthomas/participle/v2"
	plexer "github.com/alecthomas/participle/v2/lexer"
)

// The grammar of declarations, LL(1). Items of lists carry the comma after them, so that one may
// trail; a missing one is found when the tree is built.

type declSyntax struct {
	Attrs  []*attrSyntax `parser:"@@*"`
	Pub    plexer.Token  `parser:"@'pub'?"`
	After  []*attrSyntax `parser:"@@*"` // attributes may stand on both sides of pub
	Func   *funcSyntax   `parser:"( 'fn' @@"`
	Const  *constSyntax  `parser:"| 'const' @@"`
	Import *importSyntax `parser:"| 'import' @@"`
	Test   *testSyntax   `parser:"| 'test' @@ )"`
}

type attrSyntax struct {
	Pos  plexer.Position
	Name plexer.Token `parser:"Attr @Ident"`
	Args []*argSyntax `parser:"( '(' @@*"`
	End  plexer.Token `parser:"@')' )?"`
}

type argSyntax struct {
	Value ast.Expr `parser:"@@"`
	Comma bool     `parser:"@','?"`
}

type funcSyntax struct {
	Name   plexer.Token     `parser:"@Ident"`
	Dims   []*genericSyntax `parser:"( '[' @@* ']' )?"`
	Params []*paramSyntax   `parser:"'(' @@* ')'"`
	Result ast.TypeExpr     `parser:"( '->' @@ )?"`
	Equals bool             `parser:"( @'='"`
	Body   bodyExpr         `parser:"@@"`
	Block  blockBody        `parser:"| @@ )"`
}

type genericSyntax struct {
	Name  binder       `parser:"@@"`
	Bound plexer.Token `parser:"( ':' @Ident"`
	Of    plexer.Token `parser:"  ( '[' @Ident ']' )? )?"`
	Comma bool         `parser:"@','?"`
}

type paramSyntax struct {
	Name  binder       `parser:"@@ ':'"`
	Mut   bool         `parser:"@( '&' 'mut' )?"`
	Type  ast.TypeExpr `parser:"@@"`
	Comma bool         `parser:"@','?"`
}

type constSyntax struct {
	Name  plexer.Token `parser:"@Ident ':'"`
	Type  ast.TypeExpr `parser:"@@ '='"`
	Value bodyExpr     `parser:"@@"`
}

type importSyntax struct {
	Name  plexer.Token `parser:"( @Ident"`
	Path  plexer.Token `parser:"| @String )"`
	Alias plexer.Token `parser:"( 'as' @Ident )?"`
}

type testSyntax struct {
	Name plexer.Token `parser:"@String"`
	Body blockBody    `parser:"@@"`
}

// The custom productions. Participle tells them apart by their types.
type (
	// bodyExpr is the expression that ends a declaration; it reports its errors and always matches.
	bodyExpr interface{ ast.Expr }
	// blockBody is a block; anything but `{` does not match.
	blockBody interface{ ast.Expr }
	// binder is a name that is bound as a value in the rest of the declaration.
	binder interface{ ident() ast.Ident }
)

type boundName ast.Ident

func (b *boundName) ident() ast.Ident { return ast.Ident(*b) }

// productionNames says in messages what participle calls by the names of types and tokens.
var productionNames = map[string]string{
	"ident": "a name", "Ident": "a name", "string": "a string", "String": "a string",
	"TypeExpr": "a type", "Expr": "an expression", "BodyExpr": "an expression", "BlockBody": "a block",
	"Binder": "a name", "ParamSyntax": "a parameter", "GenericSyntax": "a shape parameter", "TestSyntax": "a string",
	"FuncSyntax": "a name", "ConstSyntax": "a name", "ImportSyntax": "a module",
}

// newGrammar builds the participle parser whose custom productions are methods of p.
func newGrammar(p *parser) *participle.Parser[declSyntax] {
	return participle.MustBuild[declSyntax](
		participle.Lexer(lexer.Definition{}),
		participle.UseLookahead(0),
		participle.ParseTypeWith(func(lex *plexer.PeekingLexer) (ast.Expr, error) {
			p.enter(lex)
			defer p.leave(lex)
			if !startsOperand(p.tok()) {
				return nil, participle.NextMatch
			}
			x := p.expr()
			return x, p.problem()
		}),
		participle.ParseTypeWith(func(lex *plexer.PeekingLexer) (bodyExpr, error) {
			p.enter(lex)
			defer p.leave(lex)
			return p.expr(), nil
		}),
		participle.ParseTypeWith(func(lex *plexer.PeekingLexer) (blockBody, error) {
			p.enter(lex)
			defer p.leave(lex)
			if !p.at("{") {
				return nil, participle.NextMatch
			}
			return p.block(), nil
		}),
		participle.ParseTypeWith(func(lex *plexer.PeekingLexer) (ast.TypeExpr, error) {
			p.enter(lex)
			defer p.leave(lex)
			t := p.typeExpr(true)
			return t, p.problem()
		}),
		participle.ParseTypeWith(func(lex *plexer.PeekingLexer) (binder, error) {
			p.enter(lex)
			defer p.leave(lex)
			if !p.is(lexer.Ident) {
				return nil, participle.NextMatch
			}
			name := boundName(p.ident("a name"))
			p.scope.bind(name.Name)
			return &name, nil
		}),
	)
}

// problem is what a custom production returns: participle stops where an error was reported.
func (p *parser) problem() error {
	if p.failed {
		return errReported
	}
	return nil
}

// build makes the node of a declaration.
func (p *parser) build(s *declSyntax, whole diag.Span) ast.Decl {
	at := ast.At{Loc: whole}
	isPub := s.Pub.Value != ""
	switch {
	case s.Func != nil:
		return p.buildFunc(s, at)
	case s.Const != nil:
		c := s.Const
		return &ast.ConstDecl{At: at, Pub: isPub, Name: p.identOf(&c.Name), Type: c.Type, Value: c.Value}
	}
	if isPub {
		p.report(diag.CodeMisplaced, p.identOf(&s.Pub).Loc, "`pub` stands before a function or a constant")
	}
	if s.Test != nil {
		body := s.Test.Body.(*ast.Block) // the only thing that production yields
		return &ast.TestDecl{At: at, Name: lexer.Unquote(s.Test.Name.Value), Body: body}
	}
	d := &ast.ImportDecl{At: at, Path: s.Import.Name.Value}
	if path := s.Import.Path.Value; path != "" {
		d.Path, d.Quoted = lexer.Unquote(path), true
	}
	if s.Import.Alias.Value != "" {
		alias := p.identOf(&s.Import.Alias)
		d.Alias = &alias
	}
	return d
}

func (p *parser) buildFunc(s *declSyntax, at ast.At) ast.Decl {
	f := s.Func
	d := &ast.FuncDecl{
		At: at, Pub: s.Pub.Value != "", Name: p.identOf(&f.Name), Result: f.Result, Body: f.Body, Equals: f.Equals,
	}
	if f.Block != nil {
		d.Body = f.Block
	}
	for _, a := range slices.Concat(s.Attrs, s.After) {
		attr := &ast.Attr{Name: p.identOf(&a.Name)}
		attr.Loc = diag.Span{File: p.file, Start: a.Pos.Offset, End: attr.Name.Loc.End}
		if a.End.Value != "" {
			attr.Loc.End = a.End.Pos.Offset + 1
		}
		for i, arg := range a.Args {
			attr.Args = append(attr.Args, arg.Value)
			p.needComma(arg.Comma, arg.Value.Span(), i+1 < len(a.Args), ")")
		}
		d.Attrs = append(d.Attrs, attr)
	}
	for i, g := range f.Dims {
		node := &ast.GenericParam{Name: g.Name.ident()}
		node.At = node.Name.At
		if g.Bound.Value != "" {
			bound := p.identOf(&g.Bound)
			node.Bound = &bound
			node.Loc = node.Loc.To(bound.Loc)
		}
		if g.Of.Value != "" {
			of := p.identOf(&g.Of)
			node.Of = &of
			node.Loc = node.Loc.To(of.Loc)
			node.Loc.End++ // the bracket
		}
		d.Dims = append(d.Dims, node)
		p.needComma(g.Comma, node.Loc, i+1 < len(f.Dims), "]")
	}
	for i, x := range f.Params {
		node := &ast.Param{Name: x.Name.ident(), Mut: x.Mut, Type: x.Type}
		node.Loc = node.Name.Loc.To(x.Type.Span())
		d.Params = append(d.Params, node)
		p.needComma(x.Comma, node.Loc, i+1 < len(f.Params), ")")
	}
	return d
}

// needComma reports an item of a list, not its last, that has no comma after it.
func (p *parser) needComma(comma bool, item diag.Span, more bool, closer string) {
	if more && !comma {
		item.Start = item.End
		p.report(diag.CodeUnexpected, item, "expected `,` or `%s` here", closer)
	}
}

func (p *parser) identOf(t *plexer.Token) ast.Ident {
	return ast.Ident{At: ast.At{Loc: p.spanOf(token{text: t.Value, start: t.Pos.Offset})}, Name: t.Value}
}
