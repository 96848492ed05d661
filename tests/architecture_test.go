package tests

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"healc/ir/kernel"
)

// TestReferencedFiles: the Go files and folders that ARCHITECTURE.md and CONTRIBUTING.md name are there.
func TestReferencedFiles(t *testing.T) {
	found := 0
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`((?:\\w+/)+[\\w.]+\\.go)`").FindAllStringSubmatch(string(text), -1) {
			found++
			if name, _, _ := strings.Cut(filepath.Base(m[1]), "."); name == strings.ToUpper(name) {
				continue // stands for any name
			}
			if !isFile(filepath.Join("..", m[1])) {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d files are named", found)
	}
}

// TestDirectives: ARCHITECTURE.md has a row for each directive of schedules, but for the parts of others.
func TestDirectives(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kernel.DirectiveKinds {
		part := k.On == kernel.OnNothing && k.Sub // then, else, mixed, part
		row := regexp.MustCompile("(?m)^\\| [^|]*`" + k.Name + "`[^|]* \\|")
		if !part && !row.Match(text) {
			t.Errorf("the table of schedules in ARCHITECTURE.md has no row for the directive %s", k.Name)
		}
	}
}

// TestGeneratedPackages compares docs/packages.md with the table of imports of this package and with the first
// sentences of the packages' comments.
func TestGeneratedPackages(t *testing.T) {
	var want strings.Builder
	want.WriteString("# Packages\n\nGenerated from the table in `tests/deps_test.go`, which is checked, and from the " +
		"packages' docs, by\n`go test ./tests -run Generated -update`. \"leaves\" are `lang/diag` and `lang/types`, " +
		"\"*\" is everything but\ncommands and tests, `.` the root package.\n\n" +
		"| package | what it does | may import |\n|---|---|---|\n")
	for _, row := range imports {
		name, may := "`"+row.pkg+"`", "nothing"
		if row.pkg == "" {
			name = "the root package"
		}
		if row.may != "" {
			may = "`" + strings.Join(strings.Fields(row.may), "` `") + "`"
		}
		fmt.Fprintf(&want, "| %s | %s | %s |\n", name, purpose(t, row.pkg), may)
	}
	const path = "../docs/packages.md"
	got, err := os.ReadFile(path)
	switch {
	case err == nil && string(got) == want.String():
	case *update:
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/packages.md is not what its sources say: run go test ./tests -run Generated -update")
	}
}

// purpose is what the comment of a package says in its first sentence, up to a colon.
func purpose(t *testing.T, pkg string) string {
	t.Helper()
	folder := filepath.Join("..", strings.TrimSuffix(pkg, "/..."))
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?s)^(?:Package|Command) (\w+) (.*?)(?:\.\s|:\s|$)`)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if m := first.FindStringSubmatch(f.Doc.Text()); m != nil {
			return strings.Join(strings.Fields(m[2]), " ")
		}
	}
	t.Errorf("no file of %s has a comment that begins with \"Package\"", folder)
	return ""
}
