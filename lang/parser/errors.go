package parser

import (
	"errors"
	"fmt"
	"strings"

	"healc/lang/diag"
	"healc/lang/lexer"

	"github.com/alecthomas/participle/v2"
)

// errReported is what custom productions return to participle after they reported an error.
var errReported = errors.New("reported")

// report adds an error and goes on. It returns the diagnostic for a help line.
func (p *parser) report(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := &diag.Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Primary: diag.Label{Span: at}}
	if !p.failed {
		p.diags.AddUpTo(maxDiagnostics, d)
	}
	return d
}

// fail is report, after which every token reads as the end until a statement or a declaration
// recovers. So one slip gives one error, and no caller needs to look.
func (p *parser) fail(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := p.report(code, at, format, args...)
	p.setFailed()
	return d
}

// setFailed lets every token read as the end. What did not parse starts and ends at the token that was
// not wanted, so that the spans of the tree nest.
func (p *parser) setFailed() {
	if !p.failed && !p.cur.eof() {
		p.end = max(p.end, p.cur.start)
	}
	p.failed = true
}

// stop is fail without recovery inside the declaration.
func (p *parser) stop(code diag.Code, at diag.Span, format string, args ...any) *diag.Diagnostic {
	d := p.fail(code, at, format, args...)
	p.stopped = true
	return d
}

// found describes the current token, for messages.
func (p *parser) found() string {
	t := p.tok()
	switch {
	case t.eof() && p.after == "":
		return "the end of the file"
	case t.eof():
		return "`" + p.after + "`, which starts a declaration"
	case len(t.text) > 40:
		return "`" + strings.ToValidUTF8(t.text[:40], "") + "...`"
	}
	return "`" + t.text + "`"
}

// here returns the span of the current token, at the end that of the place after the last one.
func (p *parser) here() diag.Span {
	t := p.tok()
	if t.eof() {
		return diag.Span{File: p.file, Start: p.end, End: p.end}
	}
	return p.spanOf(t)
}

// unexpected fails at the current token, which is not what the grammar wants.
func (p *parser) unexpected(want string) *diag.Diagnostic {
	if p.failed {
		return &diag.Diagnostic{}
	}
	t := p.tok()
	if t.kind == lexer.Bad && !t.eof() { // the lexer reported it
		p.setFailed()
		return &diag.Diagnostic{}
	}
	if len(p.diags.Items) >= maxDiagnostics { // nobody reads it, and to find help may look far ahead
		return p.fail(diag.CodeUnexpected, p.here(), "expected %s", want)
	}
	help := p.hint(t)
	if h := p.foreign(t, want); h != "" {
		help = h
	}
	if help == "" && want == "`{`" {
		help = "what follows stands in braces: `{ e }`"
	}
	d := p.fail(diag.CodeUnexpected, p.here(), "expected %s, found %s", want, p.found())
	d.Help = help
	return d
}

// grammarError reports an error of participle: the productions of grammar.go only, since custom
// productions report their own.
func (p *parser) grammarError(err error) {
	if errors.Is(err, errReported) || p.failed {
		p.failed = true
		return
	}
	want := "something else"
	var unexpected *participle.UnexpectedTokenError
	if errors.As(err, &unexpected) {
		_, list, _ := strings.Cut(unexpected.Message(), "(expected ")
		want = firstOf(list)
	}
	name, at := p.last.text, p.cur.text
	switch d := p.unexpected(want); {
	case want == "`:`" && at == "=":
		d.Help = fmt.Sprintf("a type stands after the name: `%s: nat =`", name)
	case want == "`:`" && (at == ")" || at == ","):
		d.Help = fmt.Sprintf("a type stands after the name: `%s: f32`", name)
	case want == "`)`" && at == "=" && p.endsItem(2):
		d.Help = "a parameter has no default value: every call gives all arguments"
	case at == "=" || at == "->":
		d.Help = "" // it is about neither a comparison nor a lambda here
	}
}

// endsItem reports whether an item of a list ends n tokens from here, a sign not counted.
func (p *parser) endsItem(n int) bool {
	failed := p.failed
	p.failed = false
	defer func() { p.failed = failed }()
	if p.peek(n-1).text == "-" {
		n++
	}
	return p.peek(n).text == "," || p.peek(n).text == ")"
}

// firstOf describes the first thing that participle's grammar text asks for.
func firstOf(grammar string) string {
	grammar = strings.TrimLeft(grammar, "( ")
	if rest, ok := strings.CutPrefix(grammar, `"`); ok {
		if word, _, ok := strings.Cut(rest, `"`); ok {
			return "`" + word + "`"
		}
	}
	word := strings.Trim(grammar, "<>")
	if i := strings.IndexAny(word, "> )*?|"); i >= 0 {
		word = word[:i]
	}
	if name, ok := productionNames[word]; ok {
		return name
	}
	return "a declaration"
}

