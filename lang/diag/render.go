package diag

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Render prints d the way language.md shows it: code and message, the source line with marks, notes,
// help. It ends with a newline. Lines longer than 160 code points are cut around the marks, and words as by Brief.
func Render(d *Diagnostic, color bool) string {
	d = d.Brief()
	var b strings.Builder
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	kind, hue := "error", "1;31"
	if d.Severity == Warning {
		kind, hue = "warning", "1;33"
	}
	if d.Code != "" {
		kind += "[" + string(d.Code) + "]"
	}
	fmt.Fprintf(&b, "%s: %s\n", paint(hue, kind), paint("1", d.Message))
	width, places := 1, d.Places()
	for _, l := range append([]Label{d.Primary}, places...) {
		width = max(width, len(strconv.Itoa(l.Span.Pos().Line)))
	}
	bar := strings.Repeat(" ", width+2) + "|"
	snippet := func(arrow string, l Label, hue string) {
		if !l.Span.Valid() {
			return
		}
		p := l.Span.Pos()
		fmt.Fprintf(&b, "%s%s %s\n", strings.Repeat(" ", width+1), paint("34", arrow), p)
		line, col, n := window(l.Span)
		fmt.Fprintf(&b, "%s\n %*d | %s\n", paint("34", bar), width, p.Line, line)
		marks := strings.Repeat(" ", col) + paint(hue, strings.TrimRight(strings.Repeat("^", n)+" "+l.Text, " "))
		fmt.Fprintf(&b, "%s %s\n", paint("34", bar), marks)
	}
	snippet("-->", d.Primary, hue)
	for _, l := range places {
		snippet(":::", l, "1;34")
	}
	if len(d.Notes) > 0 || d.Help != "" {
		if d.Primary.Span.Valid() {
			fmt.Fprintf(&b, "%s\n", paint("34", bar))
		}
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "%s= %s\n", strings.Repeat(" ", width+2), n)
		}
		if d.Help != "" {
			for i, line := range strings.Split(d.Help, "\n") {
				if i == 0 {
					fmt.Fprintf(&b, "%s= %s %s\n", strings.Repeat(" ", width+2), paint("32", "help:"), line)
				} else {
					fmt.Fprintf(&b, "%s        %s\n", strings.Repeat(" ", width+2), line)
				}
			}
		}
	}
	return b.String()
}

const maxLine = 160

// window returns the line of s with tabs as one blank and control characters replaced, cut to maxLine
// around the marks, the column of the first mark from 0, and the number of marks.
func window(s Span) (line string, col, n int) {
	p := s.Pos()
	runes := []rune(clean(s.File.Line(p.Line)))
	col = min(p.Col-1, len(runes))
	n = max(utf8.RuneCountInString(firstLine(s.Text())), 1)
	n = max(min(n, len(runes)-col), 1)
	if len(runes) > maxLine {
		start := min(max(col-maxLine/4, 0), len(runes)-maxLine)
		cut := runes[start : start+maxLine]
		col -= start
		n = max(min(n, maxLine-col), 1)
		if start > 0 {
			cut = append([]rune("..."), cut...)
			col += 3
		}
		if start+maxLine < len(runes) {
			cut = append(cut, []rune("...")...)
		}
		runes = cut
	}
	return strings.TrimRight(string(runes), " "), col, n
}

func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20 || r == 0x7f || 0x80 <= r && r < 0xa0:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func firstLine(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	return s
}
