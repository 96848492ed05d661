package format

import (
	"strings"
	"unicode/utf8"
)

const (
	lineWidth   = 100
	indentWidth = 4
)

// opKind tells the pieces of a layout apart.
type opKind uint8

const (
	opText    opKind = iota
	opIfBreak        // text that stands only in a group that is broken
	opLine           // a blank, or a new line where the group is broken
	opSoft           // nothing, or a new line where the group is broken
	opFill           // a blank, or a new line where the group is broken and what follows does not fit
	opHard           // a new line; breaks all groups around it
	opBlank          // a new line and an empty one before it; breaks all groups around it
	opBegin          // starts a group
	opEnd
	opBody // starts a group after a blank; in the next line, indented, if it fits only there
	opBodyEnd
	opIndent
	opDedent
)

type op struct {
	kind opKind
	text string
}

// measures has the sizes that decide where lines break.
type measures struct {
	flat []int // columns of the pieces before each, when nothing is broken
	hard []int // new lines that are certain before each
	tail []int // columns from each to the next place where a line may break
	end  []int // of each group and body, its end
}

func measure(ops []op) measures {
	n := len(ops)
	m := measures{make([]int, n+1), make([]int, n+1), make([]int, n+1), make([]int, n)}
	var open []int
	for i, o := range ops {
		m.flat[i+1], m.hard[i+1] = m.flat[i], m.hard[i]
		switch o.kind {
		case opText:
			m.flat[i+1] += utf8.RuneCountInString(o.text)
			m.hard[i+1] += strings.Count(o.text, "\n")
		case opLine, opFill:
			m.flat[i+1]++
		case opHard, opBlank:
			m.hard[i+1]++
		case opBegin:
			open = append(open, i)
		case opBody:
			m.flat[i+1]++
			open = append(open, i)
		case opEnd, opBodyEnd:
			m.end[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	for i := n - 1; i >= 0; i-- {
		switch o := ops[i]; o.kind {
		case opText:
			line, _, more := strings.Cut(o.text, "\n")
			if m.tail[i] = utf8.RuneCountInString(line); !more {
				m.tail[i] += m.tail[i+1]
			}
		case opLine, opSoft, opFill, opHard, opBlank, opBody:
			m.tail[i] = 0
		default:
			m.tail[i] = m.tail[i+1]
		}
	}
	return m
}

// render sets ops in lines. The text ends with a new line, unless it is empty.
// One loop over one state: parts of it would hand that state around.
func render(ops []op) string {
	m := measure(ops)
	var b strings.Builder
	column, indent := 0, 0
	blank := false        // a blank that stands only if something follows on the line
	flat := []bool{false} // whether the groups around stand on one line
	var moved []bool      // whether the bodies around stand in the next line
	newline := func(lines string) {
		if b.Len() > 0 {
			b.WriteString(lines)
		}
		column, blank = 0, false
	}
	text := func(s string) {
		if s == " " {
			if column > 0 && !blank {
				blank = true
				column++
			}
			return
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if column == 0 && s != "" {
			b.WriteString(strings.Repeat(" ", indent*indentWidth))
			column = indent * indentWidth
		}
		b.WriteString(s)
		if i := strings.LastIndexByte(s, '\n'); i >= 0 {
			column, s = 0, s[i+1:]
		}
		column += utf8.RuneCountInString(s)
	}
	for i, o := range ops {
		broken := !flat[len(flat)-1]
		switch o.kind {
		case opText:
			text(o.text)
		case opIfBreak:
			if broken {
				text(o.text)
			}
		case opLine, opSoft:
			if broken {
				newline("\n")
			} else if o.kind == opLine {
				text(" ")
			}
		case opFill:
			if broken && column+1+m.tail[i+1] > lineWidth {
				newline("\n")
			} else {
				text(" ")
			}
		case opHard:
			newline("\n")
		case opBlank:
			newline("\n\n")
		case opBegin:
			e, column := m.end[i], column
			if column == 0 {
				column = indent * indentWidth
			}
			fits := m.hard[e] == m.hard[i] && column+m.flat[e]-m.flat[i]+m.tail[e] <= lineWidth
			flat = append(flat, !broken || fits)
		case opBody:
			e := m.end[i]
			width := m.flat[e] - m.flat[i+1] + m.tail[e]
			next := broken && m.hard[e] == m.hard[i] && column+1+width > lineWidth && (indent+1)*indentWidth+
				width <= lineWidth
			if moved = append(moved, next); next {
				indent++
				newline("\n")
			} else {
				text(" ")
			}
		case opBodyEnd:
			if moved[len(moved)-1] {
				indent--
			}
			moved = moved[:len(moved)-1]
		case opEnd:
			flat = flat[:len(flat)-1]
		case opIndent:
			indent++
		case opDedent:
			indent--
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}
