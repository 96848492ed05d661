package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc/lang/diag"
	"healc/lang/format"
	"healc/lang/parser"
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
		if filepath.Ext(path) != ".heal" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file := diag.NewFile(path, string(text))
		if _, list := parser.Parse(file); list.HasErrors() {
			return nil // a program that is about a syntax error
		}
		n++
		once, list := format.Source(file)
		if list.HasErrors() {
			t.Errorf("%s parses and cannot be formatted: %v", path, list)
			return nil
		}
		if twice, _ := format.Source(diag.NewFile(path, once)); twice != once {
			t.Errorf("%s: formatting twice changes the text", path)
		}
		lexical := strings.HasPrefix(filepath.ToSlash(path), "../tests/lang/s1_lexical/")
		if once != string(text) && !lexical {
			t.Errorf("%s is not formatted: run healc fmt -w", path)
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
