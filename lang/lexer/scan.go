package lexer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"healc/lang/ast"
	"healc/lang/diag"
)

const (
	maxBytes       = 1 << 30 // offsets fit an int32 with room to spare
	maxNesting     = 1000    // of block comments; the parser has the same limit for brackets
	maxDiagnostics = 100     // of a file that is no source at all a page of errors is shown, not a million
)

type scanner struct {
	file     *diag.File
	text     string
	pos      int
	lineEnd  int // of the line that restOfLine measured last; 0 before the first
	tokens   []Token
	comments []*ast.Comment
	diags    diag.List
}

// Tokens cuts f into tokens and comments, both in order. Malformed input is reported and skipped, or
// stands as a token of the kind it was meant to be; input that fits no kind gives a Bad token. The list is never nil.
func Tokens(f *diag.File) ([]Token, []*ast.Comment, *diag.List) {
	s := &scanner{file: f, text: f.Text}
	if len(s.text) > maxBytes {
		s.errorf(diag.CodeTooLarge, 0, 0, "the file has %d bytes, the limit is %d", len(s.text), maxBytes)
		return nil, nil, &s.diags
	}
	s.checkUTF8()
	s.tokens = make([]Token, 0, len(s.text)/4) // sources have three to five bytes a token
	s.pos = len(s.text) - len(strings.TrimPrefix(s.text, "\uFEFF"))
	for s.skipBlanks(); s.pos < len(s.text); s.skipBlanks() {
		s.next()
	}
	s.markAttributes()
	return s.tokens, s.comments, &s.diags
}

// errorf reports an error over bytes start to end and returns it for a help line.
func (s *scanner) errorf(code diag.Code, start, end int, format string, args ...any) *diag.Diagnostic {
	d := &diag.Diagnostic{
		Code:    code,
		Message: fmt.Sprintf(format, args...),
		Primary: diag.Label{Span: diag.Span{File: s.file, Start: start, End: end}},
	}
	s.diags.AddUpTo(maxDiagnostics, d)
	return d
}

// checkUTF8 reports each run of bytes that are not UTF-8.
func (s *scanner) checkUTF8() {
	if utf8.ValidString(s.text) {
		return
	}
	for i := 0; i < len(s.text); {
		if r, n := utf8.DecodeRuneInString(s.text[i:]); r != utf8.RuneError || n > 1 {
			i += n
			continue
		}
		start := i
		for i < len(s.text) {
			if r, n := utf8.DecodeRuneInString(s.text[i:]); r != utf8.RuneError || n > 1 {
				break
			}
			i++
		}
		s.errorf(diag.CodeBadUTF8, start, i, "the bytes % x are not UTF-8", s.text[start:min(i, start+8)])
	}
}

func (s *scanner) skipBlanks() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) emit(k Kind, start int) {
	s.tokens = append(s.tokens, Token{k, int32(start), int32(s.pos)})
}

// next reads one token or comment. The position is at a byte that is no blank.
func (s *scanner) next() {
	start, c := s.pos, s.text[s.pos]
	switch {
	case c == '#':
		s.pos += lineLength(s.text[s.pos:])
		s.comment(start)
	case strings.HasPrefix(s.text[s.pos:], "/*"):
		s.blockComment()
	case isLetter(c):
		s.pos += tailLength(s.text[s.pos:])
		if isKeyword[s.text[start:s.pos]] {
			s.emit(Keyword, start)
		} else {
			s.emit(Ident, start)
		}
	case isDigit(c), c == '.' && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]):
		s.number()
	case c == '"':
		s.quoted()
	case c == '\'':
		s.char()
	default:
		if op := operatorAt(s.text[s.pos:]); op != "" {
			s.pos += len(op)
			s.emit(Op, start)
		} else {
			s.stray()
		}
	}
}

