package check

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// maxErrors bounds the diagnostics of one run: beyond it nobody reads on, and suggestions cost time.
const maxErrors = 200

// report is a diagnostic while its details are filled in.
type report struct{ d *diag.Diagnostic }

// errorf reports an error and marks the current declaration as failed.
func (c *checker) errorf(code diag.Code, at diag.Span, format string, args ...any) *report {
	c.cur.failed = true
	d := &diag.Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Primary: diag.Label{Span: at}}
	if len(c.list.Items) < maxErrors {
		c.list.Add(d)
	}
	return &report{d}
}

// full reports that further errors are not shown.
func (c *checker) full() bool { return len(c.list.Items) >= maxErrors }

func (r *report) label(format string, args ...any) *report {
	r.d.Primary.Text = fmt.Sprintf(format, args...)
	return r
}

func (r *report) related(at diag.Span, format string, args ...any) *report {
	if at.Valid() {
		r.d.Related = append(r.d.Related, diag.Label{Span: at, Text: fmt.Sprintf(format, args...)})
	}
	return r
}

func (r *report) note(format string, args ...any) *report {
	r.d.Notes = append(r.d.Notes, fmt.Sprintf(format, args...))
	return r
}

// help sets how to fix the error; the last one wins.
func (r *report) help(format string, args ...any) *report {
	r.d.Help = fmt.Sprintf(format, args...)
	return r
}

// unsupported reports a construct that is legal but not compiled yet; what is its name with an article.
func (c *checker) unsupported(at diag.Span, what string) tree.Expr {
	c.errorf(diag.CodeUnsupported, at, "%s is not supported yet", what)
	return tree.Bad(at)
}

// rule reports a broken rule of an operation. err is a *types.RuleError, or an overflow of an extent.
func (c *checker) rule(code diag.Code, at diag.Span, err error) *report {
	var overflow *types.OverflowError
	if errors.As(err, &overflow) {
		return c.errorf(diag.CodeExtent, at, "%s", overflow)
	}
	var broken *types.RuleError
	if !errors.As(err, &broken) {
		return c.errorf(code, at, "%v", err)
	}
	if broken.Constraint == "G2" || broken.Constraint == "G3" {
		code = diag.CodeExtent // the limits that hold for every operation
	}
	r := c.errorf(code, at, "%s", broken.Msg)
	r.d.Notes = append(r.d.Notes, alignShapes(broken)...)
	r.d.Help = broken.Help
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

// mismatch reports that a value of type got stands where want is needed; what says where: "argument 1".
func (c *checker) mismatch(at diag.Span, what string, want, got types.Type) *report {
	r := c.errorf(diag.CodeMismatch, at, "%s has to be %s, not %s", what, want, got).label("%s", got)
	c.explainMismatch(r, at, want, got)
	return r
}

// explainMismatch adds the aligned shapes or the conversion that helps.
func (c *checker) explainMismatch(r *report, at diag.Span, want, got types.Type) {
	w, ok1 := want.(types.Tensor)
	g, ok2 := got.(types.Tensor)
	if !ok1 || !ok2 {
		return
	}
	if w.Elem != g.Elem {
		if w.Shape.Equal(g.Shape) && convertible(w.Elem) && convertible(g.Elem) {
			r.help("convert it: `%s`", castText(at, w.Elem))
		}
		return
	}
	if g.IsScalar() || w.IsScalar() {
		return
	}
	alignDifference(r, w.Shape, g.Shape, types.Dim.Equal)
}

// alignDifference adds two shapes below each other, with the last extent that differs, or that the ranks do.
func alignDifference(r *report, want, got types.Shape, same func(want, got types.Dim) bool) {
	m, n := len(want), len(got)
	for i := 1; i <= min(m, n); i++ {
		if x, y := want[m-i], got[n-i]; !same(x, y) {
			r.d.Notes = append(r.d.Notes, alignShapes(&types.RuleError{
				Shapes: []types.Shape{want, got}, Axis: i, Why: fmt.Sprintf("%s and %s differ", x, y)})...)
			return
		}
	}
	if m != n {
		r.d.Notes = append(r.d.Notes, alignShapes(&types.RuleError{
			Shapes: []types.Shape{want, got}, Axis: min(m, n) + 1,
			Why: fmt.Sprintf("the ranks are %d and %d", m, n)})...)
	}
}

func convertible(d types.DType) bool { return d == types.Bool || d.IsNumber() }

// castText is the conversion of the source at a span, as a program writes it.
func castText(at diag.Span, to types.DType) string {
	text := at.Text()
	if text == "" || len(text) > 30 || strings.ContainsAny(text, "\n") {
		return "x as " + to.String()
	}
	for _, r := range text {
		if !isWord(r) && r != '.' && r != '[' && r != ']' && r != '(' && r != ')' {
			return "(" + text + ") as " + to.String()
		}
	}
	return text + " as " + to.String()
}

func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

func quote(name string) string { return "`" + name + "`" }

// plural is "no arguments", "1 argument", "2 arguments".
func plural(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
