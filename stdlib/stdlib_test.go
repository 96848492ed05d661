package stdlib_test

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"healc"
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/format"
	"healc/lang/parser"
	"healc/runtime"
	"healc/stdlib"
)

// TestModules runs the `test` blocks of every module on the interpreter and the CPU. Compiling a module as
// the file itself types its generic functions for every type of their bounds.
func TestModules(t *testing.T) {
	names := stdlib.Names()
	if len(names) < 6 {
		t.Fatalf("the library has only %v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			text, ok := stdlib.Source(name)
			if !ok {
				t.Fatal("listed, but not there")
			}
			for _, backend := range []string{heal.Interp, heal.CPU} {
				if backend == heal.CPU && testing.Short() {
					continue
				}
				m, err := heal.CompileFile(diag.NewFile(name+".heal", text), heal.Options{
					Backend: backend, Threads: 1, Tests: true, Cache: heal.DefaultCache(), System: runtime.OS{Out: io.Discard},
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(m.Program().Tests) == 0 {
					t.Error("there are no tests")
				}
				for _, test := range m.Program().Tests {
					f, err := m.Func(test.Fn.Name)
					if err == nil {
						_, err = f.CallAll(context.Background())
					}
					if err != nil {
						t.Errorf("%s: %s: %v", backend, test.Name, err)
					}
				}
				m.Close()
			}
		})
	}
}

// TestDocumented requires a comment right above every public declaration and at the head of every file,
// and the layout of `healc fmt`.
func TestDocumented(t *testing.T) {
	for _, name := range stdlib.Names() {
		text, _ := stdlib.Source(name)
		if !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: the file does not start with a comment", name)
		}
		file := diag.NewFile(name+".heal", text)
		tree, list := parser.Parse(file)
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			public, what := false, ""
			switch d := d.(type) {
			case *ast.FuncDecl:
				public, what = d.Pub, d.Name.Name
			case *ast.ConstDecl:
				public, what = d.Pub, d.Name.Name
			}
			above := file.Line(d.Span().Pos().Line - 1)
			if public && !strings.HasPrefix(above, "# ") {
				t.Errorf("%s.%s has no comment above it", name, what)
			}
		}
		if want, _ := format.Source(file); want != text {
			t.Errorf("%s.heal is not formatted: run healc fmt -w", name)
		}
	}
}

var update = flag.Bool("update", false, "rewrite docs/library.md")

// TestManual compares docs/library.md with what the sources say: the comment at the head of each module, and
// every public declaration with the comment above it.
func TestManual(t *testing.T) {
	const page = "../docs/library.md"
	var b strings.Builder
	b.WriteString("# The standard library\n\nMade from the comments of `stdlib/*.heal` by `go test ./stdlib -run Manual -update`. " +
		"A module is made\nvisible by `import nn`, and its functions are called as `nn.softmax(x)`. The library is written in Heal: a\n" +
		"function of it costs what the same text in your program would.\n")
	for _, name := range stdlib.Names() {
		text, _ := stdlib.Source(name)
		file := diag.NewFile(name+".heal", text)
		tree, _ := parser.Parse(file)
		b.WriteString("\n## " + name + "\n\n" + commentEnding(file, headEnd(file)) + "\n")
		for _, d := range tree.Decls {
			head := ""
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Pub {
					head, _, _ = strings.Cut(d.Span().Text()[:d.Body.Span().Start-d.Span().Start], "\n")
				}
			case *ast.ConstDecl:
				if d.Pub {
					head = d.Span().Text()
				}
			}
			if head == "" {
				continue
			}
			head = strings.TrimPrefix(strings.TrimSuffix(strings.TrimRight(head, " "), " ="), "pub ")
			b.WriteString("\n### `" + head + "`\n\n" + commentEnding(file, d.Span().Pos().Line-1) + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/library.md is not what the library says (%v); run go test ./stdlib -run Manual -update", err)
	}
}

// headEnd is the last line of the comment that the file starts with.
func headEnd(file *diag.File) int {
	n := 1
	for strings.HasPrefix(file.Line(n+1), "#") {
		n++
	}
	return n
}

// commentEnding is the text of the comment whose last line is n.
func commentEnding(file *diag.File, n int) string {
	first := n
	for first > 1 && strings.HasPrefix(file.Line(first-1), "# ") {
		first--
	}
	var lines []string
	for ; first <= n; first++ {
		lines = append(lines, strings.TrimPrefix(file.Line(first), "# "))
	}
	return strings.Join(lines, "\n")
}

// TestUnknown: only modules are found.
func TestUnknown(t *testing.T) {
	for _, name := range []string{"", "nosuch", "../stdlib/math", "math.heal"} {
		if _, ok := stdlib.Source(name); ok {
			t.Errorf("there is a module %q", name)
		}
	}
}
