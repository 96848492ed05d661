package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"healc/cmd/healc/driver/manual"
	"healc/lang/diag"
	"healc/stdlib"
)

// What is part of healc is in no file: an editor that can gets it by an URI of a scheme of its own.
const (
	libraryPages  = "heal:/stdlib/"
	errorPages    = "heal:/errors/"
	libraryFolder = "<stdlib>/" // where messages say that modules of the library are
)

// errorPage is the page of a code.
func errorPage(code diag.Code) uri.URI { return uri.URI(errorPages + string(code) + ".md") }

// TextDocumentContent implements protocol.Server: the source of a module of the library, and the page of an error code.
func (s *server) TextDocumentContent(_ context.Context, p *protocol.TextDocumentContentParams) (
	*protocol.TextDocumentContentResult, error) {
	if name, ok := strings.CutPrefix(string(p.URI), libraryPages); ok {
		if text, ok := stdlib.Source(strings.TrimSuffix(name, ".heal")); ok {
			return &protocol.TextDocumentContentResult{Text: text}, nil
		}
	}
	if name, ok := strings.CutPrefix(string(p.URI), errorPages); ok {
		if e, ok := diag.Lookup(diag.Code(strings.TrimSuffix(name, ".md"))); ok {
			return &protocol.TextDocumentContentResult{Text: manual.ErrorMarkdown(e)}, nil
		}
	}
	return nil, refused("there is no page %s", p.URI)
}
