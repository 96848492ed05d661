package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"healc/tests/sample"
)

const (
	renamed = "example.org/arrays/heal"
	version = "0.2.0"
)

// TestPaths: what go cannot find a module by is refused, and nothing is changed.
func TestPaths(t *testing.T) {
	for _, bad := range []string{"", "heal", "heal/heal", "example.org", "example.org/", "example.org//heal",
		"Example.org/heal", "https://example.org/heal", "example.org/he al", "example.org/../heal"} {
		if err := Rename(t.TempDir(), bad); err == nil || !strings.Contains(err.Error(), "HOST/OWNER/NAME") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestRename renames a small repository that has all that can have a path in it.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	const lang = "// Package lang is small/lang, of cmd/small/lang.\npackage lang\n\nconst path = \"small/lang\"\n"
	before := map[string]string{
		"go.mod":       "module small\n\ngo 1.26.0\n",
		"heal.go":      "package heal\n\nimport _ \"small/lang\"\n",
		"lang/lang.go": lang,
		"bench/go.mod": "module small/bench\n\ngo 1.26.0\n\nrequire small v0.0.0\n\nreplace small => ../\n",
		"bench/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\theal \"small\"\n\t\"small/lang\"\n)\n\n" +
			"var _ = fmt.Sprint(heal.X, lang.Y)\n",
		"README.md": "Package `small`, as heal \"small\", see small/lang/x; a small/large thing, " +
			"-require=small@v0 -replace=small=FOLDER, cmd/small/lang\n",
		".git/config": "small/lang",
		"data.bin":    "small/lang\xff",
	}
	after := map[string]string{
		"go.mod":  "module new.org/x\n\ngo 1.26.0\n",
		"heal.go": "package heal\n\nimport _ \"new.org/x/lang\"\n",
		"lang/lang.go": "// Package lang is new.org/x/lang, of cmd/small/lang.\npackage lang\n\n" +
			"const path = \"new.org/x/lang\"\n",
		"bench/go.mod": "module new.org/x/bench\n\ngo 1.26.0\n\nrequire new.org/x v0.0.0\n\nreplace new.org/x => ../\n",
		"bench/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\theal \"new.org/x\"\n\t\"new.org/x/lang\"\n)\n\n" +
			"var _ = fmt.Sprint(heal.X, lang.Y)\n",
		"README.md": "Package `small`, as heal \"new.org/x\", see new.org/x/lang/x; a small/large thing, " +
			"-require=new.org/x@v0 -replace=new.org/x=FOLDER, cmd/small/lang\n",
		".git/config": "small/lang",
		"data.bin":    "small/lang\xff",
	}
	write(t, dir, before)
	if err := Rename(dir, "new.org/x"); err != nil {
		t.Fatal(err)
	}
	for name, want := range after {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is\n%s\nnot\n%s", name, got, want)
		}
	}
}

// TestObtained: the module under another path, from a proxy of files, is taken by `go get` and `go install` into an
// empty folder; the program has the version that was asked for, and the package that it emits builds there.
func TestObtained(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the compiler")
	}
	if !sample.Has(sample.Today(t), 3, 10) {
		t.Skip("the compiler is built under another path on every tenth day")
	}
	root, proxy, dir := t.TempDir(), t.TempDir(), t.TempDir()
	files := copied(t, root)
	if err := Rename(root, renamed); err != nil {
		t.Fatal(err)
	}
	serve(t, proxy, root, files)
	env := func(more ...string) []string {
		modules := goCommand(t, ".", nil, "env", "GOMODCACHE")
		return append(append(os.Environ(), "GOMODCACHE="+filepath.Join(dir, "modules"), "GOFLAGS=-mod=mod -modcacherw",
			"GOPROXY=file://"+proxy+",file://"+strings.TrimSpace(modules)+"/cache/download", "GONOSUMDB=*",
			"GOVCS=*:off",
			"CGO_ENABLED=0", "GOBIN="+filepath.Join(dir, "bin"), "GOWORK=off"), more...)
	}()
	goCommand(t, dir, env, "install", renamed+"/cmd/healc@v"+version)
	healc := filepath.Join(dir, "bin", "healc")
	if out := command(t, dir, env, healc, "version"); !strings.HasPrefix(out, "healc "+version+" ") {
		t.Errorf("healc of version %s says %s", version, out)
	}

	use := filepath.Join(dir, "use")
	write(t, use, map[string]string{
		"go.mod":   "module use\n\ngo 1.26.0\n",
		"f.heal":   "pub fn twice[N](x: f32[N]) -> f32[N] = x * 2.0\n",
		"main.go":  program,
		"f/doc.go": "package f\n",
	})
	command(t, use, env, healc, "compile", "f.heal", "-o", "f/f.go", "--emit", "go")
	goCommand(t, use, env, "get", renamed+"@v"+version)
	if out := goCommand(t, use, env, "run", "."); out != "[2 4 6] [1.5 2.5] "+version+"\n" {
		t.Errorf("the program says %q", out)
	}
}

// program calls an emitted package, and the compiler.
const program = `package main

import (
	"context"
	"fmt"
	"log"

	heal "` + renamed + `"
	"` + renamed + `/runtime/tensor"

	"use/f"
)

func main() {
	ctx := context.Background()
	y, err := f.Twice(ctx, tensor.FromSlice([]float32{1, 2, 3}))
	if err != nil {
		log.Fatal(err)
	}
	m, err := heal.Compile("pub fn more[N](x: f64[N]) -> f64[N] = x + 0.5", heal.Options{})
	if err != nil {
		log.Fatal(err)
	}
	more, err := m.Func("more")
	if err != nil {
		log.Fatal(err)
	}
	z, err := more.Call(ctx, heal.FromSlice([]float64{1, 2}))
	if err != nil {
		log.Fatal(err)
	}
	doubled, err := heal.Slice[float32](y)
	if err != nil {
		log.Fatal(err)
	}
	sums, err := heal.Slice[float64](z)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(doubled, sums, heal.Version)
}
`

// copied copies what the repository has into a folder, and says what that is.
func copied(t *testing.T, to string) []string {
	t.Helper()
	var files []string
	for _, name := range strings.Split(command(t, "../..", nil, "git", "ls-files", "-z"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if name == "" || err != nil { // deleted, and not yet committed
			continue
		}
		write(t, to, map[string]string{name: string(text)})
		files = append(files, name)
	}
	return files
}

// serve writes the module in root as a proxy has it. Nested modules are none of its files.
func serve(t *testing.T, proxy, root string, files []string) {
	t.Helper()
	var nested []string
	for _, name := range files {
		if dir, base := filepath.Split(name); base == "go.mod" && dir != "" {
			nested = append(nested, dir)
		}
	}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
files:
	for _, name := range files {
		for _, dir := range nested {
			if strings.HasPrefix(name, dir) {
				continue files
			}
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := z.Create(fmt.Sprintf("%s@v%s/%s", renamed, version, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	at := renamed + "/@v/"
	write(t, proxy, map[string]string{
		at + "list":                  "v" + version + "\n",
		at + "v" + version + ".info": fmt.Sprintf(`{"Version": "v%s", "Time": "2026-11-27T00:00:00Z"}`, version),
		at + "v" + version + ".mod":  string(mod),
		at + "v" + version + ".zip":  packed.String(),
	})
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func goCommand(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	return command(t, dir, env, "go", args...)
}

// command is what a program prints to its standard output.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, env
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return string(out)
}
