package repl

import (
	"regexp"
	"strings"
	"sync"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/lang/parser"
)

// Incomplete reports whether text goes on in the next line: a bracket or a comment is open, or it ends in
// something that needs an operand, a body or a declaration after it.
func Incomplete(text string) bool {
	file := diag.NewFile(inputName, text)
	tokens, _, diags := lexer.Tokens(file)
	depth := 0
	function := false
	for _, t := range tokens {
		switch t.Text(file) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "fn":
			function = true
		}
	}
	for _, d := range diags.Items {
		if d.Code == diag.CodeOpenComment {
			return true
		}
	}
	if depth != 0 || len(tokens) == 0 {
		return depth > 0
	}
	if !function && (tokens[0].Kind == lexer.Attr || tokens[0].Text(file) == "@" || tokens[0].Text(file) == "pub") {
		return tokens[0].Text(file) != "pub" || len(tokens) == 1
	}
	last := tokens[len(tokens)-1]
	switch last.Kind {
	case lexer.Op:
		return !strings.Contains(") ] } ; .. | .", last.Text(file))
	case lexer.Keyword:
		return last.Text(file) != "true" && last.Text(file) != "false"
	}
	return false
}

// isDeclarations reports whether an input declares functions, constants or modules. A `let` does not: it
// belongs to the session and not to the program.
func isDeclarations(file *diag.File) bool {
	tokens, _, _ := lexer.Tokens(file)
	if len(tokens) == 0 {
		return false
	}
	switch first := tokens[0]; first.Kind {
	case lexer.Attr:
		return true
	case lexer.Keyword:
		switch first.Text(file) {
		case "fn", "pub", "const", "import", "test":
			return true
		}
	}
	return false
}

// statements is an input that is evaluated: a block without its braces.
type statements struct {
	text  *diag.File // the input, perhaps with the `;` that it lacks
	stmts []ast.Stmt
	value diag.Span                 // in text; not valid when the input has no value
	own   func(diag.Span) diag.Span // turns a place in stmts into one in text
}

var foundTail = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("found `}`") })

const (
	blockHead = "fn __input() = {\n"
	blockTail = "\n}\n"
)

// parseStatements parses an input as the inside of a block. The `;` at its end may be left out.
func parseStatements(file *diag.File) (*statements, *diag.List) {
	s, list := parseBlock(file)
	if list.HasErrors() {
		closed, still := parseBlock(diag.NewFile(file.Name, file.Text+"\n;"))
		if still.HasErrors() {
			return nil, list
		}
		s = closed
	}
	for _, st := range s.stmts {
		if r, ok := st.(*ast.ReturnStmt); ok {
			return nil, &diag.List{Items: []*diag.Diagnostic{{
				Code: diag.CodeReturnPlace, Message: "there is no function to leave",
				Primary: diag.Label{Span: s.own(r.Span())},
			}}}
		}
	}
	return s, nil
}

func parseBlock(file *diag.File) (*statements, *diag.List) {
	src := &source{}
	src.add(blockHead)
	src.quote(file, 0, len(file.Text))
	src.add(blockTail)
	gen := src.file()
	tree, list := parser.Parse(gen)
	out := &diag.List{More: list.More}
	for _, d := range list.Items {
		own := src.own(gen, d)
		if d.Primary.Span.Start >= src.pieces[0].end { // what is found there is not the user's
			own.Message = foundTail().ReplaceAllString(own.Message, "found the end of the input")
		}
		out.Add(own)
	}
	if out.HasErrors() {
		return nil, out
	}
	block, ok := (*ast.Block)(nil), false
	if f, isFunc := tree.Decls[0].(*ast.FuncDecl); isFunc && len(tree.Decls) == 1 {
		block, ok = f.Body.(*ast.Block)
	}
	if !ok { // a brace closes more than was open
		out.Add(&diag.Diagnostic{Code: diag.CodeUnexpected, Message: "the brackets do not match",
			Primary: diag.Label{Span: diag.Span{File: file, End: len(file.Text)}}})
		return nil, out
	}
	s := &statements{text: file, stmts: block.Stmts, own: func(at diag.Span) diag.Span { return src.span(gen, at) }}
	if block.Value != nil {
		s.value = src.span(gen, block.Value.Span())
	}
	return s, out
}

// names are the variables that the statements declare, each once.
func (s *statements) names() []string {
	var out []string
	seen := map[string]bool{"_": true}
	var walk func(p ast.Pattern)
	walk = func(p ast.Pattern) {
		switch p := p.(type) {
		case *ast.NamePattern:
			if !seen[p.Name] {
				seen[p.Name] = true
				out = append(out, p.Name)
			}
		case *ast.TuplePattern:
			for _, e := range p.Elems {
				walk(e)
			}
		}
	}
	for _, st := range s.stmts {
		if let, ok := st.(*ast.LetStmt); ok {
			walk(let.Pattern)
		}
	}
	return out
}

// mutable reports whether the last declaration of name in the statements is a `let mut`.
func (s *statements) mutable(name string) bool {
	mut := false
	for _, st := range s.stmts {
		let, ok := st.(*ast.LetStmt)
		if !ok {
			continue
		}
		if p, ok := let.Pattern.(*ast.NamePattern); ok && p.Name == name {
			mut = let.Mut
		}
	}
	return mut
}

// mentions reports whether name stands anywhere in the input.
func mentions(file *diag.File, name string) bool {
	tokens, _, _ := lexer.Tokens(file)
	for _, t := range tokens {
		if t.Kind == lexer.Ident && t.Text(file) == name {
			return true
		}
	}
	return false
}