// words of other languages that parse as names here, so that the error shows at the token after them.
var foreignWords = map[string]string{
	"for":      "there are no loop statements: see `tabulate`, `map`, `fold`, `scan` and `iterate`",
	"while":    "there are no loop statements: see `iterate_until` and `iterate`",
	"loop":     "there are no loop statements: see `iterate_until` and `iterate`",
	"elif":     "write `else if`",
	"elsif":    "write `else if`",
	"elseif":   "write `else if`",
	"and":      "write `&&`, or `.&&` on tensors",
	"or":       "write `||`, or `.||` on tensors",
	"not":      "write `!`",
	"var":      "a variable is declared by `let x = e;`, or `let mut x = e;` if it changes",
	"auto":     "a variable is declared by `let x = e;`",
	"lambda":   "a lambda is written `|x| e`",
	"switch":   "write `match e { 0 => a, _ => b }`",
	"def":      "a function is declared by `fn name(x: f32) -> f32 = e`",
	"func":     "a function is declared by `fn name(x: f32) -> f32 = e`",
	"function": "a function is declared by `fn name(x: f32) -> f32 = e`",
	"then":     "the arms of `if` stand in braces: `if c { a } else { b }`",
	"use":      "a module is imported by `import nn`, a file by `import \"./name\"`",
	"include":  "a module is imported by `import nn`, a file by `import \"./name\"`",
	"from":     "a module is imported by `import nn`; what it has is named `nn.name`",
	"struct":   "there are no records; a tuple is written `(a, b)`",
	"class":    "there are no records; a tuple is written `(a, b)`",
	"type":     "types have no names of one's own; a tuple is written `(f32, i32)`",
	"is":       "write `==`",
	"mod":      "write `%`, or `.%` on tensors",
	"begin":    "what belongs together stands in braces: `{ let y = x; y }`",
	"end":      "what belongs together stands in braces: `{ let y = x; y }`",
	"using":    "a module is imported by `import nn`, a file by `import \"./name\"`",
	"try":      "there are no exceptions: `require(x, ok, \"message\")` is x, and an error where ok does not hold",
	"catch":    "there are no exceptions: `require(x, ok, \"message\")` is x, and an error where ok does not hold",
	"raise":    "there are no exceptions: `require(x, ok, \"message\")` is x, and an error where ok does not hold",
	"throw":    "there are no exceptions: `require(x, ok, \"message\")` is x, and an error where ok does not hold",
	"xor":      "write `!=` on bools, `bxor(a, b)` on integers",
}

// startsNumber reports whether the text of a token begins with a digit.
func startsNumber(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

// hint returns a help line for an unexpected token t, knowing the one before, or "".
// It is a list of cases, each with its words.
func (p *parser) hint(t token) string {
	if h := foreignWords[t.text]; h != "" {
		return h
	}
	last := p.last.text
	if h := foreignWords[last]; h != "" {
		return h
	}
	if last == "++" {
		return "`++` joins strings; to count, write `x += 1;` on a `let mut` variable"
	}
	if t.kind == lexer.String && p.last.kind == lexer.Ident && p.last.end() == t.start {
		return "there are no marks before a string: `print(x)` prints any value, and `++` joins strings"
	}
	next := p.peek(1).text
	switch t.text {
	case "=":
		switch last {
		case ":":
			return "a variable is declared by `let x = e;`"
		case "%", ".%", ".^", "&&", "||", ".&&", ".||", "@":
			return "there is no `" + last + "=`: write `x = x " + last + " e`"
		}
		return "`==` compares; `=` stands in `let`, in assignments and before the value of a named argument"
	case ":":
		switch {
		case last == "[" || last == "," || next == "]" || next == "," || startsNumber(last) && startsNumber(next):
			return "a slice is written `1..3`, a whole axis `..`"
		case next == "=":
			return "a variable is declared by `let x = e;`"
		case last == ")" && p.depth == 0:
			return "the type of the result stands after `->`"
		case next == ":" || last == ":":
			return "a name of a module is written `module.name`"
		}
	case "by":
		return "a range with `by` stands only inside an index: `(0..n)[.. by 2]` takes every second number"
	case "*":
		if last == "*" {
			return "the power operator is `.^`"
		}
	case "+":
		return "there is no prefix `+`"
	case "+/", "-/", "*/", "&&/", "||/":
		return "a reduction is a prefix operator: `" + t.text + "(v)`"
	case ".":
		if last == ".." || next == ".." || next == "." {
			return "all other axes are written `..`, and may be left out at the end"
		}
	case "=>", "->":
		return "a lambda is written `|x| e`"
	case "&":
		return "`&mut` stands before the type of a parameter; the logical operator is `&&`, that on bits `band(a, b)`"
	case "|":
		return "the logical operator is `||`, that on bits `bor(a, b)`"
	case "<", ">":
		switch strings.ToLower(last) {
		case "vec", "array", "tensor", "list", "vector", "slice":
			return "the type of a tensor is written `f32[2, N]`"
		}
		if last == t.text {
			return "shifts are written `shl(a, n)` and `shr(a, n)`"
		}
	case ";":
		if p.depth == 0 {
			return "a declaration does not end with `;`"
		}
	case "if":
		if p.depth == 0 || p.choosesBehind() {
			return "a choice is written `if c { a } else { b }`"
		}
	case "mut":
		return "a parameter that is changed is written `x: &mut f32[N]`, a variable `let mut x = e;`"
	case "fn":
		return "functions are not nested; a lambda is written `|x| e`"
	case "[":
		if last == ":" || last == "->" {
			return "the type of a tensor is written `f32[2, N]`"
		}
	case "entry":
		if p.depth == 0 {
			return "a function that is called from outside is declared by `pub fn name(x: f32) -> f32 = e`"
		}
	case "let":
		if p.depth == 0 && p.peek(2).text == "(" {
			return foreignWords["def"]
		}
		if p.depth == 0 {
			return "a constant of the file is declared by `const N: nat = 1`"
		}
	case "..", "..=":
		return "a range without both bounds stands only in an index"
	case "@":
		return "an attribute stands directly before a function"
	}
	return ""
}
