package format_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"healc/lang/diag"
	"healc/lang/format"
	"healc/lang/lexer"
	"healc/lang/parser"

	"github.com/rogpeppe/go-internal/txtar"
)

var all = flag.Bool("all", false, "put comments between all tokens, not between every eighth pair")

// sources returns the sources of the golden archives of this package and of the parser.
func sources(tb testing.TB) (out []string) {
	for _, pattern := range []string{"testdata/*.txtar", "../parser/testdata/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			tb.Fatalf("nothing matches %s: %v", pattern, err)
		}
		for _, path := range paths {
			a, err := txtar.ParseFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			for _, f := range a.Files {
				if strings.HasSuffix(f.Name, ".heal") {
					out = append(out, string(f.Data))
				}
			}
		}
	}
	return out
}

// TestCommentsAnywhere puts each form of comment between any two tokens of the golden sources.
// formatted requires that it is kept, that the tree stays and that formatting again changes nothing.
func TestCommentsAnywhere(t *testing.T) {
	step := 8
	if *all {
		step = 1
	} else if testing.Short() {
		step = 40
	}
	n := 0
	for _, text := range sources(t) {
		f := diag.NewFile("x.heal", text)
		if _, list := parser.Parse(f); list.HasErrors() {
			continue
		}
		tokens, _, _ := lexer.Tokens(f)
		for i := 0; i < len(tokens); i += step {
			at := int(tokens[i].Start)
			if i > 0 && tokens[i-1].Kind == lexer.Attr {
				continue // the name of an attribute stands directly after its `@`
			}
			for _, c := range []string{" # c\n", "\n# c\n", " /* c */ ", "/* c */\n", "\n/* c */ ",
				"\n\n# c\n\n# d\n\n", " /* c\n d */ ", " /* c */ /* d */ # e\n /* f */\n/* g */ "} {
				changed := text[:at] + c + text[at:]
				if _, list := parser.Parse(diag.NewFile("x.heal", changed)); list.HasErrors() {
					continue // an `@` at the start of a line may be an attribute
				}
				formatted(t, changed)
				if n++; t.Failed() {
					return
				}
			}
		}
	}
	if n < 400 {
		t.Errorf("only %d sources were formatted", n)
	}
	t.Logf("%d sources", n)
}

// FuzzFormat requires that formatting what parses never fails, keeps tree and comments (Source checks
// that), and is stable.
func FuzzFormat(f *testing.F) {
	for _, s := range sources(f) {
		f.Add(s)
	}
	for _, s := range []string{
		"", "\n\n", "# a", "/**/", "fn f()=1", "fn f(){{};{}}", "fn f()=- //x", "fn f()=max/ */x",
		"fn f()=[1,/*a*/2,#b\n3,]", "fn f()=x#a\n|>g#b\n|>h", "fn f() = match x {0=>{}/*a*/1=>{}#b\n}",
		"fn f()=if a{b}#c\nelse{d}", "fn f()=let x=1 in#a\nx", "@a#b\n@c fn f()=1", "fn f(x:f32[#a\nN])=x",
		"fn f()=\t1\r\n# a\r\n", "fn f()=|x|||/y", "fn f()=g(|x|{#a\nx})",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		once, list := format.Source(diag.NewFile("x.heal", text))
		if list.HasErrors() {
			return
		}
		twice, list := format.Source(diag.NewFile("x.heal", once))
		if list.HasErrors() || once != twice {
			t.Errorf("formatting twice changes the text\nonce:\n%s\ntwice:\n%s\n%s", once, twice, list.Error())
		}
	})
}
