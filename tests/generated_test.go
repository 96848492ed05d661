package tests

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc/cmd/healc/driver/manual"
	"healc/lang/diag"
	"healc/stdlib"
)

var update = flag.Bool("update", false, "rewrite the generated pages and lists")

// TestPages compares docs/errors with the table of codes. With -update it writes the pages, and removes those
// that nothing stands behind any more.
func TestPages(t *testing.T) {
	pages := map[string]string{"README.md": manual.ErrorIndex()}
	for _, e := range diag.Entries() {
		pages[string(e.Code)+".md"] = manual.ErrorMarkdown(e)
		if !strings.Contains(pages["README.md"], "["+string(e.Code)+"]") {
			t.Errorf("%s is in no block of the index: add it to errorBlocks", e.Code)
		}
	}
	folder := filepath.Join("..", "docs", "errors")
	if *update {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range pages {
		path := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("docs/errors/%s is not what its source says (%v): run go test ./tests -run Pages -update", name,
				err)
		}
	}
	have, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range have {
		if _, ok := pages[filepath.Base(path)]; ok {
			continue
		}
		if *update {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s is generated from nothing", path)
	}
}

// TestLibraryPages compares docs/library.md with the comments of the library, and wants one at the head of every
// module and above every public declaration.
func TestLibraryPages(t *testing.T) {
	for _, name := range stdlib.Names() {
		l, _ := manual.LookupLibrary(name)
		if l.Doc == "" || len(l.Entries) == 0 {
			t.Errorf("module %s has no comment at its head, or nothing public", name)
		}
		for _, e := range l.Entries {
			if e.Doc == "" {
				t.Errorf("%s.%s has no comment above it", name, e.Name)
			}
		}
	}
	path, want := filepath.Join("..", "docs", "library.md"), manual.LibraryMarkdown()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("docs/library.md is not what the library says (%v): run go test ./tests -run Pages -update", err)
	}
}

// TestManual: the manual has something about every keyword, operator, type, function, operation, module and
// name of a module.
func TestManual(t *testing.T) {
	for _, name := range manualNames() {
		var b strings.Builder
		if err := manual.Print(&b, name); err != nil {
			t.Errorf("healc doc %s: %v", name, err)
		} else if strings.TrimSpace(b.String()) == "" {
			t.Errorf("healc doc %s prints nothing", name)
		}
	}
}
