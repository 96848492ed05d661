package ptx

import (
	"fmt"
	"strings"
)

// Error says what is wrong with a line of a text.
type Error struct {
	Name string
	Line int
	Text string // the line
	Msg  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d: %s\n  %s", e.Name, e.Line, e.Msg, e.Text)
}

// errorAt is an error at a line of a text.
func errorAt(name, text string, line int, msg string) *Error {
	return &Error{Name: name, Line: line, Text: lineOf(text, line), Msg: msg}
}

// lineOf is line n of a text, counted from 1, without the white space around it.
func lineOf(text string, n int) string {
	for i := 1; i < n; i++ {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			return ""
		}
		text = text[end+1:]
	}
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return strings.Join(strings.Fields(text), " ")
}
