package lsp

import (
	"context"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/names"
)

// PrepareCallHierarchy implements protocol.Server: the function that is named at a place.
func (s *server) PrepareCallHierarchy(ctx context.Context, p *protocol.CallHierarchyPrepareParams) (
	[]protocol.CallHierarchyItem, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	u, ok := d.facts().names.At(d.offset(p.Position))
	if !ok {
		return nil, nil
	}
	if decl, home := s.callee(ctx, d, u); decl != nil {
		return []protocol.CallHierarchyItem{home.item(decl)}, nil
	}
	return nil, nil
}

// callee is the function that is named, and the document that it stands in; nil where the editor cannot open it.
func (s *server) callee(ctx context.Context, d *document, u *names.Use) (*ast.FuncDecl, *document) {
	switch {
	case u.Symbol != nil:
		decl, ok := u.Symbol.Node.(*ast.FuncDecl)
		if ok && u.Symbol.Kind == names.Function {
			return decl, d
		}
	case u.Module != nil:
		im, ok := u.Module.Node.(*ast.ImportDecl)
		if !ok {
			return nil, nil
		}
		decl, _ := declaration(d.facts().module(im), u.Name).(*ast.FuncDecl)
		if decl == nil || !im.Quoted && !d.editor.pages {
			return nil, nil
		}
		if home, ok := s.read(ctx, decl.Loc.File.Name, d.editor); ok {
			return decl, home
		}
	}
	return nil, nil
}

// item is a declaration of a document in a hierarchy of calls.
func (d *document) item(decl ast.Decl) protocol.CallHierarchyItem {
	name, kind, at := symbolOf(decl)
	return protocol.CallHierarchyItem{Name: name, Kind: kind, URI: d.uri, Range: d.span(decl.Span()),
		SelectionRange: d.span(at)}
}

// named is the use of a name that an item is about: the name's declaration.
func (s *server) named(ctx context.Context, item *protocol.CallHierarchyItem) (*document, *names.Use, error) {
	d, ok := s.read(ctx, pathOf(item.URI), s.editor)
	if !ok {
		return nil, nil, notOpen(item.URI)
	}
	u, ok := d.facts().names.At(d.offset(item.SelectionRange.Start))
	if !ok { // a test has no name that others use
		return d, &names.Use{}, nil
	}
	return d, u, nil
}

// IncomingCalls implements protocol.Server: what names a function, in all files.
func (s *server) IncomingCalls(ctx context.Context, p *protocol.CallHierarchyIncomingCallsParams) (
	[]protocol.CallHierarchyIncomingCall, error) {
	d, u, err := s.named(ctx, &p.Item)
	if err != nil {
		return nil, err
	}
	out := []protocol.CallHierarchyIncomingCall{}
	at := map[ast.Decl]int{}
	for _, place := range s.places(ctx, d, u) {
		use, ok := place.doc.facts().names.At(place.at.Start)
		if !ok || place.declares || use.In == nil {
			continue
		}
		i, ok := at[use.In]
		if !ok {
			i = len(out)
			at[use.In] = i
			out = append(out, protocol.CallHierarchyIncomingCall{From: place.doc.item(use.In)})
		}
		out[i].FromRanges = append(out[i].FromRanges, place.doc.span(place.at))
	}
	return out, nil
}

// OutgoingCalls implements protocol.Server: the functions that a declaration names.
func (s *server) OutgoingCalls(ctx context.Context, p *protocol.CallHierarchyOutgoingCallsParams) (
	[]protocol.CallHierarchyOutgoingCall, error) {
	d, _, err := s.named(ctx, &p.Item)
	if err != nil {
		return nil, err
	}
	from := d.offset(p.Item.Range.Start)
	out := []protocol.CallHierarchyOutgoingCall{}
	type target struct {
		home uri.URI
		at   diag.Span
	}
	at := map[target]int{}
	for _, u := range d.facts().names.Uses {
		if u.In == nil || u.In.Span().Start != from {
			continue
		}
		decl, home := s.callee(ctx, d, u)
		if decl == nil {
			continue
		}
		key := target{home.uri, diag.Span{Start: decl.Loc.Start, End: decl.Loc.End}}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, protocol.CallHierarchyOutgoingCall{To: home.item(decl)})
		}
		out[i].FromRanges = append(out[i].FromRanges, d.span(u.Span))
	}
	return out, nil
}
