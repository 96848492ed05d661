package tests

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/lang/parser"
)

// sourcesOfRepository are all programs of the repository, right and wrong, by where they stand.
func sourcesOfRepository(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name := e.Name(); name == "node_modules" || name != ".." && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".heal":
			text, err := os.ReadFile(path)
			out[path] = string(text)
			return err
		case ".txtar":
			a, err := txtar.ParseFile(path)
			if err != nil {
				return err
			}
			for _, f := range a.Files {
				if filepath.Ext(f.Name) == ".heal" {
					out[path+":"+f.Name] = string(f.Data)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range diag.Entries() {
		out["example of "+string(e.Code)] = e.Example
	}
	return out
}

// damaged are the programs of some names with a token left out, or twice.
func damaged(sources map[string]string) map[string]string {
	rng := rand.New(rand.NewSource(1))
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f := diag.NewFile(name, sources[name])
		tokens, _, _ := lexer.Tokens(f)
		if len(tokens) == 0 {
			continue
		}
		at := tokens[rng.Intn(len(tokens))].Span(f)
		if rng.Intn(2) == 0 {
			out["without "+at.Text()+" "+name] = f.Text[:at.Start] + " " + f.Text[at.End:]
		} else {
			out["twice "+at.Text()+" "+name] = f.Text[:at.End] + " " + at.Text() + f.Text[at.End:]
		}
	}
	return out
}

// TestTreeSitter: the grammar for tree-sitter accepts and rejects what the parser does, of all programs of the
// repository. It needs tree-sitter's command and a C compiler.
func TestTreeSitter(t *testing.T) {
	for _, program := range []string{"tree-sitter", "cc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: there is no %s", program)
		}
	}
	dir := t.TempDir()
	grammar := filepath.Join(dir, "grammar")
	if err := os.CopyFS(grammar, os.DirFS("../editors/tree-sitter-heal")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		c := exec.Command("tree-sitter", args...)
		c.Dir = grammar
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		return string(out) + errs.String(), err
	}
	if out, err := run("generate"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sources := sourcesOfRepository(t)
	maps.Copy(sources, damaged(sources))
	paths := []string{filepath.Join(dir, "queried.heal")}
	queried := "# All of the queries find something.\nfn f(x: f32) -> f32 = x\n"
	if err := os.WriteFile(paths[0], []byte(queried), 0o644); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for name, text := range sources {
		path := filepath.Join(dir, fmt.Sprintf("%d.heal", len(names)))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		names[path] = name
		paths = append(paths, path)
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(paths, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := run("parse", "-q", "--paths", list)
	if err == nil {
		t.Errorf("tree-sitter rejects nothing\n%s", out)
	}
	rejected := map[string]string{}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "(ERROR ") || strings.Contains(line, "(MISSING ") {
			path, what, _ := strings.Cut(line, "\t")
			rejected[names[strings.TrimSpace(path)]] = what[strings.LastIndex(what, "("):]
		}
	}
	wrong := 0
	for name, text := range sources {
		if !utf8.ValidString(text) {
			continue // to tree-sitter such bytes are characters
		}
		_, found := parser.Parse(diag.NewFile(name, text))
		what, isBad := rejected[name]
		if found.HasErrors() {
			wrong++
		}
		switch {
		case found.HasErrors() && !isBad:
			t.Errorf("%s: the parser finds %v, and tree-sitter nothing", name, found.Items[0])
		case !found.HasErrors() && isBad:
			t.Errorf("%s: tree-sitter finds %s, and the parser nothing", name, what)
		}
	}
	for _, name := range []string{"highlights", "injections", "locals"} {
		out, err := run("query", filepath.Join("queries", name+".scm"), paths[0])
		if err != nil || !strings.Contains(out, "capture") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	t.Logf("%d programs, %d of them rejected", len(sources), wrong)
}
