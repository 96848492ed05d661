package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"healc/lang/ast"
	"healc/lang/lexer"
	"healc/lang/names"
)

// InlayHint implements protocol.Server: the type, with its shapes, of each variable and parameter of a lambda that is
// written without one, and of the steps of a pipeline.
func (s *server) InlayHint(ctx context.Context, p *protocol.InlayHintParams) ([]protocol.InlayHint, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	f, set := d.facts(), stateOf(ctx).settings
	from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
	out := []protocol.InlayHint{}
	add := func(at int, t string) {
		if from <= at && at <= to {
			out = append(out, protocol.InlayHint{Position: d.position(at), Label: protocol.String(": " + t),
				Kind: protocol.InlayHintKindType})
		}
	}
	for _, x := range f.names.Symbols {
		if set.hints(x) {
			if t := f.typeOf(x); t != "" {
				add(x.Decl.End, t)
			}
		}
	}
	if set.Hints.Steps {
		d.steps(add)
	}
	return out, nil
}

// hints reports whether the type of a symbol is not written beside it, and wanted.
func (s *settings) hints(x *names.Symbol) bool {
	switch n := x.Node.(type) {
	case *ast.LetStmt:
		return s.Hints.Variables && n.Type == nil
	case *ast.Let:
		return s.Hints.Variables && n.Type == nil
	}
	return s.Hints.Parameters && x.Kind == names.LambdaParameter || s.Hints.Names && x.Kind == names.ArmName
}

// steps adds the type of what goes into each `|>` that a line begins with. An expression that ends before one is part
// of what goes in, so that this is the longest.
func (d *document) steps(add func(at int, t string)) {
	if !strings.Contains(d.file.Text, "|>") {
		return
	}
	f := d.facts()
	longest := map[int]extent{} // by where they end
	for x := range f.types {
		if l, ok := longest[x.end]; !ok || x.start < l.start {
			longest[x.end] = x
		}
	}
	tokens, _, _ := lexer.Tokens(d.file)
	for i, t := range tokens {
		if i == 0 || t.Kind != lexer.Op || t.Text(d.file) != "|>" {
			continue
		}
		end := int(tokens[i-1].End)
		if x, ok := longest[end]; ok && strings.Contains(d.file.Text[end:t.Start], "\n") {
			add(end, f.types[x].String())
		}
	}
}
