// Package scan reads the tokens that the text forms of ir and ir/kernel share: marks, words, strings,
// integers, types and extents. Blanks and line ends only separate tokens; // starts a comment that ends
// with its line. The text is not a user's program, so that diagnostics have no code.
package scan

import (
	"fmt"
	"strconv"
	"strings"

	"healc/lang/diag"
	"healc/lang/types"
)

// Scanner is a place in a text. Its methods skip blanks first. Those that require something report a
// diagnostic when it is not there and leave the function given to Run.
type Scanner struct {
	Text string
	Pos  int // in bytes
	List diag.List
	file *diag.File
}

// New returns a scanner at the start of file.
func New(file *diag.File) *Scanner { return &Scanner{Text: file.Text, file: file} }

// bailout leaves Run.
type bailout struct{}

// Run calls f, which may be left early by Fail.
func (s *Scanner) Run(f func()) {
	defer func() {
		if e := recover(); e != nil {
			if _, ok := e.(bailout); !ok {
				panic(e)
			}
		}
	}()
	f()
}

// ErrorAt reports an error and goes on.
func (s *Scanner) ErrorAt(at diag.Span, format string, args ...any) {
	s.List.Add(&diag.Diagnostic{Message: fmt.Sprintf(format, args...), Primary: diag.Label{Span: at}})
}

// Span is the range of text from start to end, in bytes.
func (s *Scanner) Span(start, end int) diag.Span {
	return diag.Span{File: s.file, Start: start, End: end}
}

// Fail reports an error at the current place and leaves Run.
func (s *Scanner) Fail(format string, args ...any) {
	s.ErrorAt(s.Span(s.Pos, s.Pos+1), format, args...)
	panic(bailout{})
}

// FailAt is Fail at another place.
func (s *Scanner) FailAt(at int, format string, args ...any) {
	s.Pos = at
	s.Fail(format, args...)
}

// Skip passes blanks and comments.
func (s *Scanner) Skip() {
	for s.Pos < len(s.Text) {
		switch c := s.Text[s.Pos]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			s.Pos++
		case strings.HasPrefix(s.Text[s.Pos:], "//"):
			for s.Pos < len(s.Text) && s.Text[s.Pos] != '\n' {
				s.Pos++
			}
		default:
			return
		}
	}
}

// Done reports whether nothing is left.
func (s *Scanner) Done() bool {
	s.Skip()
	return s.Pos == len(s.Text)
}

// Peek reports whether mark is next.
func (s *Scanner) Peek(mark string) bool {
	s.Skip()
	return strings.HasPrefix(s.Text[s.Pos:], mark)
}

// Accept passes mark if it is next.
func (s *Scanner) Accept(mark string) bool {
	if !s.Peek(mark) {
		return false
	}
	s.Pos += len(mark)
	return true
}

// Expect requires mark.
func (s *Scanner) Expect(mark string) {
	if !s.Accept(mark) {
		s.Fail("expected %q", mark)
	}
}

// IsWordByte reports whether c can stand in a word: letters, digits, "_", ".", "$".
func IsWordByte(c byte) bool {
	return c == '_' || c == '.' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// IsWord reports whether text is one word.
func IsWord(text string) bool {
	for i := 0; i < len(text); i++ {
		if !IsWordByte(text[i]) {
			return false
		}
	}
	return text != ""
}

// PeekWord returns the word that is next, or "".
func (s *Scanner) PeekWord() string {
	s.Skip()
	end := s.Pos
	for end < len(s.Text) && IsWordByte(s.Text[end]) {
		end++
	}
	return s.Text[s.Pos:end]
}

// Word requires a word; what names it in the error.
func (s *Scanner) Word(what string) string {
	w := s.PeekWord()
	if w == "" {
		s.Fail("expected %s", what)
	}
	s.Pos += len(w)
	return w
}

// AcceptWord passes the word w if it is next.
func (s *Scanner) AcceptWord(w string) bool {
	if s.PeekWord() != w {
		return false
	}
	s.Pos += len(w)
	return true
}

// Str requires a string in double quotes, with Go's escapes.
func (s *Scanner) Str() string {
	s.Skip()
	q, err := strconv.QuotedPrefix(s.Text[s.Pos:])
	if err != nil || q[0] != '"' {
		s.Fail("expected a string in double quotes")
	}
	text, err := strconv.Unquote(q)
	if err != nil {
		s.Fail("malformed string")
	}
	s.Pos += len(q)
	return text
}

// Until requires text that ends before one of the bytes of ends and on the same line.
func (s *Scanner) Until(ends, what string) string {
	s.Skip()
	n := strings.IndexAny(s.Text[s.Pos:], ends+"\n")
	if n < 0 {
		n = len(s.Text) - s.Pos
	}
	if n == 0 {
		s.Fail("expected %s", what)
	}
	s.Pos += n
	return strings.TrimSpace(s.Text[s.Pos-n : s.Pos])
}

// Items requires the mark open, then items with commas between them, then the mark end.
func (s *Scanner) Items(open, end string, item func()) {
	s.Expect(open)
	if s.Accept(end) {
		return
	}
	for {
		item()
		if s.Accept(end) {
			return
		}
		s.Expect(",")
	}
}

// Sym requires the name of a function: "@" and a word or a string.
func (s *Scanner) Sym() string {
	s.Expect("@")
	if strings.HasPrefix(s.Text[s.Pos:], `"`) {
		return s.Str()
	}
	return s.Word("the name of a function")
}

// Value requires the name of a value, "%" and a word, and returns the word and its place.
func (s *Scanner) Value() (string, diag.Span) {
	s.Skip()
	start := s.Pos
	s.Expect("%")
	if s.Pos >= len(s.Text) || !IsWordByte(s.Text[s.Pos]) {
		s.Fail("expected the name of a value")
	}
	name := s.Word("the name of a value")
	return name, s.Span(start, s.Pos)
}

// Integer requires a decimal integer of 64 bits.
func (s *Scanner) Integer() int64 {
	s.Skip()
	end := s.Pos
	if end < len(s.Text) && s.Text[end] == '-' {
		end++
	}
	for end < len(s.Text) && '0' <= s.Text[end] && s.Text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s.Text[s.Pos:end], 10, 64)
	if err != nil {
		s.Fail("expected an integer")
	}
	s.Pos = end
	return n
}

// DType requires the name of an element type.
func (s *Scanner) DType() types.DType {
	s.Skip()
	at := s.Pos
	name := s.Word("a type")
	d, ok := types.ParseDType(name)
	if !ok {
		s.FailAt(at, "there is no element type %q", name)
	}
	return d
}

// Type requires a tensor type.
func (s *Scanner) Type() types.Tensor {
	t := types.Scalar(s.DType())
	if s.Peek("[") {
		if shape := s.Dims(); len(shape) > 0 {
			t.Shape = shape
		}
	}
	if t.Elem == types.String && len(t.Shape) > 0 {
		s.Fail("a string is a scalar")
	}
	return t
}

// Dims requires extents in brackets.
func (s *Scanner) Dims() types.Shape {
	out := types.Shape{}
	s.Items("[", "]", func() { out = append(out, s.Dim(",]")) })
	return out
}

// Dim requires an extent that ends before one of the bytes of ends or with its line.
func (s *Scanner) Dim(ends string) types.Dim {
	s.Skip()
	at := s.Pos
	d, err := types.ParseDim(s.Until(ends, "an extent"))
	if err != nil {
		s.FailAt(at, "%s", err)
	}
	return d
}
