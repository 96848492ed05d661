package format_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"healc/lang/diag"
	"healc/lang/format"
	"healc/lang/parser"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted results in testdata")

// TestGolden formats every `name.heal` of the archives and compares with `name.want` after it.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives in testdata: %v", err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, f := range a.Files {
			want[f.Name] = string(f.Data)
		}
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			name, ok := strings.CutSuffix(f.Name, ".heal")
			if !ok {
				continue
			}
			out.Files = append(out.Files, f)
			t.Run(name, func(t *testing.T) {
				got := formatted(t, string(f.Data))
				if got != want[name+".want"] && !*update {
					t.Errorf("got:\n%swant:\n%s", got, want[name+".want"])
				}
				out.Files = append(out.Files, txtar.File{Name: name + ".want", Data: []byte(got)})
				alone(t, got)
				for _, line := range strings.Split(got, "\n") {
					if n := utf8.RuneCountInString(line); n > 100 && !strings.Contains(line, "#") {
						t.Errorf("a line has %d columns: %s", n, line)
					}
					if strings.TrimRight(line, " ") != line {
						t.Errorf("a line ends in blanks: %q", line)
					}
				}
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// formatted formats text twice; Source itself requires that tree and comments are the same.
func formatted(t *testing.T, text string) string {
	t.Helper()
	once, list := format.Source(diag.NewFile("x.heal", text))
	if list.HasErrors() {
		t.Fatalf("%s\n%s", list.Error(), text)
	}
	twice, list := format.Source(diag.NewFile("x.heal", once))
	if list.HasErrors() || twice != once {
		t.Errorf("formatting twice changes the text\nsource:\n%s\nonce:\n%s\ntwice:\n%s\n%s", text, once, twice,
			list.Error())
	}
	return once
}

// alone requires that each declaration is formatted as in its file where it is all that there is, as in an editor.
func alone(t *testing.T, text string) {
	t.Helper()
	tree, _ := parser.Parse(diag.NewFile("x.heal", text))
	for _, d := range tree.Decls {
		own := text[d.Span().Start:d.Span().End]
		if got, _ := format.Source(diag.NewFile("x.heal", own)); got != own+"\n" {
			t.Errorf("alone it becomes\n%sand in the file it is\n%s", got, own)
		}
	}
}

func TestErrors(t *testing.T) {
	text, list := format.Source(diag.NewFile("x.heal", "fn f( = 1\n"))
	if text != "" || !list.HasErrors() {
		t.Errorf("a file that does not parse gave %q and %v", text, list.Items)
	}
}

// TestLarge formats the deepest and longest expressions that parse, and a long file.
func TestLarge(t *testing.T) {
	rep := strings.Repeat
	for name, text := range map[string]string{
		"deep":    "fn f() = " + rep("(", 900) + "1" + rep(")", 900),
		"blocks":  "fn f() = " + rep("{ a; ", 450) + "1" + rep("}", 450),
		"chain":   "fn f() = 1" + rep(" + a_name * 2", 4900),
		"else if": "fn f() = " + rep("if a {1} else ", 4900) + "{1}",
		"array":   "fn f() = [" + rep("1.5, ", 50000) + "]",
		"file":    rep("fn f(x: f32) -> f32 = x + 1.0 # one\n\n", 5000),
	} {
		t.Run(name, func(t *testing.T) { formatted(t, text) })
	}
}
