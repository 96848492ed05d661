package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"healc/internal/regular"
	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/lang/names"
	"healc/stdlib"
)

// Definition implements protocol.Server.
func (s *server) Definition(ctx context.Context, p *protocol.DefinitionParams) (protocol.DefinitionResult, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	f := d.facts()
	u, ok := f.names.At(d.offset(p.Position))
	if !ok {
		return nil, nil
	}
	at := diag.Span{}
	switch {
	case u.Module != nil:
		if im, ok := u.Module.Node.(*ast.ImportDecl); ok {
			if decl := declaration(f.module(im), u.Name); decl != nil {
				at = nameOf(decl)
			}
		}
	case u.Symbol == nil:
	case u.Symbol.Kind == names.Module && u.Span.Start != u.Symbol.Decl.Start:
		at = u.Symbol.Decl
	case u.Symbol.Kind == names.Module:
		if im, ok := u.Symbol.Node.(*ast.ImportDecl); ok {
			if file := f.module(im); file != nil {
				at = diag.Span{File: file.Source}
			}
		}
	default:
		at = u.Symbol.Decl
	}
	if l, ok := d.location(at); ok {
		return &l, nil
	}
	return nil, nil // a builtin, or a module that is part of healc: there is no file of it
}

// References implements protocol.Server.
func (s *server) References(ctx context.Context, p *protocol.ReferenceParams) ([]protocol.Location, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out := []protocol.Location{}
	u, ok := d.facts().names.At(d.offset(p.Position))
	if !ok {
		return out, nil
	}
	for _, place := range s.places(ctx, d, u) {
		if p.Context.IncludeDeclaration || !place.declares {
			out = append(out, protocol.Location{URI: place.doc.uri, Range: place.doc.span(place.at)})
		}
	}
	return out, nil
}

// DocumentHighlight implements protocol.Server.
func (s *server) DocumentHighlight(ctx context.Context, p *protocol.DocumentHighlightParams) (
	[]protocol.DocumentHighlight, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out := []protocol.DocumentHighlight{}
	u, ok := d.facts().names.At(d.offset(p.Position))
	if !ok {
		return out, nil
	}
	for _, place := range d.places(u) {
		kind := protocol.DocumentHighlightKindRead
		if place.writes || place.declares {
			kind = protocol.DocumentHighlightKindWrite
		}
		out = append(out, protocol.DocumentHighlight{Range: d.span(place.at), Kind: kind})
	}
	return out, nil
}

// place is where a name stands.
type place struct {
	doc              *document
	at               diag.Span
	declares, writes bool
}

// places are where what u names is named in its document: for what no file declares, all that is called so.
func (d *document) places(u *names.Use) (out []place) {
	if s := u.Symbol; s != nil {
		if s.Kind != names.Module || s.Node.(*ast.ImportDecl).Alias != nil {
			out = append(out, place{d, s.Decl, true, false})
		}
		for _, o := range s.Uses {
			out = append(out, place{d, o.Span, false, o.Assigned})
		}
		return out
	}
	for _, o := range d.facts().names.Uses {
		if o.Symbol == nil && o.Name == u.Name && o.Module == u.Module {
			out = append(out, place{d, o.Span, false, false})
		}
	}
	return out
}

// places are where what u, of d, names is named in all files: for what other files can name, those that import it.
func (s *server) places(ctx context.Context, d *document, u *names.Use) []place {
	home, name := d.file.Name, u.Name
	out := d.places(u)
	switch {
	case u.Module != nil:
		im, ok := u.Module.Node.(*ast.ImportDecl)
		if !ok {
			return out
		}
		home, out = pathOfImport(d.file.Name, im), nil
		owner, ok := s.read(ctx, home, d.editor)
		if !ok {
			return d.places(u)
		}
		if symbol := owner.facts().names.Declared(name); symbol != nil {
			out = owner.places(&names.Use{Symbol: symbol, Name: name})
		}
		if !im.Quoted && !d.editor.pages {
			out = nil // nobody can go there
		}
	case u.Symbol == nil || !public(u.Symbol):
		return out
	}
	for _, other := range s.others(ctx, d) {
		if other.file.Name == home {
			continue
		}
		for _, o := range other.facts().names.Uses {
			if o.Module == nil || o.Name != name {
				continue
			}
			if im, ok := o.Module.Node.(*ast.ImportDecl); ok && pathOfImport(other.file.Name, im) == home {
				out = append(out, place{other, o.Span, false, false})
			}
		}
	}
	return out
}

