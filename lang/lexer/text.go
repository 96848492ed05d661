package lexer

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"healc/lang/diag"
)

// quoted reads a string. It ends on its own line: a quote that is missing costs one line, not the
// rest of the file.
func (s *scanner) quoted() {
	start := s.pos
	line := s.restOfLine()
	for i := 1; i < len(line); {
		switch line[i] {
		case '"':
			s.pos = start + i + 1
			s.emit(String, start)
			return
		case '\\':
			_, n, problem := escape(line[i:])
			if problem != "" {
				s.errorf(diag.CodeBadEscape, start+i, start+i+n, "%s", problem)
			}
			i += n
		default:
			i++
		}
	}
	s.pos = start + len(strings.TrimRight(line, "\r"))
	s.emit(Bad, start)
	s.errorf(diag.CodeOpenText, start, s.pos, "string is not closed on its line").Help =
		"end it with `\"`; a line break inside is written `\\n`"
}

// char reads a char literal.
func (s *scanner) char() {
	start := s.pos
	line := s.restOfLine()
	count, i, bad := 0, 1, false
	for i < len(line) && line[i] != '\'' {
		if line[i] == '\\' {
			_, n, problem := escape(line[i:])
			if problem != "" {
				bad = true
				s.errorf(diag.CodeBadEscape, start+i, start+i+n, "%s", problem)
			}
			i += n
		} else {
			_, n := utf8.DecodeRuneInString(line[i:])
			i += n
		}
		count++
	}
	if i >= len(line) {
		s.pos = start + len(strings.TrimRight(line, "\r"))
		s.emit(Bad, start)
		s.errorf(diag.CodeOpenText, start, s.pos, "char literal is not closed on its line").Help = s.closing(start)
		return
	}
	s.pos = start + i + 1
	s.emit(Char, start)
	if count != 1 && !bad {
		d := s.errorf(diag.CodeBadChar, start, s.pos, "a char literal holds one character, this one %d", count)
		if count > 1 {
			d.Help = "text stands between double quotes"
		}
	}
}

// escape reads the escape that t starts with: the character, the length, and what is wrong with it,
// or "". The length never passes the end of t.
func escape(t string) (r rune, n int, problem string) {
	if len(t) < 2 {
		return utf8.RuneError, len(t), "`\\` at the end of the line"
	}
	switch t[1] {
	case 'n':
		return '\n', 2, ""
	case 't':
		return '\t', 2, ""
	case 'r':
		return '\r', 2, ""
	case '0':
		return 0, 2, ""
	case '\\', '\'', '"':
		return rune(t[1]), 2, ""
	case 'x':
		if len(t) >= 4 && isHex(t[2]) && isHex(t[3]) {
			v, _ := strconv.ParseUint(t[2:4], 16, 8) // two hexadecimal digits always parse
			return rune(v), 4, ""
		}
		return utf8.RuneError, 2, "`\\x` needs two hexadecimal digits"
	case 'u':
		end := strings.IndexByte(t, '}')
		if len(t) < 3 || t[2] != '{' || end < 4 || end > 9 {
			return utf8.RuneError, 2, "`\\u` needs one to six hexadecimal digits in braces, as in `\\u{1F600}`"
		}
		v, err := strconv.ParseUint(t[3:end], 16, 32)
		if err != nil {
			return utf8.RuneError, 2, "`\\u` needs one to six hexadecimal digits in braces, as in `\\u{1F600}`"
		}
		if !utf8.ValidRune(rune(v)) {
			return utf8.RuneError, end + 1, "`" + t[:end+1] + "` is no Unicode code point"
		}
		return rune(v), end + 1, ""
	}
	_, n = utf8.DecodeRuneInString(t[1:])
	return utf8.RuneError, n + 1, "unknown escape `" + t[:n+1] + "`"
}

// Unquote returns the text of a string literal as written, its escapes resolved. `\xHH` is the code
// point HH, as in a char literal, so the text is always UTF-8. Malformed escapes, which Tokens has
// reported, give U+FFFD.
func Unquote(raw string) string {
	body := strings.TrimSuffix(strings.TrimPrefix(raw, raw[:1]), raw[:1])
	if !strings.Contains(body, `\`) {
		return strings.ToValidUTF8(body, "\uFFFD")
	}
	var b strings.Builder
	for i := 0; i < len(body); {
		if body[i] == '\\' {
			r, n, _ := escape(body[i:])
			b.WriteRune(r)
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(body[i:])
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// CharValue returns the code point of a char literal as written.
func CharValue(raw string) rune {
	r, _ := utf8.DecodeRuneInString(Unquote(raw))
	return r
}

// closing is the help for a char literal that begins at start and is not closed: directly behind an operand, its mark
// is that of a transposition in other languages.
func (s *scanner) closing(start int) string {
	if start > 0 && (isLetter(s.text[start-1]) || isDigit(s.text[start-1]) ||
		strings.ContainsRune(")]", rune(s.text[start-1]))) {
		return "end it with `'`; the transpose of a matrix is `transpose(x)`"
	}
	return "end it with `'`"
}
