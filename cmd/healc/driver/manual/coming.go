package manual

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"healc/docs"
)

// ComingPage is a page of docs/coming: what those who come from another system know, and what is written here.
type ComingPage struct {
	Name   string // of the file, without folder and ending
	System string // "NumPy"
	Values []ComingValue
	Rows   []ComingRow
}

// ComingValue is a name that the tables of a page use.
type ComingValue struct{ Name, There, Here string }

// ComingRow is one row of the tables of a page.
type ComingRow struct {
	Line    int    // in the page, from 1
	Section string // the heading above its table
	There   string // an expression, or statements, of the other system
	Here    string // an expression of Heal, or a declaration
	Gives   string // what `print` writes of Here, on one line; "" for a declaration, or where nothing is named
	Note    string // Markdown
}

// ComingPages are the pages of docs/coming, sorted by name.
var ComingPages = sync.OnceValue(func() []ComingPage {
	names, err := fs.Glob(docs.Pages, "coming/*.md")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var out []ComingPage
	for _, name := range names {
		text, err := fs.ReadFile(docs.Pages, name)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		if base := strings.TrimSuffix(path.Base(name), ".md"); base != "README" {
			out = append(out, readComing(base, string(text)))
		}
	}
	return out
})

// readComing reads a page: its title is `Coming from SYSTEM`, its tables have a column for that system and the column
// `here`, and that of values begins with `name`.
func readComing(name, text string) ComingPage {
	p := ComingPage{Name: name}
	section := ""
	var head []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		if title, ok := strings.CutPrefix(line, "# Coming from "); ok {
			p.System = title
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if !strings.HasPrefix(line, "|") {
			head = nil
			continue
		}
		row := tableCells(line)
		switch {
		case head == nil:
			head = row
		case strings.HasPrefix(line, "|---"):
		case len(row) != len(head):
			panic(fmt.Sprintf("BUG: docs/coming/%s.md:%d has %d cells and not %d", name, n, len(row), len(head)))
		case slices.Equal(head, []string{"name", p.System, "here"}):
			p.Values = append(p.Values, ComingValue{codeIn(row[0]), codeIn(row[1]), codeIn(row[2])})
		case slices.Equal(head, []string{p.System, "here", "gives", ""}):
			p.Rows = append(p.Rows, ComingRow{Line: n, Section: section, There: codeIn(row[0]), Here: codeIn(row[1]),
				Gives: codeIn(row[2]), Note: row[3]})
		}
	}
	return p
}

// tableCells cuts a row of a table of Markdown at its bars; `\|` is a bar in a cell.
func tableCells(line string) []string {
	line = strings.ReplaceAll(strings.Trim(line, " "), `\|`, "\x00")
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	var out []string
	for cell := range strings.SplitSeq(line, "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
	}
	return out
}

// codeIn is what stands in the backticks of a cell, "" where it is no code.
func codeIn(cell string) string {
	fence := cell[:len(cell)-len(strings.TrimLeft(cell, "`"))]
	if fence == "" || !strings.HasSuffix(cell, fence) || len(cell) < 2*len(fence) {
		return ""
	}
	return strings.TrimSpace(cell[len(fence) : len(cell)-len(fence)])
}

// Markdown is the row as it stands in its page.
func (r ComingRow) Markdown() string {
	cell := func(code string) string {
		if code == "" {
			return ""
		}
		fence := "`"
		if strings.Contains(code, "`") {
			fence = "``"
		}
		return fence + strings.ReplaceAll(code, "|", `\|`) + fence
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", cell(r.There), cell(r.Here), cell(r.Gives),
		strings.ReplaceAll(r.Note, "|", `\|`))
}

// Anchor is the name by which links find a heading.
func Anchor(heading string) string {
	name := anchorLeaves().ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
	return strings.ReplaceAll(name, " ", "-")
}

var anchorLeaves = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\w\- ]`) })