// lineLength returns the number of bytes before the end of the line.
func lineLength(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// restOfLine returns the text from the current position to the end of its line. The end is searched for once a
// line: a file of one long line with many strings would else take quadratic time.
func (s *scanner) restOfLine() string {
	if s.lineEnd == 0 || s.lineEnd < s.pos {
		s.lineEnd = s.pos + lineLength(s.text[s.pos:])
	}
	return s.text[s.pos:s.lineEnd]
}

func (s *scanner) comment(start int) {
	text := strings.TrimRight(s.text[start:s.pos], "\r")
	at := ast.At{Loc: diag.Span{File: s.file, Start: start, End: start + len(text)}}
	s.comments = append(s.comments, &ast.Comment{At: at, Text: text})
}

// blockComment reads a comment that nests. One that is not closed is reported where it starts and
// ends with the file.
func (s *scanner) blockComment() {
	start, depth, deep := s.pos, 0, false
	for {
		i := strings.IndexAny(s.text[s.pos:], "/*")
		if i < 0 {
			s.pos = len(s.text)
			break
		}
		s.pos += i
		switch rest := s.text[s.pos:]; {
		case strings.HasPrefix(rest, "/*"):
			s.pos += 2
			if depth++; depth == maxNesting+1 && !deep {
				deep = true
				s.errorf(diag.CodeTooDeep, s.pos-2, s.pos, "comments are nested too deeply: the limit is %d levels",
					maxNesting)
			}
		case strings.HasPrefix(rest, "*/"):
			s.pos += 2
			depth--
		default:
			s.pos++
		}
		if depth == 0 {
			s.comment(start)
			return
		}
	}
	d := s.errorf(diag.CodeOpenComment, start, start+2, "block comment is never closed")
	if depth > 1 {
		d.Help = fmt.Sprintf("block comments nest: %d more `*/` are missing", depth)
	}
}

// looksLike has what a stray character was probably meant to be.
var looksLike = map[rune]string{
	'^': "the power operator is `.^`", '~': "the bits of an integer are inverted by `bnot(x)`",
	'?': "a choice is written `if c { a } else { b }`", '\\': "a lambda is written `|x| e`",
	'`': "text stands between double quotes", '“': "text stands between plain double quotes",
	'”': "text stands between plain double quotes", '‘': "a char stands between plain single quotes",
	'’': "a char stands between plain single quotes", '−': "the minus sign is `-`", '–': "the minus sign is `-`",
	'×': "multiplication is `*`", '·': "multiplication is `*`", '÷': "division is `/`",
	'≤': "write `<=`", '≥': "write `>=`", '≠': "write `!=`", '→': "write `->`",
	'\u00a0': "this is a no-break space; use a plain one",
}

// lookalike is what a stray character was probably meant to be, or "".
func (s *scanner) lookalike(at int, r rune) string {
	switch before := strings.TrimRight(s.text[:at], " \t"); {
	case r == '?' && strings.HasSuffix(before, "["):
		return "an extent of any size has a name: `fn f[N](x: f32[N])`"
	case r == '\\' && before != "" && (isLetter(before[len(before)-1]) || isDigit(before[len(before)-1]) ||
		strings.HasSuffix(before, ")") || strings.HasSuffix(before, "]")):
		return "linear equations are solved by `linalg.solve_vector(a, b)`; a lambda is written `|x| e`"
	}
	return looksLike[r]
}

// stray reports a run of characters that start no token.
func (s *scanner) stray() {
	start := s.pos
	first, n := utf8.DecodeRuneInString(s.text[s.pos:])
	s.pos += n
	if first >= utf8.RuneSelf && looksLike[first] == "" {
		// One report for a word in another script, not one for each letter.
		for s.pos < len(s.text) {
			r, n := utf8.DecodeRuneInString(s.text[s.pos:])
			if r < utf8.RuneSelf && !isLetter(byte(r)) && !isDigit(byte(r)) || looksLike[r] != "" {
				break
			}
			s.pos += n
		}
	}
	s.emit(Bad, start)
	if word := s.text[start:s.pos]; utf8.ValidString(word) { // else it is reported as such already
		d := s.errorf(diag.CodeStrayChar, start, s.pos, "the character %q is not part of the language", first)
		if d.Help = s.lookalike(start, first); d.Help == "" && first >= utf8.RuneSelf {
			d.Help = "names are made of a to z, A to Z, 0 to 9 and _; other characters belong in strings and comments"
		}
	}
}

// markAttributes gives the `@` of attributes their kind: directly before a name, perhaps with arguments, then more
// attributes or the function, `pub` before or among them. A run of them starts a line, or stands after a blank on the
// line of its function; so the product in
//
//	fn f(a: f32[2, 2], b: f32[2, 2]) -> f32[2, 2] = a@b
//	fn g() = 1
//
// is no attribute of g.
func (s *scanner) markAttributes() {
	function := map[int]int{} // an `@` that may be an attribute to the `fn` after its run
	closer := s.argumentEnds()
	for i := len(s.tokens) - 2; i >= 0; i-- { // backwards, so that each is decided once
		if !s.attributeName(i) {
			continue
		}
		next := i + 2
		if end, ok := closer[next]; ok {
			next = end + 1
		}
		if s.is(next, "pub") {
			next++
		}
		if s.is(next, "fn") {
			function[i] = next
		} else if f, ok := function[next]; ok {
			function[i] = f
		}
	}
	for i := 0; i+1 < len(s.tokens) && len(function) > 0; i++ {
		end, ok := function[i]
		if !ok || !s.mayStartAttributes(i, end) {
			continue
		}
		for ; i < end; i++ {
			if function[i] == end { // zero, never the end, for the rest
				s.tokens[i].Kind = Attr
			}
		}
	}
}

// mayStartAttributes reports whether a run of attributes may start at token i, given its function.
func (s *scanner) mayStartAttributes(i, function int) bool {
	if i == 0 {
		return true
	}
	before, at := s.tokens[i-1].End, s.tokens[i].Start
	if strings.Contains(s.text[before:at], "\n") {
		return true
	}
	return before < at && !strings.Contains(s.text[at:s.tokens[function].Start], "\n")
}

// argumentEnds maps the `(` directly after an `@name` to its `)`.
func (s *scanner) argumentEnds() map[int]int {
	closer := map[int]int{}
	var open []int
	for i := range s.tokens {
		switch {
		case s.is(i, "("):
			open = append(open, i)
		case s.is(i, ")") && len(open) > 0:
			at := open[len(open)-1]
			open = open[:len(open)-1]
			if at >= 2 && s.attributeName(at-2) {
				closer[at] = i
			}
		}
	}
	return closer
}

// is reports whether there is a token i, and it is written text.
func (s *scanner) is(i int, text string) bool {
	return i < len(s.tokens) && s.tokens[i].Text(s.file) == text
}

// attributeName reports whether token i is an `@` with a name directly after it.
func (s *scanner) attributeName(i int) bool {
	at := s.tokens[i]
	return s.text[at.Start] == '@' && s.tokens[i+1].Kind == Ident && s.tokens[i+1].Start == at.End
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// tailLength returns how many letters, digits and underscores s starts with.
func tailLength(s string) int {
	i := 0
	for i < len(s) && (isLetter(s[i]) || isDigit(s[i])) {
		i++
	}
	return i
}
