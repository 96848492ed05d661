package tests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/cmd/healc/driver/manual"
)

// TestIndex: what `healc doc` and the search of the site find is there, below the heading that they name. `make site`
// checks every link of every page; it needs goldmark, which is downloaded for it.
func TestIndex(t *testing.T) {
	headings := map[string][]string{}
	for _, e := range manual.Index() {
		name, anchor, _ := strings.Cut(e.Page, "#")
		if headings[name] == nil {
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
			if err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
			headings[name] = append(anchors(string(text)), "")
		}
		if e.Kind == "operation" {
			continue // the site writes that page of the table
		}
		if !slices.Contains(headings[name], anchor) {
			t.Errorf("%s (%s) is at %s, and no heading is called that", e.Name, e.Kind, e.Page)
		}
	}
	if len(headings) < 80 {
		t.Errorf("the index has %d documents", len(headings))
	}
}

// TestContents: the contents of the site name every document for users.
func TestContents(t *testing.T) {
	source, err := os.ReadFile("../internal/site/site.go")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil || len(documents) < 15 {
		t.Fatalf("%d documents: %v", len(documents), err)
	}
	for _, name := range documents {
		if name = filepath.ToSlash(strings.TrimPrefix(name, "../")); !strings.Contains(string(source), `"`+name+`"`) {
			t.Errorf("the table of contents in internal/site/site.go does not name %s", name)
		}
	}
}
