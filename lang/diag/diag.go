package diag

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Code names a kind of error, such as E0203. A code keeps its meaning forever; codes.go lists them.
type Code string

// Severity tells errors, which stop the program, from warnings, which do not.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

// Label is a place with a short text under its marks.
type Label struct {
	Span Span
	Text string
}

// Diagnostic is one message to the user. Render turns it into text, JSON marshals it.
type Diagnostic struct {
	Code     Code
	Severity Severity
	Message  string   // one lower-case clause, actual shapes and dtypes in it
	Primary  Label    // where
	Related  []Label  // other places that matter
	Notes    []string // lines shown after "= "; aligned shapes come here, one line each
	Help     string   // how to fix it, or ""
	Fix      *Fix     // the one replacement that Help says, or nil
}

// Fix is a text to write in the place of another.
type Fix struct {
	Span Span
	Text string
}

// Title says what the fix does.
func (f *Fix) Title() string {
	switch {
	case f.Text == "":
		return "leave out `" + f.Span.Text() + "`"
	case f.Span.Start == f.Span.End:
		return "add `" + strings.TrimSpace(f.Text) + "`"
	}
	return "write `" + f.Text + "`"
}

// Places are the Related places and, after them, the calls through which code of another file, a library's, came to be
// where it failed.
func (d *Diagnostic) Places() []Label {
	out := slices.Clone(d.Related)
	for c := d.Primary.Span.Caller; c != nil; c = c.Caller {
		out = append(out, Label{*c, "called here"})
	}
	return out
}

// Brief is d without the middle of words that nobody reads to their end, as a name of a million letters.
func (d *Diagnostic) Brief() *Diagnostic {
	out := *d
	out.Message, out.Help, out.Primary.Text = brief(d.Message), brief(d.Help), brief(d.Primary.Text)
	out.Related, out.Notes = slices.Clone(d.Related), slices.Clone(d.Notes)
	for i := range out.Related {
		out.Related[i].Text = brief(out.Related[i].Text)
	}
	for i, n := range out.Notes {
		out.Notes[i] = brief(n)
	}
	return &out
}

// maxWord is how many bytes of a word a message has.
const maxWord = 200

// brief cuts the words of a text that are longer than maxWord.
func brief(s string) string {
	if len(s) <= maxWord {
		return s
	}
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' || r == '\n' }) {
		start := len(s) - len(strings.TrimLeft(s, " \n"))
		b.WriteString(s[:start])
		s = s[start+len(word):]
		if len(word) > maxWord {
			word = strings.ToValidUTF8(word[:maxWord/2]+"..."+word[len(word)-maxWord/4:], "")
		}
		b.WriteString(word)
	}
	return b.String() + s
}

// List is the diagnostics of one run. As an error it prints all of them without colour.
type List struct {
	Items []*Diagnostic
	More  int // errors that were found and are not in Items, since nobody reads so many

	MoreWarnings int // warnings likewise
}

// MaxWarnings is how many warnings of a file are shown.
const MaxWarnings = 100

// AddWarnings appends the first MaxWarnings of ds and counts the others.
func (l *List) AddWarnings(ds []*Diagnostic) {
	shown := min(len(ds), MaxWarnings)
	l.Items = append(l.Items, ds[:shown]...)
	l.MoreWarnings += len(ds) - shown
}

// Add appends d.
func (l *List) Add(d *Diagnostic) { l.Items = append(l.Items, d) }

// AddUpTo appends d, or only counts it where l has n items already.
func (l *List) AddUpTo(n int, d *Diagnostic) {
	if len(l.Items) < n {
		l.Add(d)
	} else {
		l.More++
	}
}

// NotShown says, in a line for each severity, how much was found that is not in Items.
func (l *List) NotShown() (errors, warnings string) {
	say := func(n int, what string) string {
		switch n {
		case 0:
			return ""
		case 1:
			return "1 more " + what + " is not shown"
		}
		return fmt.Sprintf("%d more %ss are not shown", n, what)
	}
	return say(l.More, "error"), say(l.MoreWarnings, "warning")
}

// HasErrors reports whether any item is an error.
func (l *List) HasErrors() bool {
	for _, d := range l.Items {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Err returns l as an error when it holds an error, else nil.
func (l *List) Err() error {
	if l == nil || !l.HasErrors() {
		return nil
	}
	return l
}

// Sort orders the items by file and position and drops exact repeats.
func (l *List) Sort() {
	sort.SliceStable(l.Items, func(i, j int) bool {
		a, b := l.Items[i].Primary.Span, l.Items[j].Primary.Span
		an, bn := a.Pos().File, b.Pos().File
		if an != bn {
			return an < bn
		}
		return a.Start < b.Start
	})
	var out []*Diagnostic
	for _, d := range l.Items {
		if n := len(out); n > 0 && out[n-1].Code == d.Code && out[n-1].Primary.Span.Place() == d.Primary.Span.Place() &&
			out[n-1].Message == d.Message {
			continue
		}
		out = append(out, d)
	}
	l.Items = out
}

func (l *List) Error() string {
	var b strings.Builder
	for i, d := range l.Items {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(Render(d, false))
	}
	if more, _ := l.NotShown(); more != "" {
		fmt.Fprintf(&b, "\n%s\n", more)
	}
	return b.String()
}
