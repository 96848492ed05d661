package diag

import "strings"

// Placed is a line of a printed program, and the source that it was printed from.
type Placed struct {
	Text string
	At   []Span
}

// Lines is a writer that keeps what it gets by lines, with their places. A printer that has its own buffer flushes it
// before it says a place.
type Lines struct {
	List []Placed
	rest strings.Builder // of the line that has not ended
	at   []Span
}

// Place says that the line that is being written, or begins now, comes from s. Spans of no place are left out.
func (l *Lines) Place(s Span) {
	if s.Valid() {
		l.at = append(l.at, s)
	}
}

// Write implements io.Writer.
func (l *Lines) Write(b []byte) (int, error) {
	text := string(b)
	for {
		line, rest, ended := strings.Cut(text, "\n")
		l.rest.WriteString(line)
		if !ended {
			return len(b), nil
		}
		l.List = append(l.List, Placed{l.rest.String(), l.at})
		l.rest.Reset()
		l.at, text = nil, rest
	}
}
