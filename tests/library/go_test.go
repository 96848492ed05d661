package library

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
)

// module is the path of the module that the tests belong to.
var module = path.Dir(path.Dir(reflect.TypeFor[inLibrary]().PkgPath()))

type inLibrary struct{}

// goModule is a module beside this one that has the package `every` made of testdata/every.heal.
func goModule(t *testing.T, main string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/every.heal")
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.CompileFile(diag.NewFile("every.heal", string(text)), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var names []string
	for _, f := range m.Program().Funcs {
		if f.Public {
			names = append(names, f.Name)
		}
	}
	l, err := m.Library("every", names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		l.Target.CPU = plain
	}
	code, err := aot.Go(l)
	if err != nil {
		t.Fatal(err)
	}
	return goProgram(t, main, map[string]string{"every/every.go": string(code)})
}

// goProgram is a module beside this one that has a program and packages, by the names of their files.
func goProgram(t *testing.T, main string, packages map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(mod), "module "+module, "module use", 1) +
		fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", module, root)
	dir := t.TempDir()
	files := map[string]string{"go.mod": own, "go.sum": string(sum), "main.go": main}
	maps.Copy(files, packages)
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestGoPackage builds a program with a compiled package, and runs it where libLLVM is hidden.
func TestGoPackage(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	main, err := os.ReadFile("testdata/use_every.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := goModule(t, string(main))
	// A package needs nothing that compiles: the runtime, the types, the numbers that profiles are, what opens files,
	// what takes panics from one goroutine to another, and what waits no longer than a context lasts.
	needs := []string{"healc/lang/types", "healc/codegen/target/profile", "healc/internal/regular",
		"healc/internal/caught", "healc/internal/until"}
	for line := range strings.Lines(goCommand(t, dir, "list", "-deps", "./every")) {
		if pkg := strings.TrimSpace(line); strings.HasPrefix(pkg, module) &&
			!strings.HasPrefix(pkg, module+"/runtime") && !slices.Contains(needs, pkg) {
			t.Errorf("the package depends on %s", pkg)
		}
	}
	// It is left out where its code does not run, so that a package can have a file for each processor, and one for all
	// others.
	list := exec.Command("go", "list", "-f", "{{.GoFiles}} {{.IgnoredGoFiles}}", "./every")
	list.Dir, list.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOOS=linux", "GOARCH=riscv64")
	if out, err := list.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "build constraints exclude all Go files") {
		t.Errorf("for another processor: %v\n%s", err, out)
	}
	goCommand(t, dir, "build", "-o", "use", ".")
	run := exec.Command("./use")
	run.Dir = dir
	run.Env = append(os.Environ(), "HEAL_LIBLLVM=/nowhere")
	if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