func public(s *names.Symbol) bool {
	switch d := s.Node.(type) {
	case *ast.FuncDecl:
		return d.Pub && s.Kind == names.Function
	case *ast.ConstDecl:
		return d.Pub
	}
	return false
}

// pathOfImport is the path of the file that a declaration of a file imports, or the name of the library's module.
func pathOfImport(from string, d *ast.ImportDecl) string {
	if !d.Quoted {
		return libraryFolder + d.Path + ".heal"
	}
	name := filepath.Join(filepath.Dir(from), filepath.FromSlash(d.Path))
	if filepath.Ext(name) != ".heal" {
		name += ".heal"
	}
	return name
}

// read is a file as it is in the editor, or on disk.
func (s *server) read(ctx context.Context, path string, e editor) (*document, bool) {
	docs := stateOf(ctx).docs
	if d := docs[path]; d != nil {
		return d, true
	}
	if name, ok := strings.CutPrefix(path, libraryFolder); ok {
		text, ok := stdlib.Source(strings.TrimSuffix(name, ".heal"))
		return newDocument(uri.URI(libraryPages+name), 0, text, e), ok
	}
	text, err := regular.Read(path, regular.MaxSource)
	if err != nil {
		return nil, false
	}
	d := newDocument(uri.File(path), 0, string(text), e)
	d.docs = docs
	return d, true
}

// PrepareRename implements protocol.Server.
func (s *server) PrepareRename(ctx context.Context, p *protocol.PrepareRenameParams) (protocol.PrepareRenameResult,
	error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	u, ok := d.facts().names.At(d.offset(p.Position))
	if !ok {
		return nil, nil
	}
	if err := renames(u); err != nil {
		return nil, err
	}
	r := d.span(u.Span)
	return &r, nil
}

// renames is why a name cannot get another, or nil.
func renames(u *names.Use) error {
	switch {
	case u.Module != nil:
		if im, ok := u.Module.Node.(*ast.ImportDecl); ok && !im.Quoted {
			return refused("`%s.%s` is part of the standard library", u.Module.Name, u.Name)
		}
	case u.Symbol == nil:
		return refused("`%s` is not declared in this file", u.Name)
	case u.Symbol.Kind == names.Module && u.Symbol.Node.(*ast.ImportDecl).Alias == nil:
		return refused("the module is called as its file: write `%s as ...` to call it otherwise", u.Symbol.Decl.Text())
	}
	return nil
}

// Rename implements protocol.Server. A name that would be taken for another, or take one's place, is refused.
func (s *server) Rename(ctx context.Context, p *protocol.RenameParams) (*protocol.WorkspaceEdit, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	u, ok := d.facts().names.At(d.offset(p.Position))
	if !ok {
		return nil, refused("there is no name here")
	}
	if err := renames(u); err != nil {
		return nil, err
	}
	if !isName(p.NewName) {
		return nil, refused("`%s` is no name: a letter or `_`, then letters, digits and `_`, and no keyword", p.NewName)
	}
	edits := map[uri.URI][]protocol.TextEdit{}
	for _, place := range s.places(ctx, d, u) {
		if err := captured(place, p.NewName); err != nil {
			return nil, err
		}
		edits[place.doc.uri] = append(edits[place.doc.uri], protocol.TextEdit{Range: place.doc.span(place.at),
			NewText: p.NewName})
	}
	return &protocol.WorkspaceEdit{Changes: edits}, nil
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != "" && s != "_" && !slices.Contains(lexer.Keywords, s)
}

// captured is why the name at a place cannot be called name: something that is called so can be named there, or the new
// one would be meant where that is.
func captured(p place, name string) error {
	table := p.doc.facts().names
	u, ok := table.At(p.at.Start)
	if !ok || u.Module != nil {
		return nil // of a module: nothing else is called `module.name`
	}
	for _, s := range table.Visible(p.at.Start) {
		if s.Name == name && s != u.Symbol {
			return refused("`%s` is a %s already: %s", name, s.Kind, s.Decl.Pos())
		}
	}
	if u.Symbol == nil || !p.declares {
		return nil
	}
	if _, ok := check.LookupFunction(name); ok && u.Symbol.Kind == names.Function {
		return refused("`%s` is a function of the language", name)
	}
	scope := u.Symbol.Scope
	for _, o := range table.Uses {
		if o.Module == nil && o.Name == name && scope.Start <= o.Span.Start && o.Span.End <= scope.End {
			return refused("`%s` would mean the %s: %s", name, u.Symbol.Kind, o.Span.Pos())
		}
	}
	return nil
}
