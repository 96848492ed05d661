package lexer

import (
	"strings"

	"healc/lang/diag"
)

// Kind tells tokens apart.
type Kind uint8

// The kinds of token.
const (
	Bad     Kind = iota // malformed, and already reported
	Ident               // a name
	Keyword             // one of Keywords
	Int                 // 42, 0xFF_u8
	Float               // 1.0, 1e-3_f64
	Char                // 'a'
	String              // "text"
	Op                  // an operator or a bracket
	Attr                // the `@` of an attribute: directly before a name, and a function follows
)

var kindNames = [...]string{"Bad", "Ident", "Keyword", "Int", "Float", "Char", "String", "Op", "Attr"}

// String returns the name of the kind, as `--emit tokens` prints it.
func (k Kind) String() string { return kindNames[k] }

// Token is a piece of the source: bytes Start to End of the file.
type Token struct {
	Kind       Kind
	Start, End int32
}

// Text returns the token as written in f.
func (t Token) Text(f *diag.File) string { return f.Text[t.Start:t.End] }

// Span returns where the token is.
func (t Token) Span(f *diag.File) diag.Span {
	return diag.Span{File: f, Start: int(t.Start), End: int(t.End)}
}

// Keywords are the reserved words, in the order of the manual.
var Keywords = strings.Fields("fn pub const let mut if else match in as import test return true false")

var isKeyword = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range Keywords {
		m[k] = true
	}
	return m
}()

// Operators are all operators and brackets. The lexer takes the longest that fits, so a prefix
// reduction such as `+/` is one token.
var Operators = strings.Fields(`
	( ) [ ] { } , ; : . .. ..= -> => | |> & @ ! =
	+ - * / % .+ .- .* ./ .% .^ ++
	== != < <= > >= .== .!= .< .<= .> .>= && || .&& .||
	+= -= *= /= .+= .-= .*= ./=
	+/ -/ */ // &&/ ||/
`)

// byFirst has the operators by their first byte, longest first.
var byFirst = func() (m [128][]string) {
	for _, op := range Operators {
		l := m[op[0]]
		i := 0
		for i < len(l) && len(l[i]) >= len(op) {
			i++
		}
		m[op[0]] = append(l[:i], append([]string{op}, l[i:]...)...)
	}
	return m
}()

// operatorAt returns the longest operator that s starts with, or "".
func operatorAt(s string) string {
	if s[0] < 128 {
		for _, op := range byFirst[s[0]] {
			if strings.HasPrefix(s, op) {
				return op
			}
		}
	}
	return ""
}
