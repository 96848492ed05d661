package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSite: the documents of the repository become a site without a broken link, and the search knows them.
func TestSite(t *testing.T) {
	s, err := build("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{
		"index.html":                "<h1 id=\"heal\">Heal</h1>",
		"docs/language.html":        "<i class=\"k\">fn</i>",
		"docs/errors/E0203.html":    "E0203",
		"ir/OPS.html":               "<h3 id=\"reduce_sum\">",
		"docs/coming/numpy.html":    "<h2 id=\"indexing\">",
		"examples/digits.heal.html": "<i class=\"c\">#",
		"index.js":                  "einsum",
	} {
		if !strings.Contains(string(s.files[file]), want) {
			t.Errorf("%s does not have %s", file, want)
		}
	}
}

// TestBroken: a link to nothing, to no heading, and something that is read from a network are errors.
func TestBroken(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a.md": "# A\n\n[b](b.md) [b](b.md#there) [a](#a)\n", "b.md": "# B\n\n## There\n",
		"c.md": "# C\n\n[b](b.md#here)\n", "d.md": "# D\n\n[e](e.md)\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a.md": "", "c.md": "no heading is called that", "d.md": "e.md: ",
	} {
		s := &site{root: root, pages: map[string]*page{}, files: map[string][]byte{}, known: map[string]bool{}}
		s.want(name)
		err := s.addAll()
		if err == nil {
			err = s.check()
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, not %s", name, err, want)
		}
	}
	s := &site{pages: map[string]*page{"x.html": {}}, files: map[string][]byte{
		"x.html": []byte(`<script src="https://example.org/x.js">`)}}
	if s.check() == nil {
		t.Error("a script from a network is no error")
	}
}

// TestRelative: addresses between pages.
func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"index.html", "docs/cli.html", "docs/cli.html"}, {"docs/cli.html", "index.html", "../index.html"},
		{"docs/errors/E0203.html", "docs/cli.html", "../cli.html"}, {"docs/a.html", "docs/b.html", "b.html"},
		{"ir/OPS.html", "docs/a.html", "../docs/a.html"},
	} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %s to %s it is %s, not %s", c[0], c[1], got, c[2])
		}
	}
}
