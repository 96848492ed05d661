// Package manual shows what healc knows of the language: the reference, the library, and the pages of error codes. It
// is `healc doc` and `healc explain CODE`, and makes the pages of docs/ that are generated.
package manual

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"healc/cmd/healc/driver"
	"healc/ir"
	"healc/lang/check"
	"healc/lang/lexer"
	"healc/lang/types"
	"healc/stdlib"
)

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
	for _, p := range pages() {
		for _, c := range p.sections() {
			if p.name == name && c.title == p.title || p.name+"#"+Anchor(c.title) == name {
				part()
				fmt.Fprintln(b, strings.TrimSpace(c.text))
			}
		}
	}
	entries, most := Find(name)
	if found {
		if rows := elsewhereCalled(entries, name); len(rows) > 0 {
			fmt.Fprintf(b, "\nWhat other systems call `%s`:\n", name)
			list(b, rows)
		}
		return b.Flush()
	}
	e := driver.Usagef("the manual has nothing about `%s`", name)
	e.Help = "`healc doc` lists what it has"
	near := driver.Nearest(name, documented())
	module, _, dotted := strings.Cut(name, ".")
	_, library := LookupLibrary(module)
	switch {
	case library && dotted && near == "":
		e.Help = fmt.Sprintf("`healc doc %s` lists what the module has", module)
	case most == 100, most >= 50 && near == "":
		fmt.Fprintf(b, "Nothing here is called `%s`. The nearest:\n", name)
		list(b, entries[:min(len(entries), 7)])
		return b.Flush()
	case near != "":
		e.Help = fmt.Sprintf("did you mean `healc doc %s`?", asArgument(near))
	}
	return e
}

// elsewhereCalled are those of the entries that other systems call by a name, and that are written otherwise here.
func elsewhereCalled(entries []Entry, name string) []Entry {
	var out []Entry
	for _, e := range entries {
		here, _, _ := strings.Cut(e.Summary, "; ")
		same := slices.Contains(identifiers().FindAllString(here, -1), name)
		if e.Show == "" && slices.Contains(e.names, name) && !same {
			out = append(out, e)
		}
	}
	return out[:min(len(out), 4)]
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
	fmt.Fprintln(w, "Error codes have pages, too: healc doc E0203. Any words are searched for, with those of\n"+
		"NumPy, JAX, Futhark and MATLAB: healc doc einsum.")
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
	op := operationOf(f)
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

// operationOf is the operation that a function is, or nil.
func operationOf(f check.Function) *ir.OpDef {
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
	return op
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
