// Package mistakes says what healc has to say of the mistakes that people make who come from other languages. The cases
// are the files of mistakes.txtar, whose head says how they are written.
//
//	go test ./tests/mistakes -run 'TestMistakes/vmap_of_JAX'
package mistakes

import (
	"errors"
	"strings"
	"testing"

	"healc/internal/pipeline"
	"healc/lang/diag"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestMistakes checks that each program gets the errors that stand below it, with their help, and that the program in
// which the help was followed compiles.
func TestMistakes(t *testing.T) {
	archive, err := txtar.ParseFile("mistakes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(archive.Files); n < 100 {
		t.Errorf("there are %d cases, not a hundred", n)
	}
	seen := map[string]bool{}
	for _, f := range archive.Files {
		if seen[f.Name] {
			t.Errorf("two cases are called %s", f.Name)
		}
		seen[f.Name] = true
		t.Run(f.Name, func(t *testing.T) {
			program, want, fix := split(string(f.Data))
			if got := said(t, program); got != want {
				t.Errorf("healc says\n%s\nnot\n%s", got, want)
			}
			if fix == "" {
				return
			}
			old, to, ok := strings.Cut(fix, " ~> ")
			if !ok || !strings.Contains(program, old) {
				t.Fatalf("the fix %q does not fit the program", fix)
			}
			if fixed := strings.Replace(program, old, to, 1); said(t, fixed) != "" {
				t.Errorf("the fixed program\n%s\ndoes not compile:\n%s", fixed, said(t, fixed))
			}
		})
	}
}

// split takes a case apart: the program, what is said of it, and the fix, "" for none.
func split(text string) (program, want, fix string) {
	program, rest, _ := strings.Cut(text, "\n# E")
	for line := range strings.Lines("# E" + rest) {
		if f, ok := strings.CutPrefix(line, "# fix: "); ok {
			fix = strings.ReplaceAll(strings.TrimSuffix(f, "\n"), `\n`, "\n")
			continue
		}
		want += line
	}
	return program + "\n", want, fix
}

// said is what the compiler says of a program, as the cases have it; "" when it compiles.
func said(t *testing.T, program string) string {
	t.Helper()
	_, err := pipeline.Check(diag.NewFile("mistake.heal", program))
	if err == nil {
		return ""
	}
	var list *diag.List
	if !errors.As(err, &list) {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, d := range list.Items {
		b.WriteString("# " + string(d.Code) + ": " + d.Message + "\n")
		for _, line := range strings.Split(d.Help, "\n") {
			if line != "" {
				b.WriteString("# help: " + line + "\n")
			}
		}
	}
	return b.String()
}
