package manual

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"healc/docs"
	"healc/ir"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/stdlib"
)

// Entry is something that can be found: by `healc doc WORDS`, and on the site.
type Entry struct {
	Name    string `json:"name"`    // what it is called, here or elsewhere
	Kind    string `json:"kind"`    // "function", "library", "operation", "section", "error", or a system: "NumPy"
	Summary string `json:"summary"` // a line
	Show    string `json:"-"`       // what `healc doc` shows it by
	Page    string `json:"page"`    // where it stands in the repository, with `#heading`

	names []string // the words that it is found by first
	text  string   // the words that it is found by, too
}

// Index lists what can be found.
var Index = sync.OnceValue(func() []Entry {
	var out []Entry
	for _, f := range check.Functions() {
		e := Entry{Name: f.Name, Kind: "function", Summary: f.Signature, Show: f.Name, Page: "docs/language.md"}
		lines := mentions(f.Name)
		if at := chapterWith(f.Name); at != "" {
			e.Page += "#" + at
		}
		if op := operationOf(f); op != nil {
			e.Summary += ": " + op.Summary
			e.text = op.Summary
		}
		e.names, e.text = []string{f.Name}, e.text+" "+strings.Join(lines[:min(len(lines), 1)], " ")
		out = append(out, e)
	}
	for _, module := range stdlib.Names() {
		l, _ := LookupLibrary(module)
		out = append(out, Entry{Name: module, Kind: "library", Summary: firstSentence(l.Doc), Show: module,
			Page: "docs/library.md#" + Anchor(module), names: []string{module}, text: l.Doc})
		for _, d := range l.Entries {
			name := module + "." + d.Name
			out = append(out, Entry{Name: name, Kind: "library", Summary: firstSentence(d.Doc), Show: name,
				Page:  "docs/library.md#" + Anchor(strings.TrimPrefix(d.Signature, "pub ")),
				names: []string{d.Name}, text: module + " " + d.Doc})
		}
	}
	out = append(out, elsewhere()...)
	for _, p := range pages() {
		for _, s := range p.sections() {
			e := Entry{Name: s.title, Kind: "section", Summary: path.Base(p.name) + ": " + p.title, Show: s.title,
				Page: "docs/" + p.name, names: strings.Fields(s.title), text: prose(s.text)}
			if p.name != "language.md" {
				e.Show = p.name + "#" + Anchor(s.title)
			}
			if s.title != p.title {
				e.Page += "#" + Anchor(s.heading)
			}
			out = append(out, e)
		}
	}
	for _, d := range diag.Entries() {
		out = append(out, Entry{Name: string(d.Code), Kind: "error", Summary: d.Title, Show: string(d.Code),
			Page: "docs/errors/" + string(d.Code) + ".md", names: []string{string(d.Code)},
			text: d.Title + " " + d.Text})
	}
	for _, op := range ir.Ops() {
		if _, ok := check.LookupFunction(op.Name); ok || op.Example == "" {
			continue // the function tells of it, or no program can spell it
		}
		out = append(out, Entry{Name: op.Name, Kind: "operation", Summary: op.Summary, Show: op.Name,
			Page: "ir/OPS.md#" + Anchor(op.Name), names: []string{op.Name}, text: op.Surface + " " + op.Summary})
	}
	return out
})

// elsewhere are the rows of the pages for those who come from another system, and the names that the checker knows
// besides.
func elsewhere() []Entry {
	var out []Entry
	rows := map[string]bool{}
	for _, p := range ComingPages() {
		for _, r := range p.Rows {
			summary := r.Here
			if r.Note != "" {
				summary = strings.TrimPrefix(summary+"; "+r.Note, "; ")
			}
			e := Entry{Name: r.There, Kind: p.System, Summary: summary, names: r.Names(p),
				text: r.Section + " " + r.Note, Page: "docs/coming/" + p.Name + ".md#" + Anchor(r.Section)}
			for _, name := range e.names {
				rows[name] = true
			}
			out = append(out, e)
		}
	}
	for _, f := range check.ForeignNames() {
		if !rows[f.Name] {
			out = append(out, Entry{Name: f.Name, Kind: "elsewhere", Summary: f.Here, names: []string{f.Name},
				Page: "docs/coming/README.md"})
		}
	}
	return out
}

// Names are what a row is found by: the names of the other system in its expression and in its note.
func (r ComingRow) Names(p ComingPage) []string {
	leave := map[string]bool{"np": true, "jnp": true, "jax": true, "lax": true, "f32": true, "i32": true, "i64": true,
		"lambda": true, "def": true, "let": true, "in": true, "for": true, "copy": true, "single": true}
	for _, v := range p.Values {
		leave[v.Name] = true
	}
	var out []string
	add := func(code string) {
		code = quoted().ReplaceAllString(code, "")
		for _, at := range identifiers().FindAllStringIndex(code, -1) {
			name := code[at[0]:at[1]]
			if rest := code[at[1]:]; strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") {
				continue // an argument by its name
			}
			if len(name) > 1 && !leave[name] && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	add(r.There)
	for _, m := range inBackticks().FindAllStringSubmatch(r.Note, -1) {
		if identifiers().FindString(m[1]) == m[1] {
			add(m[1])
		}
	}
	return out
}

var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[^"]*"`) })

// page is a document of docs.
type page struct{ name, title, text string }

// pages are the documents for users, but for those of error codes, which are made from their table.
var pages = sync.OnceValue(func() []page {
	var out []page
	err := fs.WalkDir(docs.Pages, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(docs.Pages, name)
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		out = append(out, page{name, title, string(text)})
		return err
	})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return out
})

// prose is a text of Markdown without its blocks of code.
func prose(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sections are what stands below each heading of a page; the first is called as the page.
func (p page) sections() []chapter {
	return cut(p.text, "# ", "## ", "### ")
}
