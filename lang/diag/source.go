package diag

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// File is one source text. It is immutable.
type File struct {
	Name  string // as the user wrote it
	Text  string
	lines []int // byte offset of each line's start
}

// NewFile returns the file called name with the given text.
func NewFile(name, text string) *File {
	f := &File{Name: name, Text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// Pos is a place for people: line and column from 1, columns in code points.
type Pos struct {
	File      string
	Line, Col int
}

// String prints file:line:col, and "-" for no position.
func (p Pos) String() string {
	if p.Line == 0 {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Pos returns the place of the byte at offset.
func (f *File) Pos(offset int) Pos {
	if f == nil {
		return Pos{}
	}
	offset = min(max(offset, 0), len(f.Text))
	line := sort.SearchInts(f.lines, offset+1) - 1
	return Pos{f.Name, line + 1, utf8.RuneCountInString(f.Text[f.lines[line]:offset]) + 1}
}

// Line returns the text of the given line, counted from 1, without its end.
func (f *File) Line(n int) string {
	if f == nil || n < 1 || n > len(f.lines) {
		return ""
	}
	end := len(f.Text)
	if n < len(f.lines) {
		end = f.lines[n] - 1
	}
	return strings.TrimSuffix(f.Text[f.lines[n-1]:end], "\r")
}

// Span is a range of bytes in a file. The zero value means "no position".
type Span struct {
	File       *File
	Start, End int
	// Caller is the call in another file in whose place this code stands now, nil for none; see CalledAt. A mistake in
	// what a program asks of a library shows in the library, and is to be looked for at the call.
	Caller *Span
	// Call is the call in whose place this code stands now, in any file, nil for none; it has a Call itself where it
	// stood in a function that was put in the place of another call.
	Call *Span
}

// Place is the span without the calls in its own file: two of one place in a file are equal.
func (s Span) Place() Span {
	s.Call = nil
	return s
}

// CalledAt is the span of code that was put in the place of call. A call from the same file is left out, for what
// called that: the chain of Callers has one for each file that the way goes through.
func (s Span) CalledAt(call *Span) Span {
	if s.Caller != nil {
		outer := s.Caller.CalledAt(call)
		s.Caller = &outer
	} else if s.File == call.File {
		s.Caller = call.Caller
	} else {
		s.Caller = call
	}
	return s
}

// Pos returns where the span starts.
func (s Span) Pos() Pos { return s.File.Pos(s.Start) }

// Line is the line that the span starts in, for people who look at the file called home: "line 3", or "FILE:3" in
// another.
func (s Span) Line(home string) string {
	p := s.Pos()
	if home == "" || p.File == home {
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Valid reports whether the span names a place.
func (s Span) Valid() bool { return s.File != nil }

// To returns the span from the start of s to the end of e.
func (s Span) To(e Span) Span {
	if s.File == nil {
		return e
	}
	if e.File != s.File || e.End < s.Start {
		return s
	}
	s.End = max(s.End, e.End)
	return s
}

// Text returns the source the span covers.
func (s Span) Text() string {
	if s.File == nil {
		return ""
	}
	n := len(s.File.Text)
	return s.File.Text[min(max(s.Start, 0), n):min(max(s.End, s.Start, 0), n)]
}
