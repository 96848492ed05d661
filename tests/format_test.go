package tests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"healc/lang/diag"
	"healc/lang/format"
	"healc/lang/parser"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestFormatted: `healc fmt` changes nothing in the programs of the repository, and formatting twice gives what
// formatting once gives. The programs about lexical structure are only required to be stable: how they are written
// is what they are about.
func TestFormatted(t *testing.T) {
	n := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || strings.HasPrefix(name, ".") && name != "..") {
			return filepath.SkipDir
		}
		path = filepath.ToSlash(path)
		archive := filepath.Ext(path) == ".txtar" && strings.HasPrefix(path, "../tests/lang/")
		if filepath.Ext(path) != ".heal" && !archive {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !archive {
			n += formatted(t, path, string(text))
			return nil
		}
		for _, f := range txtar.Parse(text).Files {
			n += formatted(t, path+":"+f.Name, string(f.Data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 100 {
		t.Errorf("only %d programs were found", n)
	}
}

// programBlock is a program in a document.
var programBlock = regexp.MustCompile("(?ms)^```heal\n(.*?)^```")

// unformatted are documents with a program that is not as `healc fmt` prints it, and why.
var unformatted = map[string]string{"E0502.md": "a product of 33 extents, which no one writes, takes as many lines"}

// TestFormattedDocuments: the programs in the documents are written as `healc fmt` prints them.
func TestFormattedDocuments(t *testing.T) {
	n := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return filepath.SkipDir
		case filepath.Ext(path) != ".md" || unformatted[d.Name()] != "":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range programBlock.FindAllSubmatchIndex(text, -1) {
			line := strings.Count(string(text[:m[0]]), "\n") + 1
			n += formatted(t, fmt.Sprintf("%s:%d", filepath.ToSlash(path), line), string(text[m[2]:m[3]]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 40 {
		t.Errorf("only %d programs were found", n)
	}
}

// formatted checks a program, and counts it: 1, or 0 where it is about a syntax error.
func formatted(t *testing.T, path, text string) int {
	t.Helper()
	file := diag.NewFile(path, text)
	if _, list := parser.Parse(file); list.HasErrors() {
		return 0
	}
	once, list := format.Source(file)
	if list.HasErrors() {
		t.Errorf("%s parses and cannot be formatted: %v", path, list)
		return 1
	}
	if twice, _ := format.Source(diag.NewFile(path, once)); twice != once {
		t.Errorf("%s: formatting twice changes the text", path)
	}
	lexical := strings.HasPrefix(path, "../tests/lang/s1_lexical/")
	if once != text && !lexical {
		t.Errorf("%s is not formatted: write what healc fmt prints of it", path)
	}
	return 1
}
