package lsp

import (
	"context"

	"go.lsp.dev/protocol"

	"healc/lang/ast"
	"healc/lang/names"
)

// InlayHint implements protocol.Server: the type, with its shapes, of each variable and parameter of a lambda that is
// written without one.
func (s *server) InlayHint(ctx context.Context, p *protocol.InlayHintParams) ([]protocol.InlayHint, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	f := d.facts()
	from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
	out := []protocol.InlayHint{}
	for _, x := range f.names.Symbols {
		if x.Decl.End < from || x.Decl.Start > to || !hinted(x) {
			continue
		}
		if t := f.typeOf(x); t != "" {
			out = append(out, protocol.InlayHint{Position: d.position(x.Decl.End), Label: protocol.String(": " + t),
				Kind: protocol.InlayHintKindType})
		}
	}
	return out, nil
}

// hinted reports whether the type of a symbol is not written beside it.
func hinted(s *names.Symbol) bool {
	switch n := s.Node.(type) {
	case *ast.LetStmt:
		return n.Type == nil
	case *ast.Let:
		return n.Type == nil
	}
	return s.Kind == names.LambdaParameter || s.Kind == names.ArmName
}
