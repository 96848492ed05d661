package tests

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/check"
	"healc/lang/types"
)

// spans are the texts in backticks of a document, and words those within.
var (
	spans = regexp.MustCompile("`([^`\n]+)`")
	words = regexp.MustCompile("[a-z0-9_]+")
	list  = regexp.MustCompile("^[a-z0-9_ ]+$")
)

// documented are the names that a document has in backticks: in the rows of tables all of them, and elsewhere those in
// lists of names, and before their arguments.
func documented(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		for _, span := range spans.FindAllStringSubmatch(line, -1) {
			for _, at := range words.FindAllStringIndex(span[1], -1) {
				called := at[0] == 0 && strings.IndexAny(span[1], "([") == at[1]
				if strings.HasPrefix(line, "|") || list.MatchString(span[1]) || called {
					out[span[1][at[0]:at[1]]] = true
				}
			}
		}
	}
	return out
}

// TestReference: docs/language.md has every function of the language.
func TestReference(t *testing.T) {
	has := documented(t, "../docs/language.md")
	for _, f := range check.Functions() {
		if !has[f.Name] {
			t.Errorf("docs/language.md has no row for the function `%s`: add one to the table of its section", f.Name)
		}
	}
}

// exact are the functions of floats that are one instruction, rounded once.
var exact = map[string]bool{"fma": true}

// TestNumerics: docs/numerics.md has the accuracy, or the special values, of every function of floats.
func TestNumerics(t *testing.T) {
	has := documented(t, "../docs/numerics.md")
	for _, d := range ir.Ops() {
		if d.Class != ir.Pointwise || d.FunctionName() == "" || exact[d.Name] || len(d.Attrs) > 0 {
			continue
		}
		gives := func(elem types.DType) bool { // elements of the type of its operands
			args := make([]types.Tensor, d.Arity)
			for i := range args {
				args[i] = types.Scalar(elem)
			}
			out, err := d.Infer(args, nil, nil)
			return err == nil && out[0].Elem == elem
		}
		if gives(types.F32) && !gives(types.I32) && !has[d.FunctionName()] {
			t.Errorf("docs/numerics.md has no row for the function `%s`: add one with its measured error, or its "+
				"special values: How they are judged there has the commands", d.FunctionName())
		}
	}
}
