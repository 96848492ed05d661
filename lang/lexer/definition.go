package lexer

import (
	"io"

	plexer "github.com/alecthomas/participle/v2/lexer"

	"healc/lang/diag"
)

// Definition offers the tokens to participle: the type of a token is its Kind, its value the text as
// written, and of its position only file name and offset are set (diag.File finds line and column
// for the few that are shown). Comments are left out.
type Definition struct{}

// Symbols implements participle's lexer.Definition.
func (Definition) Symbols() map[string]plexer.TokenType {
	m := map[string]plexer.TokenType{"EOF": plexer.EOF}
	for k, name := range kindNames {
		m[name] = plexer.TokenType(k)
	}
	return m
}

// Lex implements participle's lexer.Definition. The first malformed token is the error.
func (Definition) Lex(filename string, r io.Reader) (plexer.Lexer, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	f := diag.NewFile(filename, string(text))
	tokens, _, diags := Tokens(f)
	if err := diags.Err(); err != nil {
		return nil, err
	}
	return Stream(f, tokens), nil
}

// Stream returns the given tokens of f as a participle lexer.
func Stream(f *diag.File, tokens []Token) plexer.Lexer { return &stream{f, tokens} }

type stream struct {
	file *diag.File
	rest []Token
}

// Next implements participle's lexer.Lexer. It gives EOF where the last token ended.
func (s *stream) Next() (plexer.Token, error) {
	if len(s.rest) == 0 {
		return plexer.EOFToken(plexer.Position{Filename: s.file.Name, Offset: len(s.file.Text)}), nil
	}
	t := s.rest[0]
	s.rest = s.rest[1:]
	return plexer.Token{
		Type:  plexer.TokenType(t.Kind),
		Value: t.Text(s.file),
		Pos:   plexer.Position{Filename: s.file.Name, Offset: int(t.Start)},
	}, nil
}
