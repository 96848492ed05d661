package parser

import (
	"slices"
	"strings"

	"healc/lang/lexer"
)

// typesOfC begin declarations in C and its relatives.
var typesOfC = []string{"float", "double", "int", "long", "unsigned", "size_t", "bool", "char", "half", "f32", "f64"}

// wholeTypes have their element type in brackets of another kind elsewhere.
var wholeTypes = []string{"vec", "array", "tensor", "list", "vector", "matrix", "slice"}

// foreign is the help for a token t where want stands in the grammar, if it is the habit of another language; or "".
func (p *parser) foreign(t token, want string) string {
	last := p.last.text
	sameLine := !p.newLine()
	switch {
	case slices.Contains(typesOfC, last) && t.kind == lexer.Ident && sameLine:
		return "a variable is declared by `let x = e;`, a parameter by `x: f32`"
	case slices.Contains(typesOfC, t.text) && p.peek(1).kind == lexer.Ident && want == "a declaration":
		return "a function is declared by `fn name(x: f32) -> f32 = e`"
	case t.text == "*" && slices.Contains(typesOfC, last) && want != "an expression":
		return "there are no pointers: the type of a tensor is written `f32[N]`"
	case t.text == "[" && last == "]":
		return "all extents stand in one pair of brackets: `f32[3, 4]`"
	case t.text == ":" && last == "[" && slices.Contains(typesOfC, p.peek(-2).text):
		return "an extent of any size has a name: `fn f[N](x: f32[N])`"
	case t.text == "+" && last == "(" && p.peek(1).text == ")":
		return "an operator is no value: a lambda is written `|a, b| a + b`, and `+/(x)` sums"
	case t.text == "<" && want == "`(`":
		return "type parameters stand in brackets: `fn f[T: float](x: T) -> T`"
	case t.text == "{" && slices.Contains(wholeTypes, strings.ToLower(last)):
		return "the type of a tensor is written `f32[2, N]`"
	case t.text == "where" && want == "`=`":
		return "a bound stands with its parameter: `fn f[T: float](x: T) -> T`"
	case t.text == ">" && last == "<":
		return "write `!=`"
	case t.text == "/=" && p.depth == 0:
		return "`!=` says whether values differ; `x /= e;` is an assignment"
	case t.text == "//":
		return "comments start with `#`; a quotient of integers, `x / y`, has no fraction, and of floats it is " +
			"`floor(x / y)`"
	case t.text == "in" && p.depth == 0:
		return "whether a value is among those of a tensor is `any(v .== x)`"
	case t.text == "(" && last == ".":
		return "functions of numbers take tensors as they are: `sin(x)`"
	case t.text == ":" && p.last.kind == lexer.String:
		return "there are no dictionaries; a tuple is written `(a, b)`"
	case t.text == "," && want == "`;` or `}`":
		return "a tensor is written in brackets: `[1.0, 2.0]`"
	case t.kind == lexer.String && p.last.kind == lexer.String && p.last.end() == t.start:
		return "text stands between single marks `\"`, a comment behind `#`"
	case t.text == "&" && p.peek(1).text == "mut" && want == "an expression":
		return "a variable is given to a `&mut` parameter by its name: `g(y)`"
	case foreignWords[last] == "" && foreignWords[t.text] == "" && sameLine && isOperand(t) &&
		(p.last.kind == lexer.Ident || last == ")") && (want == "the end of the declaration" || want == "`;` or `}`"):
		return "the arguments of a function stand in parentheses: `f(x, y)`"
	}
	return ""
}

// isOperand reports a name or a number.
func isOperand(t token) bool {
	return t.kind == lexer.Ident || startsNumber(t.text)
}

// choosesBehind reports whether the `if` here stands behind a value, as in `a if c else b`: an `else` comes before any
// block.
func (p *parser) choosesBehind() bool {
	for n := 1; ; n++ {
		switch p.peek(n).text {
		case "else":
			return true
		case "", "{", "}", ";", "let", "fn":
			return false
		}
	}
}

// methodHelp is the help for a dot behind a value.
func (p *parser) methodHelp() string {
	if word := p.tok().text; word == "set" || word == "add" {
		return "a copy is changed in a block: `{ let mut y = x; y[0] = 1.0; y }`"
	}
	return "there are no methods or fields: write `f(x)`"
}
