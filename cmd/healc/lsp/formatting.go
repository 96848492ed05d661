package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/format"
	"healc/lang/lexer"
)

// Formatting implements protocol.Server. A file that does not parse stays as it is.
func (s *server) Formatting(ctx context.Context, p *protocol.DocumentFormattingParams) ([]protocol.TextEdit, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	return d.formatted(diag.Span{File: d.file, End: len(d.file.Text)}, nil), nil
}

// RangeFormatting implements protocol.Server: the declarations that are in a range, in whole or in part.
func (s *server) RangeFormatting(ctx context.Context, p *protocol.DocumentRangeFormattingParams) ([]protocol.TextEdit,
	error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out := []protocol.TextEdit{}
	from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
	for _, decl := range d.facts().syntax.Decls {
		if at := decl.Span(); at.Start < to && from < at.End {
			out = append(out, d.declaration(decl, nil)...)
		}
	}
	return out, nil
}

// OnTypeFormatting implements protocol.Server: behind `}` the declaration, behind `;` the statement, where nothing else
// would change; behind a new line how far the next one is indented.
func (s *server) OnTypeFormatting(ctx context.Context, p *protocol.DocumentOnTypeFormattingParams) ([]protocol.TextEdit,
	error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	at := d.offset(p.Position)
	if p.Ch == "\n" {
		return d.indented(int(p.Position.Line)), nil
	}
	var within *diag.Span
	if p.Ch == ";" {
		within = &diag.Span{Start: d.statement(at), End: at}
	}
	for _, decl := range d.facts().syntax.Decls {
		if decl.Span().Start < at && at <= decl.Span().End {
			return d.declaration(decl, within), nil
		}
	}
	return []protocol.TextEdit{}, nil
}

// declaration is how a declaration is formatted, which need not wait for the others of the file to parse.
func (d *document) declaration(decl ast.Decl, within *diag.Span) []protocol.TextEdit {
	if _, bad := decl.(*ast.BadDecl); bad {
		return []protocol.TextEdit{}
	}
	return d.formatted(decl.Span(), within)
}

// formatted are the edits that format a part of the text that is a file of its own: none where it does not parse, or
// where lines would change that are not of within.
func (d *document) formatted(part diag.Span, within *diag.Span) []protocol.TextEdit {
	none := []protocol.TextEdit{}
	old := d.file.Text[part.Start:part.End]
	text, list := format.Source(diag.NewFile(d.file.Name, old))
	if list.HasErrors() {
		return none
	}
	if part.End < len(d.file.Text) {
		text = strings.TrimSuffix(text, "\n")
	}
	if text == old {
		return none
	}
	// The lines before the first that changes and after the last stay, and with them what an editor knows of them.
	from := 0
	for from < len(old) && from < len(text) && old[from] == text[from] {
		from++
	}
	for from > 0 && old[from-1] != '\n' {
		from--
	}
	end := 0
	for end < len(old)-from && end < len(text)-from && old[len(old)-1-end] == text[len(text)-1-end] {
		end++
	}
	for end > 0 && old[len(old)-end-1] != '\n' {
		end--
	}
	changed := diag.Span{File: d.file, Start: part.Start + from, End: part.Start + len(old) - end}
	if within != nil && (d.position(changed.Start).Line < d.position(within.Start).Line ||
		d.position(changed.End-1).Line > d.position(within.End).Line) {
		return none
	}
	return []protocol.TextEdit{{Range: d.span(changed), NewText: text[from : len(text)-end]}}
}

// statement is where the statement begins that a `;` before an offset ends.
func (d *document) statement(end int) int {
	tokens, _, _ := lexer.Tokens(d.file)
	begin, depth := end, 0
	for i := len(tokens) - 1; i >= 0; i-- {
		if int(tokens[i].End) >= end {
			continue
		}
		if tokens[i].Kind == lexer.Op {
			switch text := tokens[i].Text(d.file); {
			case strings.Contains(")]}", text):
				depth++
			case depth == 0 && strings.Contains("([{;", text):
				return begin
			case strings.Contains("([{", text):
				depth--
			}
		}
		begin = int(tokens[i].Start)
	}
	return begin
}

// indentation is how much further a line is indented for each bracket that is open before it, as in package format.
const indentation = "    "

// indented is the edit that indents a line by what is open before it.
func (d *document) indented(line int) []protocol.TextEdit {
	if line >= len(d.lines) {
		return []protocol.TextEdit{}
	}
	from := d.lines[line]
	to := from
	for to < len(d.file.Text) && (d.file.Text[to] == ' ' || d.file.Text[to] == '\t') {
		to++
	}
	tokens, comments, _ := lexer.Tokens(d.file)
	for _, c := range comments {
		if c.Loc.Start < from && from <= c.Loc.End && strings.HasPrefix(c.Text, "/*") {
			return []protocol.TextEdit{} // in a comment
		}
	}
	depth := 0
	for _, t := range tokens {
		before := int(t.End) <= from
		if t.Kind != lexer.Op || !before && int(t.Start) != to {
			continue
		}
		switch text := t.Text(d.file); {
		case before && strings.Contains("([{", text):
			depth++
		case strings.Contains(")]}", text): // also the one that the line begins with
			depth--
		}
	}
	want := strings.Repeat(indentation, max(depth, 0))
	if d.file.Text[from:to] == want {
		return []protocol.TextEdit{}
	}
	return []protocol.TextEdit{{Range: d.span(diag.Span{File: d.file, Start: from, End: to}), NewText: want}}
}
