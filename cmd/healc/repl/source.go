package repl

import (
	"strings"

	"healc/lang/diag"
)

// source is a program that is put together from what the user wrote and what goes around it. It knows
// where every piece comes from, so that messages show the user's own lines.
type source struct {
	text   strings.Builder
	pieces []piece
}

// piece says that the text from start to end is file's, from offset on.
type piece struct {
	start, end int
	file       *diag.File
	offset     int
}

// add writes text that no user has written.
func (s *source) add(text string) { s.text.WriteString(text) }

// quote writes the part of file from begin to end.
func (s *source) quote(file *diag.File, begin, end int) {
	start := s.text.Len()
	s.text.WriteString(file.Text[begin:end])
	s.pieces = append(s.pieces, piece{start, s.text.Len(), file, begin})
}

// file is the program. Its name is no path, but stands for a file in the working folder: imports are
// relative to that.
func (s *source) file() *diag.File { return diag.NewFile("session.heal", s.text.String()) }

// own turns the places of a message about the program of gen into places of what the user wrote. A place
// in what goes around it is that of the last piece before.
func (s *source) own(gen *diag.File, d *diag.Diagnostic) *diag.Diagnostic {
	out := *d
	out.Primary.Span = s.span(gen, d.Primary.Span)
	out.Related = d.Places()
	for i := range out.Related {
		out.Related[i].Span = s.span(gen, out.Related[i].Span)
	}
	return &out
}

func (s *source) span(gen *diag.File, at diag.Span) diag.Span {
	if at.File == nil || at.File.Name != gen.Name || at.File.Text != gen.Text {
		return at
	}
	var from *piece
	for i := range s.pieces {
		if p := &s.pieces[i]; p.start <= at.Start {
			from = p
		}
	}
	if from == nil {
		return diag.Span{}
	}
	place := func(at int) int { return min(at, from.end) - from.start + from.offset }
	return diag.Span{File: from.file, Start: place(at.Start), End: max(place(at.End), place(at.Start))}
}
