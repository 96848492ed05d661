package lsp

import (
	"context"
	"slices"
	"sort"
	"strings"

	"go.lsp.dev/protocol"

	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/lang/names"
	"healc/lang/types"
)

// The kinds of semantic tokens, and what more there is to say of one.
var (
	tokenTypes = []string{"keyword", "function", "variable", "parameter", "typeParameter", "namespace", "type",
		"number", "string", "operator", "comment", "decorator"}
	tokenModifiers = []string{"declaration", "readonly", "defaultLibrary"}
)

// SemanticTokensFull implements protocol.Server.
func (s *server) SemanticTokensFull(ctx context.Context, p *protocol.SemanticTokensParams) (*protocol.SemanticTokens,
	error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	return &protocol.SemanticTokens{Data: d.encode(d.tokens())}, nil
}

// lexerKinds are the types of tokens that are what they look like.
var lexerKinds = map[lexer.Kind]string{lexer.Keyword: "keyword", lexer.Int: "number", lexer.Float: "number",
	lexer.Char: "string", lexer.String: "string", lexer.Op: "operator", lexer.Attr: "decorator"}

// semantic is a token with its type and its modifiers.
type semantic struct {
	at        diag.Span
	kind      string
	modifiers []string
}

// nameKinds are the types of names.
var nameKinds = map[names.Kind]string{names.Function: "function", names.Constant: "variable", names.Module: "namespace",
	names.Parameter: "parameter", names.Shape: "typeParameter", names.Variable: "variable",
	names.LambdaParameter: "parameter", names.ArmName: "variable"}

// tokens are those of a document, in order.
func (d *document) tokens() []semantic {
	f := d.facts()
	known := map[int]semantic{} // names, by where they begin
	for _, s := range f.names.Symbols {
		if s.Kind != names.Module || s.Decl.Text() == s.Name {
			known[s.Decl.Start] = semantic{s.Decl, nameKinds[s.Kind], append(modifiers(s.Kind), "declaration")}
		}
	}
	for _, u := range f.names.Uses {
		t := semantic{at: u.Span, kind: "variable"}
		_, builtin := check.LookupFunction(u.Name)
		switch {
		case u.Symbol != nil:
			t.kind, t.modifiers = nameKinds[u.Symbol.Kind], modifiers(u.Symbol.Kind)
		case u.Module != nil:
			t.kind = "function"
		case builtin:
			t.kind, t.modifiers = "function", []string{"defaultLibrary"}
		}
		known[u.Span.Start] = t
	}
	var out []semantic
	lexed, comments, _ := lexer.Tokens(d.file)
	for i, t := range lexed {
		at := t.Span(d.file)
		switch n, ok := known[at.Start]; {
		case ok && n.at.End == at.End:
			out = append(out, n)
		case t.Kind == lexer.Ident:
			kind := "variable"
			if i > 0 && lexed[i-1].Kind == lexer.Attr {
				kind = "decorator"
			} else if _, ok := types.ParseDType(t.Text(d.file)); ok || t.Text(d.file) == "unit" {
				kind = "type"
			}
			out = append(out, semantic{at: at, kind: kind})
		case lexerKinds[t.Kind] != "":
			out = append(out, semantic{at: at, kind: lexerKinds[t.Kind]})
		}
	}
	for _, c := range comments {
		out = append(out, semantic{at: c.Loc, kind: "comment"})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].at.Start < out[j].at.Start })
	return out
}

func modifiers(k names.Kind) []string {
	if k == names.Constant {
		return []string{"readonly"}
	}
	return nil
}

// encode writes tokens as the protocol has them, five numbers each; one of several lines is one for each line.
func (d *document) encode(tokens []semantic) []uint32 {
	out := []uint32{}
	line, char := uint32(0), uint32(0)
	for _, t := range tokens {
		bits := uint32(0)
		for _, m := range t.modifiers {
			bits |= 1 << slices.Index(tokenModifiers, m)
		}
		start := t.at.Start
		for part := range strings.Lines(t.at.Text()) {
			r := d.span(diag.Span{File: d.file, Start: start, End: start + len(strings.TrimRight(part, "\r\n"))})
			start += len(part)
			if r.End.Character <= r.Start.Character {
				continue
			}
			if r.Start.Line != line {
				char = 0
			}
			out = append(out, r.Start.Line-line, r.Start.Character-char, r.End.Character-r.Start.Character,
				uint32(slices.Index(tokenTypes, t.kind)), bits)
			line, char = r.Start.Line, r.Start.Character
		}
	}
	return out
}
