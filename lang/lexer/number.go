package lexer

import (
	"strings"

	"healc/lang/diag"
)

var intSuffixes = map[string]bool{"i8": true, "i16": true, "i32": true, "i64": true, "u8": true, "u16": true,
	"u32": true, "u64": true}
var floatSuffixes = map[string]bool{"f16": true, "bf16": true, "f32": true, "f64": true}

// number reads an integer or a float. A point belongs to the number only when a digit follows, so
// `0..N` and `1.+x` are an integer and an operator.
func (s *scanner) number() {
	start := s.pos
	if s.text[s.pos] == '.' { // `.5`
		s.pos++
		s.pos += tailLength(s.text[s.pos:])
		d := s.errorf(diag.CodeBadNumber, start, s.pos, "a float needs a digit before the point")
		if n := len(s.tokens); n > 0 && int(s.tokens[n-1].End) == start {
			d.Help = "a number has one point; the elements of a tuple are named by `let (a, b) = t;`"
			s.emit(Bad, start)
		} else {
			d.Help = "write `0" + s.text[start:s.pos] + "`"
			s.emit(Float, start)
		}
		return
	}
	if rest := s.text[s.pos:]; len(rest) > 1 && rest[0] == '0' && rest[1]|0x20 == 'x' {
		s.pos += tailLength(rest)
		s.finishNumber(Int, start, start+2, isHex)
		return
	}
	kind := Int
	s.digits()
	if rest := s.text[s.pos:]; strings.HasPrefix(rest, ".") {
		switch {
		case len(rest) > 1 && isDigit(rest[1]):
			kind = Float
			s.pos++
			s.digits()
		case operatorAt(rest) == ".":
			s.pos++
			s.emit(Float, start)
			d := s.errorf(diag.CodeBadNumber, start, s.pos, "a float needs a digit after the point")
			d.Help = "write `" + s.text[start:s.pos] + "0`"
			return
		}
	}
	if n := exponentLength(s.text[s.pos:]); n > 0 {
		kind = Float
		s.pos += n
		s.digits()
	}
	body := s.pos
	s.pos += tailLength(s.text[s.pos:])
	for body > start && s.text[body-1] == '_' { // the suffix takes its underscore with it
		body--
	}
	s.checkSuffix(kind, start, body)
}

// digits skips digits and underscores.
func (s *scanner) digits() {
	for s.pos < len(s.text) && (isDigit(s.text[s.pos]) || s.text[s.pos] == '_') {
		s.pos++
	}
}

// exponentLength returns the length of `e`, sign and first digit at the start of t, or 0.
func exponentLength(t string) int {
	if t == "" || t[0]|0x20 != 'e' {
		return 0
	}
	i := 1
	if i < len(t) && (t[i] == '+' || t[i] == '-') {
		i++
	}
	if i < len(t) && isDigit(t[i]) {
		return i + 1
	}
	return 0
}

// finishNumber splits the rest of a hexadecimal number, which starts at body, into digits and suffix.
func (s *scanner) finishNumber(kind Kind, start, body int, digit func(byte) bool) {
	i := body
	for i < s.pos && (digit(s.text[i]) || s.text[i] == '_') {
		i++
	}
	for i > body && s.text[i-1] == '_' {
		i--
	}
	if i == body {
		s.emit(kind, start)
		s.errorf(diag.CodeBadNumber, start, s.pos, "`%s` has no hexadecimal digits", s.text[start:s.pos])
		return
	}
	s.checkSuffix(kind, start, i)
}

// checkSuffix emits the number from start to the position, whose suffix with its underscore starts
// at body, and reports a suffix that does not exist or does not fit.
func (s *scanner) checkSuffix(kind Kind, start, body int) {
	s.emit(kind, start)
	tail := s.text[body:s.pos]
	if tail == "" {
		return
	}
	suffix := strings.TrimLeft(tail, "_")
	switch {
	case kind == Int && intSuffixes[suffix] && len(tail) == len(suffix)+1,
		kind == Float && floatSuffixes[suffix] && len(tail) == len(suffix)+1:
		return
	}
	d := s.errorf(diag.CodeBadNumber, start, s.pos, "`%s` is not a number", s.text[start:s.pos])
	switch {
	case suffix == "j" || suffix == "im":
		d.Help = "there are no complex numbers: a pair `(re, im)` stands for one"
	case suffix == "":
		d.Help = "a number does not end with `_`"
	case len(tail) == len(suffix) && (intSuffixes[suffix] || floatSuffixes[suffix]):
		d.Help = "the suffix follows an underscore: `" + s.text[start:body] + "_" + suffix + "`"
	case kind == Int && floatSuffixes[suffix]:
		d.Help = "a float needs a point: `" + s.text[start:body] + ".0_" + suffix + "`"
	case kind == Float && intSuffixes[suffix]:
		d.Help = "an integer has neither point nor exponent; `as " + suffix + "` converts"
	case s.text[start:body] == "0" && (suffix[0]|0x20 == 'b' || suffix[0]|0x20 == 'o'):
		d.Help = "integers are written in decimal or in hexadecimal with `0x`"
	default:
		d.Help = "the suffixes are _i8 _i16 _i32 _i64 _u8 _u16 _u32 _u64 for integers, _f16 _bf16 _f32 _f64 for floats"
	}
}

// SplitNumber takes a number as written apart: its value without underscores (leading zeros dropped,
// so that no reader takes it for octal; `0x` kept, in lower case) and its suffix, or "".
func SplitNumber(raw string) (value, suffix string) {
	value = raw
	hex := len(raw) > 1 && raw[1]|0x20 == 'x'
	if i := strings.LastIndexByte(raw, '_'); i >= 0 {
		if t := raw[i+1:]; intSuffixes[t] || floatSuffixes[t] && !hex {
			value, suffix = raw[:i], t
		}
	}
	value = strings.ReplaceAll(value, "_", "")
	if hex {
		return "0x" + value[2:], suffix
	}
	for len(value) > 1 && value[0] == '0' && isDigit(value[1]) {
		value = value[1:]
	}
	return value, suffix
}
