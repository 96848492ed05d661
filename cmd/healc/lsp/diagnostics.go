package lsp

import (
	"context"
	"path/filepath"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"healc/lang/ast"
	"healc/lang/diag"
)

// diagnostics are what is wrong with a document, never nil.
func (d *document) diagnostics() []protocol.Diagnostic {
	out := []protocol.Diagnostic{}
	elsewhere := map[*diag.File]bool{}
	for _, p := range d.facts().problems {
		at := p.Primary.Span
		if at.File == d.file {
			out = append(out, d.diagnostic(p))
		} else if at.Valid() && p.Severity == diag.Error && !elsewhere[at.File] {
			elsewhere[at.File] = true
			out = append(out, d.imported(p))
		}
	}
	return out
}

// diagnostic is a problem as the protocol has it: the notes, which have the shapes one below the other, and the help
// are lines of the message.
func (d *document) diagnostic(p *diag.Diagnostic) protocol.Diagnostic {
	p = p.Brief()
	severity := protocol.DiagnosticSeverityError
	if p.Severity == diag.Warning {
		severity = protocol.DiagnosticSeverityWarning
	}
	text := []string{p.Message}
	if label := p.Primary.Text; label != "" && !strings.Contains(p.Message, label) {
		text[0] += ": " + label
	}
	text = append(text, p.Notes...)
	if p.Help != "" {
		text = append(text, "help: "+p.Help)
	}
	out := protocol.Diagnostic{Range: d.span(p.Primary.Span), Severity: severity, Code: protocol.String(p.Code),
		Source: protocol.NewOptional("heal"), Message: protocol.String(strings.Join(text, "\n"))}
	if d.editor.pages {
		out.CodeDescription = protocol.CodeDescription{Href: errorPage(p.Code)}
	}
	if p.Code == diag.CodeUnused {
		out.Tags = protocol.NewDiagnosticTags(protocol.DiagnosticTagUnnecessary)
	}
	for _, r := range p.Places() {
		if at, ok := d.location(r.Span); ok {
			out.RelatedInformation = append(out.RelatedInformation,
				protocol.DiagnosticRelatedInformation{Location: at, Message: r.Text})
		}
	}
	return out
}

// imported is a mistake in another file, at the import that leads there.
func (d *document) imported(p *diag.Diagnostic) protocol.Diagnostic {
	at := diag.Span{File: d.file}
	for _, decl := range d.facts().syntax.Decls {
		if im, ok := decl.(*ast.ImportDecl); ok && (!at.Valid() || at.End == 0 || strings.TrimSuffix(filepath.Base(
			p.Primary.Span.File.Name), ".heal") == filepath.Base(im.Path)) {
			at = im.Loc
		}
	}
	out := d.diagnostic(&diag.Diagnostic{Code: p.Code, Primary: diag.Label{Span: at},
		Message: p.Primary.Span.Pos().String() + ": " + p.Message})
	if where, ok := d.location(p.Primary.Span); ok {
		out.RelatedInformation = append(out.RelatedInformation,
			protocol.DiagnosticRelatedInformation{Location: where, Message: p.Message})
	}
	return out
}

// location is a span of any file that an editor can open.
func (d *document) location(s diag.Span) (protocol.Location, bool) {
	switch {
	case s.File == d.file:
		return protocol.Location{URI: d.uri, Range: d.span(s)}, true
	case s.File == nil:
		return protocol.Location{}, false
	}
	if other, ok := d.open(s.File.Name); ok {
		return protocol.Location{URI: other.uri, Range: other.span(s)}, true
	}
	if name, ok := strings.CutPrefix(s.File.Name, libraryFolder); ok && d.editor.pages {
		other := newDocument(uri.URI(libraryPages+name), 0, s.File.Text, d.editor)
		return protocol.Location{URI: other.uri, Range: other.span(s)}, true
	}
	if !onDisk(s.File.Name) {
		return protocol.Location{}, false
	}
	name, err := filepath.Abs(s.File.Name)
	if err != nil {
		return protocol.Location{}, false
	}
	other := newDocument(uri.File(name), 0, s.File.Text, d.editor)
	return protocol.Location{URI: other.uri, Range: other.span(s)}, true
}

// CodeAction implements protocol.Server: the one replacement that the help of a problem says.
func (s *server) CodeAction(ctx context.Context, p *protocol.CodeActionParams) ([]protocol.CommandOrCodeAction, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
	out := []protocol.CommandOrCodeAction{}
	kind := protocol.CodeActionKindQuickFix
	yes := true
	for _, problem := range d.facts().problems {
		at, fix := problem.Primary.Span, problem.Fix
		if fix == nil || fix.Span.File != d.file || at.End < from || to < at.Start {
			continue
		}
		out = append(out, &protocol.CodeAction{Title: fix.Title(), Kind: &kind, IsPreferred: &yes,
			Diagnostics: []protocol.Diagnostic{d.diagnostic(problem)},
			Edit: &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{d.uri: {{Range: d.span(fix.Span),
				NewText: fix.Text}}}}})
	}
	return out, nil
}
