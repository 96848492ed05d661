package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReferences: every link between documents leads to a file, and to a heading where it names one; every Note
// that a comment or a document names is there, once.
func TestReferences(t *testing.T) {
	pages, code := sources(t)
	headings := map[string][]string{}
	for name, text := range pages {
		headings[name] = anchors(text)
	}
	notes := map[string]string{} // the file of each
	for name, text := range code {
		for _, n := range notesIn(text) {
			if other := notes[n]; other != "" {
				t.Errorf("Note [%s] is in %s and in %s", n, other, name)
			}
			notes[n] = name
		}
	}
	if len(pages) < 10 || len(notes) < 100 {
		t.Fatalf("%d documents and %d Notes are found", len(pages), len(notes))
	}
	link := regexp.MustCompile(`\[[^\]\n]*\]\(([^)\s]+)\)`)
	fence := regexp.MustCompile("(?sm)```.*?```|`[^`\n]*`|^    [^\n]*")
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if anchor != "" && !slices.Contains(headings[target], anchor) {
				t.Errorf("%s links to %s, and no heading of %s is called that", name, m[1], target)
			}
		}
	}
	reference := regexp.MustCompile(`Note \[([^\]\n]+)\]`)
	lineEnd := regexp.MustCompile(`\n[ \t]*(?://|#)?[ \t]*`) // a name may go on in the next line of a comment
	for _, files := range []map[string]string{pages, code} {
		for name, text := range files {
			for _, m := range reference.FindAllStringSubmatch(lineEnd.ReplaceAllString(text, " "), -1) {
				if notes[m[1]] == "" && name != "tests/references_test.go" {
					t.Errorf("%s names Note [%s], which is not there", name, m[1])
				}
			}
		}
	}
}

// sources are the documents and the files with comments of the repository, by path.
func sources(t *testing.T) (pages, code map[string]string) {
	t.Helper()
	pages, code = map[string]string{}, map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (strings.HasPrefix(name, ".") && name != ".." || path == "../bin" ||
			path == "../dist") {
			return filepath.SkipDir
		}
		into := map[string]map[string]string{".md": pages, ".go": code, ".c": code, ".h": code, ".heal": code,
			".sh": code, ".py": code}[filepath.Ext(path)]
		if into == nil {
			return nil
		}
		text, err := os.ReadFile(path)
		into[strings.TrimPrefix(filepath.ToSlash(path), "../")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages, code
}

// anchors are the names by which links find the headings of a document.
func anchors(text string) []string {
	var out []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if title := strings.TrimLeft(line, "#"); !fenced && title != line && strings.HasPrefix(title, " ") {
			name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			out = append(out, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return out
}

// notesIn are the Notes of a file: each begins a paragraph of a comment.
func notesIn(text string) []string {
	begins := regexp.MustCompile(`^\s*(?://|#|/\*)\s*Note \[([^\]]+)\]`)
	prose := regexp.MustCompile(`^\s*(?://|#)\s*\S`)
	var out []string
	before := ""
	for line := range strings.Lines(text) {
		if m := begins.FindStringSubmatch(line); m != nil && !prose.MatchString(before) {
			out = append(out, m[1])
		}
		before = line
	}
	return out
}
