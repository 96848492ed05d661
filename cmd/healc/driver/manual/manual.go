// Package manual shows what healc knows of the language: the reference, the library, and the pages of error codes. It
// is `healc doc` and `healc explain CODE`, and makes the pages of docs/ that are generated.
package manual

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"healc/cmd/healc/driver"
	"healc/docs"
	"healc/ir"
	"healc/lang/check"
	"healc/lang/lexer"
	"healc/lang/types"
	"healc/stdlib"
)

// chapter is a part of the reference of the language: a heading and what stands below it.
type chapter struct {
	title string // without number
	text  string // Markdown, with the heading
}

// chapters cuts docs/language.md at its headings.
func chapters() []chapter {
	var out []chapter
	fenced := false
	for line := range strings.Lines(docs.Language) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title, ok := strings.CutPrefix(line, "## ")
		if !ok {
			title, ok = strings.CutPrefix(line, "### ")
		}
		if ok && !fenced {
			out = append(out, chapter{title: headingNumber().ReplaceAllString(strings.TrimSpace(title), "")})
		}
		if len(out) > 0 {
			out[len(out)-1].text += line
		}
	}
	return out
}

var headingNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\. `) })

// topics says in which section of the reference a word of the language is explained: how its title starts.
var topics = map[string]string{
	"fn": "Declarations", "pub": "Declarations", "const": "Declarations", "return": "Declarations",
	"@io": "Declarations", "@kernel": "Declarations", "import": "Modules", "test": "Tests",
	"num": "Type parameters", "int": "Type parameters", "float": "Type parameters", "tuple": "Type parameters",
	"let": "Expressions", "in": "Expressions", "if": "Expressions", "else": "Expressions",
	"mut": "Variables", "match": "match", "as": "Types", "unit": "Types", "string": "Types",
	"true": "Lexical structure", "false": "Lexical structure",
	"..": "Tensors", "..=": "Tensors", "[": "Tensors", "]": "Tensors",
}

// topic is the start of the title of the section that explains a keyword, an operator or a type, or "".
func topic(word string) string {
	if t := topics[word]; t != "" {
		return t
	}
	if _, ok := types.ParseDType(word); ok {
		return "Types"
	}
	switch {
	case !slices.Contains(lexer.Operators, word):
		return ""
	case len(word) > 1 && strings.HasSuffix(word, "/"):
		return "Reductions"
	case strings.HasSuffix(word, "=") && strings.Contains("+= -= *= /= .+= .-= .*= ./=", word) && word != "=":
		return "Variables"
	}
	return "Expressions"
}

// Print writes what there is to say of a name: a section of the reference, a function or operator of the
// language, an operation of the IR, a module of the library or a name in one, or an error code. With "" it
// writes what there is.
func Print(w io.Writer, name string) error {
	b := bufio.NewWriter(w)
	if name == "" {
		contents(b)
		return b.Flush()
	}
	if driver.IsCode(name) {
		return ErrorPage(w, name)
	}
	found := false
	part := func() {
		if found {
			fmt.Fprintln(b)
		}
		found = true
	}
	if f, ok := check.LookupFunction(name); ok {
		part()
		function(b, f)
	}
	for _, s := range chapters() {
		first, _, _ := strings.Cut(s.title, ",") // of "Reductions, scans, loops"
		if strings.EqualFold(s.title, name) || strings.EqualFold(first, name) || topic(name) != "" &&
			strings.HasPrefix(s.title, topic(name)) {
			part()
			fmt.Fprintln(b, strings.TrimSpace(s.text))
		}
	}
	if op := ir.Lookup(name); op != nil && op.Surface != name {
		part()
		fmt.Fprintln(b, op.Manual())
	}
	if l, ok := LookupLibrary(name); ok {
		part()
		l.page(b)
	}
	for _, module := range stdlib.Names() {
		l, _ := LookupLibrary(module)
		for _, e := range l.Entries {
			if module+"."+e.Name == name || e.Name == name {
				part()
				e.page(b, module)
			}
		}
	}
	if found {
		return b.Flush()
	}
	e := driver.Usagef("the manual has nothing about `%s`", name)
	e.Help = "`healc doc` lists what it has"
	module, _, _ := strings.Cut(name, ".")
	if form, ok := check.Foreign(name); ok {
		e.Help = fmt.Sprintf("here one writes `%s`", form)
	} else if near := driver.Nearest(name, documented()); near != "" {
		e.Help = fmt.Sprintf("did you mean `healc doc %s`?", asArgument(near))
	} else if _, ok := LookupLibrary(module); ok {
		e.Help = fmt.Sprintf("`healc doc %s` lists what the module has", module)
	} else if title := sectionAbout(name); title != "" {
		e.Help = fmt.Sprintf("did you mean `healc doc %s`?", asArgument(title))
	}
	return e
}

// sectionAbout is the title of the first section with a word in it that starts as name does, or "".
func sectionAbout(name string) string {
	for _, s := range chapters() {
		for word := range strings.FieldsSeq(s.title) {
			if len(name) >= 3 && len(word) >= len(name) && strings.EqualFold(word[:len(name)], name) {
				return s.title
			}
		}
	}
	return ""
}

// asArgument is a name as it is given to `healc doc`, which takes one.
func asArgument(name string) string {
	if strings.Contains(name, " ") {
		return "'" + name + "'"
	}
	return name
}

// documented lists the names that Manual knows, for the nearest one.
func documented() []string {
	var out []string
	for _, f := range check.Functions() {
		out = append(out, f.Name)
	}
	out = append(out, lexer.Keywords...)
	for _, s := range chapters() {
		out = append(out, s.title)
	}
	for _, name := range stdlib.Names() {
		out = append(out, name)
		l, _ := LookupLibrary(name)
		for _, e := range l.Entries {
			out = append(out, e.Name, name+"."+e.Name)
		}
	}
	for _, op := range ir.Ops() {
		out = append(out, op.Name)
	}
	return out
}

// contents lists what the manual has.
func contents(w io.Writer) {
	list := func(title string, names []string) {
		fmt.Fprintf(w, "%s\n", title)
		for _, l := range wrap(strings.Join(names, "  "), 96) {
			fmt.Fprintf(w, "  %s\n", l)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "healc doc NAME shows one of these.\n\nThe language, in the order in which one learns it\n")
	for _, s := range chapters() {
		fmt.Fprintf(w, "  %s\n", s.title)
	}
	fmt.Fprintln(w)
	list("Keywords", lexer.Keywords)
	var functions []string
	for _, f := range check.Functions() {
		functions = append(functions, f.Name)
	}
	list("Functions of the language", functions)
	fmt.Fprintln(w, "Modules of the library")
	for _, name := range stdlib.Names() {
		l, _ := LookupLibrary(name)
		fmt.Fprintf(w, "  %-8s %s\n", name, firstSentence(l.Doc))
	}
	var ops []string
	for _, op := range ir.Ops() {
		ops = append(ops, op.Name)
	}
	fmt.Fprintln(w)
	list("Operations of the tensor IR", ops)
	fmt.Fprintln(w, "Error codes have pages, too: healc doc E0203.")
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// function writes the page of a function of the language: its signature, what the table of operations has
// of it, and what the reference says of it.
func function(w io.Writer, f check.Function) {
	fmt.Fprintln(w, f.Signature)
	op := f.Op
	if op == nil {
		for _, o := range ir.Ops() {
			// The name of an operation may be that of another function: `permute` is written `permute_axes`.
			_, other := check.LookupFunction(o.Surface)
			if o.Surface == f.Name || o.Name == f.Name && !other {
				op = o
			}
		}
	}
	if op != nil {
		fmt.Fprintf(w, "\n%s\n", op.Summary)
		for _, c := range op.Constraints {
			if op.Class == ir.Host {
				break // what the checker writes into the operation, such as the form of a text, is none of a program's
			}
			// What an operation asks to be of one shape, the function brings there.
			fmt.Fprintf(w, "- %s\n", strings.Replace(c.Text, "share one shape", "broadcast", 1))
		}
		if op.Example != "" {
			fmt.Fprintf(w, "\n    %s\n", op.Example)
		}
	}
	if lines := mentions(f.Name); len(lines) > 0 {
		fmt.Fprintln(w, "\nFrom the reference:")
		for _, l := range lines {
			fmt.Fprintf(w, "\n%s\n", l)
		}
	}
}

// mentions are the paragraphs and the rows of tables in the reference that name a function in code.
func mentions(name string) []string {
	code := regexp.MustCompile("`[^`\n]*\\b" + regexp.QuoteMeta(name) + "\\b[^`\n]*`")
	var out []string
	for _, s := range chapters() {
		fenced := false
		var par []string
		end := func() {
			if text := strings.Join(par, "\n"); code.MatchString(text) {
				out = append(out, text)
			}
			par = nil
		}
		for line := range strings.Lines(s.text) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
				continue
			}
			if line == "" || fenced || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "- ") {
				end()
			}
			if line != "" && !fenced {
				par = append(par, line)
			}
			if strings.HasPrefix(line, "|") {
				end()
			}
		}
		end()
	}
	return out
}

// page writes the documentation of a module.
func (l *Library) page(w io.Writer) {
	fmt.Fprintf(w, "import %s\n\n", l.Name)
	for _, line := range wrap(l.Doc, 100) {
		fmt.Fprintln(w, line)
	}
	for _, e := range l.Entries {
		fmt.Fprintln(w)
		e.page(w, l.Name)
	}
}

func (e LibraryEntry) page(w io.Writer, module string) {
	fmt.Fprintln(w, strings.Replace(e.Signature, e.Name, module+"."+e.Name, 1))
	for _, line := range wrap(e.Doc, 96) {
		fmt.Fprintf(w, "    %s\n", line)
	}
}
