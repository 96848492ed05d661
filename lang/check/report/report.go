package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"healc/lang/diag"
	"healc/lang/types"
)

// Report is a diagnostic while its details are filled in.
type Report struct{ d *diag.Diagnostic }

// New is the report of an error.
func New(code diag.Code, at diag.Span, message string) *Report {
	return &Report{&diag.Diagnostic{Code: code, Message: message, Primary: diag.Label{Span: at}}}
}

// Diagnostic is what is reported.
func (r *Report) Diagnostic() *diag.Diagnostic { return r.d }

// Align adds the shapes of a broken rule below each other, and a mark under the axis that breaks it.
func (r *Report) Align(e *types.RuleError) { r.d.Notes = append(r.d.Notes, alignShapes(e)...) }

// Label is the text beside the place of the error.
func (r *Report) Label(format string, args ...any) *Report {
	r.d.Primary.Text = fmt.Sprintf(format, args...)
	return r
}

// Related marks another place.
func (r *Report) Related(at diag.Span, format string, args ...any) *Report {
	if at.Valid() {
		r.d.Related = append(r.d.Related, diag.Label{Span: at, Text: fmt.Sprintf(format, args...)})
	}
	return r
}

// Note adds a line below.
func (r *Report) Note(format string, args ...any) *Report {
	r.d.Notes = append(r.d.Notes, fmt.Sprintf(format, args...))
	return r
}

// Help sets how to fix the error; the last one wins.
func (r *Report) Help(format string, args ...any) *Report {
	r.d.Help = fmt.Sprintf(format, args...)
	return r
}

// Meant sets the help and the fix of a name that is probably another, whose place the whole report is at.
func (r *Report) Meant(name string) *Report {
	return r.Help("did you mean %s?", Quote(name)).Fix(r.d.Primary.Span, name)
}

// Cast sets the help and the fix of what should have another element type.
func (r *Report) Cast(at diag.Span, to types.DType) *Report {
	return r.Help("write `%s`", CastText(at, to)).Fix(at, conversion(at.Text(), to))
}

// Fix sets the one replacement that the help says.
func (r *Report) Fix(at diag.Span, text string) *Report {
	r.d.Fix = &diag.Fix{Span: at, Text: text}
	return r
}

// alignShapes prints the shapes of a rule error one below the other, axis below axis from the last, and
// under them the mark of the axis with the reason.
func alignShapes(e *types.RuleError) []string {
	if len(e.Shapes) == 0 {
		if e.Why == "" {
			return nil
		}
		return []string{e.Why}
	}
	rank := 0
	for _, s := range e.Shapes {
		rank = max(rank, len(s))
	}
	width := make([]int, rank+1) // by axis counted from the end
	for _, s := range e.Shapes {
		for i := 1; i <= len(s); i++ {
			width[i] = max(width[i], utf8.RuneCountInString(s[len(s)-i].String()))
		}
	}
	column := func(axis int) int { // where the extents of an axis start, the bracket of the longest at 0
		at := 1
		for i := rank; i > axis; i-- {
			at += width[i] + 2
		}
		return at
	}
	var lines []string
	for _, s := range e.Shapes {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", column(len(s))-1) + "[")
		for i := len(s); i >= 1; i-- {
			text := s[len(s)-i].String()
			b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(text)) + text)
			if i > 1 {
				b.WriteString(", ")
			}
		}
		lines = append(lines, b.String()+"]")
	}
	switch {
	case e.Axis < 1 || e.Axis > rank:
		if e.Why != "" {
			lines = append(lines, e.Why)
		}
	default:
		mark := strings.Repeat(" ", column(e.Axis)) + strings.Repeat("^", max(width[e.Axis], 1))
		lines = append(lines, strings.TrimRight(mark+" "+e.Why, " "))
	}
	return lines
}

// Explain adds the aligned shapes or the conversion that helps.
func (r *Report) Explain(at diag.Span, want, got types.Type) {
	w, ok1 := want.(types.Tensor)
	g, ok2 := got.(types.Tensor)
	if !ok1 || !ok2 {
		return
	}
	if w.Elem != g.Elem {
		if w.Shape.Equal(g.Shape) && w.Elem.Converts() && g.Elem.Converts() {
			r.Help("convert it: `%s`", CastText(at, w.Elem)).Fix(at, conversion(at.Text(), w.Elem))
		}
		return
	}
	if g.IsScalar() || w.IsScalar() {
		return
	}
	r.Difference(w.Shape, g.Shape, types.Dim.Equal)
}

// Difference adds two shapes below each other, with the last extent that differs, or that the ranks do.
func (r *Report) Difference(want, got types.Shape, same func(want, got types.Dim) bool) {
	m, n := len(want), len(got)
	for i := 1; i <= min(m, n); i++ {
		if x, y := want[m-i], got[n-i]; !same(x, y) {
			r.Align(&types.RuleError{
				Shapes: []types.Shape{want, got}, Axis: i, Why: fmt.Sprintf("%s and %s differ", x, y)})
			return
		}
	}
	if m != n {
		r.Align(&types.RuleError{
			Shapes: []types.Shape{want, got}, Axis: min(m, n) + 1,
			Why: fmt.Sprintf("the ranks are %d and %d", m, n)})
	}
}

// CastText is the conversion of the source at a span, as a program writes it.
func CastText(at diag.Span, to types.DType) string {
	text := at.Text()
	if text == "" || len(text) > 30 || strings.ContainsAny(text, "\n") {
		return "x as " + to.String()
	}
	return conversion(text, to)
}

// conversion is a source as another element type.
func conversion(text string, to types.DType) string {
	for _, r := range text {
		if !IsWord(r) && r != '.' && r != '[' && r != ']' && r != '(' && r != ')' {
			return "(" + text + ") as " + to.String()
		}
	}
	return text + " as " + to.String()
}

// IsWord reports a letter of names.
func IsWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// Quote is a name as messages have it.
func Quote(name string) string { return "`" + name + "`" }

// Plural is "no arguments", "1 argument", "2 arguments".
func Plural(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Count counts what has a plural of its own.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Axes counts axes.
func Axes(n int) string {
	if n == 1 {
		return "1 axis"
	}
	return fmt.Sprintf("%d axes", n)
}
