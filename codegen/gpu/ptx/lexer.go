package ptx

import (
	"fmt"
	"strings"
)

// token is a word, a number, a string or one character of punctuation.
type token struct {
	kind tokenKind
	text string
	line int
}

type tokenKind uint8

const (
	tokEnd    tokenKind = iota
	tokWord             // an identifier, directive or instruction with its modifiers: letters, digits, _ $ % .
	tokNumber           // starts with a digit
	tokString
	tokPunct
)

// lexer cuts PTX text into tokens.
type lexer struct {
	name string
	src  string
	pos  int
	line int
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '%' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' &&
		c <= 'Z'
}

// next is the next token; at the end of the text it is tokEnd, again and again.
func (l *lexer) next() token {
	l.space()
	if l.pos >= len(l.src) {
		return token{kind: tokEnd, line: l.line}
	}
	start, c := l.pos, l.src[l.pos]
	t := token{line: l.line}
	switch {
	case c == '"':
		end := strings.IndexByte(l.src[l.pos+1:], '"')
		if end < 0 {
			l.fail(l.line, "a string does not end")
		}
		l.pos += end + 2
		l.line += strings.Count(l.src[start:l.pos], "\n")
		t.kind, t.text = tokString, l.src[start+1:l.pos-1]
	case isWord(c):
		for l.pos < len(l.src) && isWord(l.src[l.pos]) {
			l.pos++
			// L1::no_allocate is one modifier
			if strings.HasPrefix(l.src[l.pos:], "::") {
				l.pos += 2
			}
		}
		t.kind, t.text = tokWord, l.src[start:l.pos]
		if c >= '0' && c <= '9' {
			t.kind = tokNumber
		}
	default:
		l.pos++
		t.kind, t.text = tokPunct, l.src[start:l.pos]
	}
	return t
}

// space skips white space and comments.
func (l *lexer) space() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == '\n':
			l.line++
			l.pos++
		case c == ' ' || c == '\t' || c == '\r' || c == 0:
			l.pos++
		case strings.HasPrefix(l.src[l.pos:], "//"):
			end := strings.IndexByte(l.src[l.pos:], '\n')
			if end < 0 {
				end = len(l.src) - l.pos
			}
			l.pos += end
		case strings.HasPrefix(l.src[l.pos:], "/*"):
			end := strings.Index(l.src[l.pos+2:], "*/")
			if end < 0 {
				l.fail(l.line, "a comment does not end")
			}
			l.line += strings.Count(l.src[l.pos:l.pos+2+end], "\n")
			l.pos += end + 4
		default:
			return
		}
	}
}

// fail stops parsing with an error at a line; Parse recovers it.
func (l *lexer) fail(line int, format string, args ...any) {
	panic(errorAt(l.name, l.src, line, fmt.Sprintf(format, args...)))
}
