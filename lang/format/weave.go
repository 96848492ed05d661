package format

import (
	"strings"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/lexer"
)

// Comments stand between two tokens of the source. There each is one of three things:
//
//	trailing  on the line of the token before, and the last thing there: printed after that token,
//	          and a new line follows
//	own       on lines of its own: printed so
//	leading   a block comment with the next token behind it on its line: printed before that token
//
// The same three are found again in what is printed, so formatting twice changes nothing. A comment
// before a comma or a semicolon counts as one after it: `a # why` and `, b` in the next line give
// `a, # why` and `b`.

// place is one of the three.
type place uint8

const (
	trailing place = iota
	own
	leading
)

type pending struct {
	text    string
	newline bool // a line ends before it, and after the token or comment before it
	blank   bool // an empty line stands there
	place   place
}

// weaver makes the list of pieces. Its methods that print tokens follow the tokens of the source.
type weaver struct {
	file     *diag.File
	tokens   []lexer.Token
	comments []*ast.Comment
	next     int // the token of the source to print next
	ahead    int // the first comment not in waiting yet
	seen     int // the token whose comments were put in waiting last, plus one
	waiting  []pending
	blank    bool // an empty line stands directly before the next token
	ops      []op
	last     string // the text printed last on this line, "" after a place where it may break
}

func (w *weaver) emit(k opKind)    { w.ops = append(w.ops, op{kind: k}) }
func (w *weaver) begin()           { w.emit(opBegin) }
func (w *weaver) end()             { w.emit(opEnd) }
func (w *weaver) indent()          { w.emit(opIndent) }
func (w *weaver) space()           { w.text(" ") }
func (w *weaver) text(text string) { w.ops, w.last = append(w.ops, op{opText, text}), text }

// source returns the text of the next token of the source, "" at the end.
func (w *weaver) source() string {
	if w.next == len(w.tokens) {
		return ""
	}
	return w.tokens[w.next].Text(w.file)
}

// look puts the comments before the next token in waiting.
func (w *weaver) look() {
	if w.seen > w.next {
		return
	}
	w.seen = w.next + 1
	from, to := 0, len(w.file.Text)
	if w.next > 0 {
		from = int(w.tokens[w.next-1].End)
	}
	if len(w.waiting) > 0 { // the token between is a comma that goes before them
		from = w.comments[w.ahead-1].Loc.End
	}
	if w.next < len(w.tokens) {
		to = int(w.tokens[w.next].Start)
	}
	for ; w.ahead < len(w.comments) && w.comments[w.ahead].Loc.Start < to; w.ahead++ {
		c := w.comments[w.ahead]
		n := strings.Count(w.file.Text[from:c.Loc.Start], "\n")
		from = c.Loc.End
		lines := strings.Split(c.Text, "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " \t\r")
		}
		w.waiting = append(w.waiting, pending{text: strings.Join(lines, "\n"), newline: n > 0, blank: n > 1})
	}
	n := strings.Count(w.file.Text[from:to], "\n")
	w.blank = n > 1
	for i := range w.waiting {
		c := &w.waiting[i]
		c.place = own
		if !c.newline && w.next > 0 && (i == 0 || w.waiting[i-1].place == trailing) {
			c.place = trailing
		}
	}
	for i := len(w.waiting) - 1; i >= 0 && n == 0 && w.next < len(w.tokens); i-- {
		w.waiting[i].place = leading
		if w.waiting[i].newline {
			break
		}
	}
}

// skip leaves the next token of the source out; its comments wait for the one after it.
func (w *weaver) skip() {
	w.look()
	w.next++
}

// tok prints the token text. Commas of the source that the formatting leaves out are skipped.
func (w *weaver) tok(text string) {
	for w.source() != text {
		if w.source() != "," {
			panic("BUG: the formatter wants " + text + " where the source has " + w.source())
		}
		w.skip()
	}
	w.anyTok()
}

// anyTok prints the next token of the source.
func (w *weaver) anyTok() {
	text := w.source()
	w.look()
	if text == "," || text == ";" { // comments go after it
		w.next++
		w.text(text)
		return
	}
	w.flushHere(text)
	// `-` before `//` would read as `-/` and `/`, `/` before `*/` as a comment.
	if (w.last == "-" || w.last == "/") && (text[0] == '/' || text[0] == '*') {
		w.space()
	}
	w.next++
	w.text(text)
}

// optional prints a comma or semicolon that the source may not have, before the comments that wait.
func (w *weaver) optional(text string) {
	if w.source() == text {
		w.tok(text)
	} else {
		w.text(text)
	}
}

// trailingComma prints the comma after the last item of a list that is broken.
func (w *weaver) trailingComma() {
	if w.source() == "," {
		w.skip()
	}
	w.ops = append(w.ops, op{opIfBreak, ","})
}

// flushHere prints the comments that wait where no line was to break.
func (w *weaver) flushHere(next string) {
	broken := false
	for _, c := range w.waiting {
		switch {
		case c.place == leading:
			if broken {
				w.emit(opHard)
				w.last, broken = "", false
			}
			if w.last != "" && !strings.HasSuffix(w.last, " ") && !strings.Contains("([", w.last) {
				w.space()
			}
			w.text(c.text)
			if !strings.Contains(")],;", next) {
				w.space()
			}
			continue
		case c.place == own:
			w.emit(opHard)
		default:
			w.space()
		}
		w.text(c.text)
		broken = true
	}
	if broken {
		w.emit(opHard)
		w.last = ""
	}
	w.waiting = w.waiting[:0]
}

// line prints a place where the line may break, with the comments before the next token.
func (w *weaver) line(k opKind) { w.breakLine(k, false, false) }

// itemLine prints the new line before a statement, an arm or a declaration; an empty line of the
// source stays, except before the first of them.
func (w *weaver) itemLine(first bool) { w.breakLine(opHard, !first, false) }

// closeLine prints the place before a closing bracket, where the indentation ends. Comments there
// still have it.
func (w *weaver) closeLine(k opKind) { w.breakLine(k, false, true) }

// closeItems is closeLine after statements or arms: an empty line before the first comment stays.
func (w *weaver) closeItems() { w.breakLine(opHard, true, true) }

func (w *weaver) breakLine(k opKind, keepBlank, dedent bool) {
	w.look()
	i := 0
	for ; i < len(w.waiting); i++ {
		c := w.waiting[i]
		if c.place == leading && !(dedent && k == opHard) { // nothing leads the brace that ends a block
			break
		}
		switch {
		case c.place == trailing:
			w.space()
			w.text(c.text)
		case c.blank && (keepBlank || i > 0):
			w.emit(opBlank)
			w.text(c.text)
		default:
			w.emit(opHard)
			w.text(c.text)
		}
	}
	if dedent {
		w.emit(opDedent)
	}
	rest := w.waiting[i:]
	blank := w.blank
	if len(rest) > 0 {
		blank = rest[0].blank
		if dedent && k == opSoft { // `(x /* why */)`
			k = opLine
		}
	}
	switch {
	case blank && !dedent && (keepBlank || i > 0 && k == opHard):
		w.emit(opBlank)
	case i > 0:
		w.emit(opHard)
	default:
		w.emit(k)
	}
	w.waiting = append(w.waiting[:0], rest...) // tok prints those that lead it
	w.last = ""
}

// commentsAhead reports whether comments stand before the next token.
func (w *weaver) commentsAhead() bool {
	w.look()
	return len(w.waiting) > 0
}
