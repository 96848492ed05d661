package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"healc/codegen/target/profile"
)

// TestTuning: each constant that a page of docs/tuning says it decided is a field of a profile, or in the code under
// that name, each page is in
// the list of them, and each page that the code refers to is there.
func TestTuning(t *testing.T) {
	_, code := sources(t)
	words := map[string]bool{}
	word := regexp.MustCompile(`\w+`)
	for _, f := range profile.Fields() {
		words[f.Name] = true
		if _, err := os.Stat(filepath.Join("../docs/tuning", f.Page+".md")); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	page := regexp.MustCompile(`docs/(?:[\w-]+/)*[\w-]+\.md`)
	for name, text := range code {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, w := range word.FindAllString(text, -1) {
			words[w] = true
		}
		for _, p := range page.FindAllString(text, -1) {
			if _, err := os.Stat(filepath.Join("..", p)); err != nil {
				t.Errorf("%s refers to %s, which is not there", name, p)
			}
		}
	}
	list, err := os.ReadFile("../docs/tuning/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../docs/tuning/*.md")
	if err != nil {
		t.Fatal(err)
	}
	decided := 0
	for _, file := range files {
		name := filepath.Base(file)
		if name != "README.md" && !strings.Contains(string(list), "("+name+")") {
			t.Errorf("docs/tuning/README.md does not list %s", name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, constant := range constants(string(text)) {
			decided++
			if !words[constant] {
				t.Errorf("%s: %s is a name of nothing in the code", file, constant)
			}
		}
	}
	if decided < 50 {
		t.Errorf("the pages name only %d constants", decided)
	}
}

// constants are the names in the first column of the table that begins with `| constant |`.
func constants(page string) []string {
	_, table, ok := strings.Cut(page, "\n| constant |")
	if !ok {
		return nil
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var out []string
	for _, row := range strings.Split(table, "\n|")[2:] {
		first, _, _ := strings.Cut(row, "|")
		for _, m := range regexp.MustCompile("`([\\w.]+)`").FindAllStringSubmatch(first, -1) {
			out = append(out, m[1])
		}
	}
	return out
}
