package manual

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"healc/docs"
)

// chapter is a part of a document: a heading and what stands below it.
type chapter struct {
	title   string // without number
	heading string
	text    string // Markdown, with the heading
}

// chapters are the parts of docs/language.md.
var chapters = sync.OnceValue(func() []chapter { return cut(docs.Language, "## ", "### ") })

// cut cuts a document at the headings that begin so.
func cut(text string, marks ...string) []chapter {
	var out []chapter
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		for _, mark := range marks {
			if heading, ok := strings.CutPrefix(line, mark); ok && !fenced {
				heading = strings.TrimSpace(heading)
				out = append(out, chapter{headingNumber().ReplaceAllString(heading, ""), heading, ""})
			}
		}
		if len(out) > 0 {
			out[len(out)-1].text += line
		}
	}
	return out
}

var headingNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\. `) })

// paragraph is a paragraph, an entry of a list or a row of a table in the reference.
type paragraph struct {
	text    string
	chapter int      // the number of its chapter
	names   []string // those in its code
}

// paragraphs are those of the reference that have code in them.
var paragraphs = sync.OnceValue(func() []paragraph {
	var out []paragraph
	for i, s := range chapters() {
		fenced := false
		var par []string
		end := func() {
			p := paragraph{text: strings.Join(par, "\n"), chapter: i}
			for _, m := range inBackticks().FindAllStringSubmatch(p.text, -1) {
				p.names = append(p.names, identifiers().FindAllString(m[1], -1)...)
			}
			if p.names != nil {
				out = append(out, p)
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
})

// mentions are the paragraphs and the rows of tables in the reference that name a function in code.
func mentions(name string) []string {
	var out []string
	for _, p := range paragraphs() {
		if slices.Contains(p.names, name) {
			out = append(out, p.text)
		}
	}
	return out
}

// chapterWith is the anchor of the first section of the reference that names a function in code, "" for none.
func chapterWith(name string) string {
	for _, p := range paragraphs() {
		if slices.Contains(p.names, name) {
			return Anchor(chapters()[p.chapter].heading)
		}
	}
	return ""
}

var (
	identifiers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`) })
	inBackticks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`\n]+)`") })
)
