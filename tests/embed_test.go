package tests

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmbed builds and runs examples/embed, a Go program of a module of its own, which needs the root package alone.
func TestEmbed(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	const folder = "../examples/embed"
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, "main.go"), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		if dep := strings.Trim(spec.Path.Value, `"`); strings.HasPrefix(dep, module+"/") {
			t.Errorf("the example imports %s", dep)
		}
	}
	program := filepath.Join(t.TempDir(), "embed")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = folder
	build.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(program)
	run.Env = append(os.Environ(), "HEAL_CACHE="+t.TempDir())
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "y = 2.000 x + 1.000\nthe shape parameter N is 5 by axis 0 of x, but 4 by axis 0 of y\n"
	if string(out) != want {
		t.Errorf("the example prints\n%swant\n%s", out, want)
	}
}
