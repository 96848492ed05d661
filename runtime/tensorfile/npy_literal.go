package tensorfile

import (
	"fmt"
	"strconv"
	"strings"
)

// pyKind is a kind of Python literal.
type pyKind uint8

const (
	pyNone pyKind = iota
	pyBool
	pyInt
	pyString
	pyTuple
	pyList
	pyDict
)

func (k pyKind) String() string {
	return [...]string{"None", "bool", "int", "string", "tuple", "list", "dict"}[k]
}

// pyValue is a parsed literal. Items holds the elements of a tuple or list, and key, value, key, value, ... of a dict.
type pyValue struct {
	kind  pyKind
	num   int64 // of a bool and an int
	str   string
	items []pyValue
	at    int64 // offset in the file
}

// maxNesting bounds the recursion of the parser. A structured dtype nests a few levels.
const maxNesting = 32

// pyParser parses the part of Python's literal syntax that ast.literal_eval takes and .npy headers use: None,
// booleans, integers (with the L of Python 2), strings, tuples, lists and dicts.
type pyParser struct {
	text string
	pos  int
	base int64 // offset of text in the file
}

// parseLiteral parses text, which is one literal with blanks around it, at offset base of a file.
func parseLiteral(text string, base int64) (pyValue, error) {
	p := &pyParser{text: text, base: base}
	v, err := p.value(0)
	if err != nil {
		return v, err
	}
	if p.blanks(); p.pos < len(p.text) {
		return v, p.fail("unexpected %q after the header's dict", p.text[p.pos])
	}
	return v, nil
}

func (p *pyParser) fail(format string, args ...any) error {
	return npyFail(p.base+int64(p.pos), "malformed header: %s", fmt.Sprintf(format, args...))
}

func (p *pyParser) blanks() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n\f", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// peek returns the next byte that is no blank, 0 at the end.
func (p *pyParser) peek() byte {
	if p.blanks(); p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *pyParser) value(depth int) (pyValue, error) {
	c := p.peek()
	v := pyValue{at: p.base + int64(p.pos)}
	if depth > maxNesting {
		return v, p.fail("nested deeper than %d levels", maxNesting)
	}
	switch {
	case c == '(':
		v.kind = pyTuple
		return v, p.items(&v, ')', depth)
	case c == '[':
		v.kind = pyList
		return v, p.items(&v, ']', depth)
	case c == '{':
		v.kind = pyDict
		return v, p.items(&v, '}', depth)
	case c == '\'' || c == '"':
		v.kind = pyString
		return v, p.str(&v)
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		v.kind = pyInt
		return v, p.number(&v)
	case isNameByte(c):
		return v, p.word(&v)
	case p.pos == len(p.text):
		return v, p.fail("it ends where a value should stand")
	}
	return v, p.fail("unexpected %q", c)
}

// items parses the elements of a tuple, list or dict up to the closing bracket. As in Python, (3) is the 3 itself
// and (3,) a tuple.
func (p *pyParser) items(v *pyValue, end byte, depth int) error {
	p.pos++
	comma := false
	for p.peek() != end {
		if len(v.items) > 0 && !comma {
			return p.fail("expected ',' or %q", end)
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
		if v.kind == pyDict {
			if p.peek() != ':' {
				return p.fail("expected ':' after a key")
			}
			p.pos++
			if item, err = p.value(depth + 1); err != nil {
				return err
			}
			v.items = append(v.items, item)
		}
		if comma = p.peek() == ','; comma {
			p.pos++
		}
	}
	p.pos++
	if v.kind == pyTuple && len(v.items) == 1 && !comma {
		*v = v.items[0]
	}
	return nil
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// word parses None, True and False, and the prefix of a string: b'<f4' of Python 3, u'<f4' of Python 2.
func (p *pyParser) word(v *pyValue) error {
	start := p.pos
	for p.pos < len(p.text) && isNameByte(p.text[p.pos]) {
		p.pos++
	}
	switch w := p.text[start:p.pos]; w {
	case "None":
	case "True":
		v.kind, v.num = pyBool, 1
	case "False":
		v.kind = pyBool
	case "b", "u", "B", "U":
		if p.pos < len(p.text) && (p.text[p.pos] == '\'' || p.text[p.pos] == '"') {
			v.kind = pyString
			return p.str(v)
		}
		fallthrough
	default:
		p.pos = start
		return p.fail("unexpected name %q", w)
	}
	return nil
}

func (p *pyParser) number(v *pyValue) error {
	start := p.pos
	for p.pos++; p.pos < len(p.text) && (isNameByte(p.text[p.pos]) || p.text[p.pos] == '.'); p.pos++ {
	}
	word := p.text[start:p.pos]
	n, err := strconv.ParseInt(strings.TrimSuffix(word, "L"), 10, 64)
	if err != nil {
		p.pos = start
		if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
			return p.fail("%s does not fit into 64 bits", word)
		}
		return p.fail("%q is no integer", word)
	}
	v.num = n
	return nil
}

// str parses a string in single or double quotes. Of the escapes, dtypes need none; \\, \', \" and \xHH are known.
func (p *pyParser) str(v *pyValue) error {
	quote := p.text[p.pos]
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == quote:
			p.pos++
			v.str = b.String()
			return nil
		case c == '\n':
			return p.fail("a string ends at the line's end")
		case c != '\\':
			b.WriteByte(c)
		case p.pos+1 < len(p.text) && strings.IndexByte(`\'"`, p.text[p.pos+1]) >= 0:
			p.pos++
			b.WriteByte(p.text[p.pos])
		case p.pos+3 < len(p.text) && p.text[p.pos+1] == 'x':
			n, err := strconv.ParseUint(p.text[p.pos+2:p.pos+4], 16, 8)
			if err != nil {
				return p.fail("unknown escape in a string")
			}
			p.pos += 3
			b.WriteByte(byte(n))
		default:
			return p.fail("unknown escape in a string")
		}
	}
	return p.fail("it ends inside a string")
}
