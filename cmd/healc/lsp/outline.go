package lsp

import (
	"context"

	"go.lsp.dev/protocol"

	"healc/lang/diag"
)

// DocumentSymbol implements protocol.Server.
func (s *server) DocumentSymbol(ctx context.Context, p *protocol.DocumentSymbolParams) (protocol.DocumentSymbolResult,
	error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out := protocol.DocumentSymbolSlice{}
	for _, decl := range d.facts().syntax.Decls {
		if name, kind, at := symbolOf(decl); name != "" {
			out = append(out, protocol.DocumentSymbol{Name: name, Kind: kind, Range: d.span(decl.Span()),
				SelectionRange: d.span(at)})
		}
	}
	return out, nil
}

// FoldingRanges implements protocol.Server: declarations, and comments of several lines.
func (s *server) FoldingRanges(ctx context.Context, p *protocol.FoldingRangeParams) ([]protocol.FoldingRange, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out := []protocol.FoldingRange{}
	add := func(from, to uint32, kind protocol.FoldingRangeKind) {
		if to > from {
			out = append(out, protocol.FoldingRange{StartLine: from, EndLine: to, Kind: kind})
		}
	}
	syntax := d.facts().syntax
	for _, decl := range syntax.Decls {
		r := d.span(decl.Span())
		add(r.Start.Line, r.End.Line, "")
	}
	begin, end := uint32(0), uint32(0)
	for i, c := range syntax.Comments {
		r := d.span(c.Loc)
		if i > 0 && r.Start.Line == end+1 {
			end = r.End.Line
			continue
		}
		add(begin, end, protocol.FoldingRangeKindComment)
		begin, end = r.Start.Line, r.End.Line
	}
	add(begin, end, protocol.FoldingRangeKindComment)
	return out, nil
}

// SelectionRange implements protocol.Server: what is around a place, by what has a type, then its declaration.
func (s *server) SelectionRange(ctx context.Context, p *protocol.SelectionRangeParams) ([]protocol.SelectionRange,
	error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	f := d.facts()
	out := []protocol.SelectionRange{}
	for _, pos := range p.Positions {
		at := d.offset(pos)
		around := []diag.Span{{File: d.file, Start: at, End: at}}
		if u, ok := f.names.At(at); ok {
			around = append(around, u.Span)
		}
		for s := range f.types {
			around = append(around, diag.Span{File: d.file, Start: s.start, End: s.end})
		}
		for _, decl := range f.syntax.Decls {
			around = append(around, decl.Span())
		}
		out = append(out, d.nested(at, append(around, diag.Span{File: d.file, End: len(d.file.Text)})))
	}
	return out, nil
}

// nested are the spans that hold an offset, each in the next larger one that holds it.
func (d *document) nested(offset int, spans []diag.Span) protocol.SelectionRange {
	var chain []diag.Span
	inner := diag.Span{Start: offset, End: offset}
	for {
		best := diag.Span{Start: 0, End: -1}
		for _, s := range spans {
			if s.Start <= inner.Start && inner.End <= s.End && s.End-s.Start > inner.End-inner.Start &&
				(best.End < 0 || s.End-s.Start < best.End-best.Start) {
				best = s
			}
		}
		if best.End < 0 {
			break
		}
		chain = append(chain, best)
		inner = best
	}
	var out *protocol.SelectionRange
	for i := len(chain) - 1; i >= 0; i-- {
		out = &protocol.SelectionRange{Range: d.span(chain[i]), Parent: out}
	}
	if out == nil {
		return protocol.SelectionRange{Range: d.span(inner)}
	}
	return *out
}
