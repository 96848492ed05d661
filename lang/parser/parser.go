package parser

import (
	"sync"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"

	"github.com/alecthomas/participle/v2"
	plexer "github.com/alecthomas/participle/v2/lexer"
)

// Limits that keep every later walk over the tree, which recurses, within bounded stack.
const (
	maxDepth       = 1000  // levels of nesting
	maxHeight      = 10000 // operators in a chain; also bounds the height of the tree
	maxDiagnostics = 100   // that are shown, those of the lexer with them; the others are counted
)

// parser holds the state of one file. The fields below consts are those of one declaration.
type parser struct {
	file    *diag.File
	diags   *diag.List
	tokens  []lexer.Token
	grammar *participle.Parser[declSyntax]
	consts  map[string]bool // names of `const` declarations anywhere in the file

	first   int    // its first token
	limit   int    // the token after its last one
	after   string // the text of that, "" at the end of the file
	pos     int    // the current token
	cur     token  // the same
	last    token  // the token before it
	end     int    // where that ends
	failed  bool   // an error was reported; every token reads as the end until recovery
	stopped bool   // no recovery before the next declaration
	depth   int    // levels of nesting now
	height  int    // upper bound of the height of the trees built in this frame
	scope   scope
}

// Parse parses f. The tree is never nil; it has BadDecl and BadExpr where the source did not parse,
// and then the list, which is sorted, has errors.
func Parse(f *diag.File) (*ast.File, *diag.List) {
	tokens, comments, diags := lexer.Tokens(f)
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	*p = parser{
		file:    f,
		diags:   diags,
		tokens:  tokens,
		grammar: p.grammar,
		consts:  map[string]bool{},
		scope:   scope{count: map[string]int{}},
	}
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Kind == lexer.Ident && tokens[i-1].Kind == lexer.Keyword && tokens[i-1].Text(f) == "const" {
			p.consts[tokens[i].Text(f)] = true
		}
	}
	tree := &ast.File{At: ast.At{Loc: diag.Span{File: f, Start: 0, End: len(f.Text)}}, Source: f, Comments: comments}
	for start := 0; start < len(tokens); {
		end := p.declEnd(start)
		tree.Decls = append(tree.Decls, p.declaration(start, end))
		start = end
	}
	p.diags.Sort()
	list := p.diags
	*p = parser{grammar: p.grammar} // the pool keeps no file alive
	return tree, list
}

// parsers has parsers whose grammar is built: that takes longer than parsing a small file.
var parsers = sync.Pool{New: func() any {
	p := &parser{}
	p.grammar = newGrammar(p)
	return p
}}

// declEnd returns the index after the declaration that starts at token start. The next one begins at
// a word that starts declarations outside brackets, or at the start of a line: these words are
// reserved, so inside brackets they mean that one is missing.
func (p *parser) declEnd(start int) int {
	i := start
	switch t := p.tokens[i]; {
	case t.Kind == lexer.Attr || t.Text(p.file) == "pub" && i+1 < len(p.tokens) && p.tokens[i+1].Kind == lexer.Attr:
		// the lexer saw that a function follows
		for p.tokens[i].Text(p.file) != "fn" {
			i++
		}
		i++
	case p.startsDecl(i):
		if i++; t.Text(p.file) == "pub" && i < len(p.tokens) && p.startsDecl(i) {
			i++
		}
	}
	depth := 0
	for ; i < len(p.tokens); i++ {
		t := p.tokens[i]
		if p.startsDecl(i) && (depth == 0 || t.Start == 0 || p.file.Text[t.Start-1] == '\n') {
			break
		}
		if t.Kind == lexer.Op && t.End-t.Start == 1 {
			switch p.file.Text[t.Start] {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth = max(depth-1, 0)
			}
		}
	}
	return i
}

// startsDecl reports whether token i is a word that starts a declaration, or an attribute.
func (p *parser) startsDecl(i int) bool {
	t := p.tokens[i]
	if t.Kind == lexer.Keyword {
		switch t.Text(p.file) {
		case "fn", "pub", "const", "import", "test":
			return true
		}
	}
	return t.Kind == lexer.Attr
}

// declaration parses the tokens from start to end.
func (p *parser) declaration(start, end int) ast.Decl {
	p.failed, p.stopped, p.depth, p.height = false, false, 0, 0
	p.scope.release(0)
	p.after = ""
	if end < len(p.tokens) {
		p.after = p.tokens[end].Text(p.file)
	}
	p.first, p.limit = start, end
	p.last = token{start: int(p.tokens[start].Start)}
	p.end = p.last.start
	p.seek(start)
	whole := diag.Span{File: p.file, Start: p.end, End: int(p.tokens[end-1].End)}
	if !p.startsDecl(start) {
		p.unexpected("a declaration")
		return &ast.BadDecl{At: ast.At{Loc: whole}}
	}
	lex, err := plexer.Upgrade(lexer.Stream(p.file, p.tokens[start:p.headEnd()]))
	if err != nil {
		panic("BUG: a stream of tokens failed: " + err.Error())
	}
	syntax, err := p.grammar.ParseFromLexer(lex, participle.AllowTrailing(true))
	if n := start + int(lex.RawCursor()); n > p.pos { // tokens after the last custom production
		p.seek(n)
	}
	if err != nil {
		p.grammarError(err)
		return &ast.BadDecl{At: ast.At{Loc: whole}}
	}
	whole.End = p.end
	d := p.build(syntax, whole)
	if !p.failed && !p.eof() {
		p.unexpected("the end of the declaration")
	}
	return d
}

// headEnd returns the index after the first token of the body of the declaration. Participle copies
// its tokens, at many times their size, so it gets those before the body, and that one to see what
// follows; the productions of the body read the tokens of the file.
func (p *parser) headEnd() int {
	depth := 0
	for i := p.first; i < p.limit; i++ {
		if t := p.tokens[i]; t.Kind == lexer.Op && t.End-t.Start == 1 {
			switch p.file.Text[t.Start] {
			case '(', '[':
				depth++
			case ')', ']':
				depth--
			case '=', '{':
				if depth <= 0 {
					return min(i+2, p.limit)
				}
			}
		}
	}
	return p.limit
}
