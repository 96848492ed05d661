package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/lang/diag"
	"healc/lang/lexer"
)

// expectation is what the head comment of a test file asks for.
type expectation struct {
	exit     int     // of `healc run`
	stdout   *string // nil: anything
	code     string  // of a compile error
	compile  string  // part of the text of a compile error
	runtime  string  // part of the text of a run-time error
	args     []string
	backends []string // nil: all
	lines    int      // how many directives there are
}

// runsOn reports whether the file is for a backend. What is for the GPU is for its simulator.
func (x *expectation) runsOn(backend string) bool {
	return x.backends == nil || slices.Contains(x.backends, backend) || backend == heal.PTXSim &&
		slices.Contains(x.backends, heal.GPU)
}

// mustNotCompile reports that a compile error is expected.
func (x *expectation) mustNotCompile() bool { return x.code != "" || x.compile != "" }

// A directiveError is a directive that cannot be read.
type directiveError struct {
	line int
	msg  string
}

func (e *directiveError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.msg) }

var directive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^#[ \t]*(expect|args|backend)(?:[ \t]+(.*?))?[ \t]*$`)
})

// expectations reads the directives of a file: the lines
//
//	# expect exit 42
//	# expect stdout "1\n2\n"            several are joined
//	# expect error E0203
//	# expect compile-error "text"
//	# expect runtime-error "text"
//	# args --entry f --in x=@x.npy
//	# backend cpu gpu interp
//
// of the comment that the file starts with. Other lines of it are free text.
func expectations(file *diag.File) (*expectation, error) {
	x := &expectation{}
	n := 0
	for line := range strings.Lines(file.Text) {
		n++
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "#") {
			break
		}
		m := directive().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		x.lines++
		if msg := x.read(m[1], m[2]); msg != "" {
			return x, &directiveError{n, msg}
		}
	}
	if x.mustNotCompile() && (x.stdout != nil || x.runtime != "") {
		return x, &directiveError{1, "a program that does not compile neither prints nor fails while running"}
	}
	return x, nil
}

// read takes in one directive; the result says what is wrong with it.
func (x *expectation) read(word, rest string) string {
	switch word {
	case "args":
		args, err := splitWords(rest)
		if err != nil {
			return err.Error()
		}
		x.args = append(x.args, args...)
		return ""
	case "backend":
		x.backends = strings.Fields(rest)
		for _, b := range x.backends {
			if !slices.Contains(heal.Backends, b) {
				return fmt.Sprintf("there is no backend %q", b)
			}
		}
		if len(x.backends) == 0 {
			return "`# backend` names no backend"
		}
		return ""
	}
	what, rest, _ := strings.Cut(rest, " ")
	rest = strings.TrimSpace(rest)
	switch what {
	case "exit":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 || n > 255 {
			return fmt.Sprintf("%q is no exit code from 0 to 255", rest)
		}
		x.exit = n
		return ""
	case "error":
		if !driver.IsCode(rest) {
			return fmt.Sprintf("%q is no error code such as E0203", rest)
		}
		x.code = strings.ToUpper(rest)
		return ""
	case "stdout", "compile-error", "runtime-error":
		text, ok := unquote(rest)
		if !ok {
			return fmt.Sprintf("`# expect %s` needs a text in quotes", what)
		}
		switch {
		case what == "stdout":
			if x.stdout != nil {
				text = *x.stdout + text
			}
			x.stdout = &text
		case text == "":
			return "an empty text expects nothing"
		case what == "compile-error":
			x.compile = text
		default:
			x.runtime = text
		}
		return ""
	}
	return fmt.Sprintf("%q is nothing to expect: exit, stdout, error, compile-error and runtime-error are", what)
}

// unquote reads a string literal of the language.
func unquote(s string) (string, bool) {
	tokens, _, bad := lexer.Tokens(diag.NewFile("directive", s))
	if bad.HasErrors() || len(tokens) != 1 || tokens[0].Kind != lexer.String {
		return "", false
	}
	return lexer.Unquote(s), true
}

// splitWords cuts a line into words at blanks, as a shell does: single quotes keep everything, double
// quotes too except for \" and \\.
func splitWords(s string) ([]string, error) {
	var out []string
	var word strings.Builder
	open := false // a word has begun
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t':
			if open {
				out = append(out, word.String())
				word.Reset()
				open = false
			}
		case '\'', '"':
			open = true
			end := i + 1
			for ; end < len(s) && s[end] != c; end++ {
				if c == '"' && s[end] == '\\' && end+1 < len(s) && (s[end+1] == '"' || s[end+1] == '\\') {
					end++
				}
				word.WriteByte(s[end])
			}
			if end >= len(s) {
				return nil, fmt.Errorf("a quote is never closed")
			}
			i = end
		default:
			open = true
			word.WriteByte(c)
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out, nil
}
