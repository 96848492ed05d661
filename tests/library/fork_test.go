package library

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
)

// TestFork: a child of fork has workers of its own, which its first region makes, on whichever thread; its parent keeps
// those that it has.
func TestFork(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	m, err := engine.CompileFile(diag.NewFile("s.heal", "pub fn wave[N](x: f32[N]) -> f32[N] = sin(x) .* cos(x)\n"),
		engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library("s", []string{"wave"}, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := aot.Link(objects, "s", "libs.so", "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"libs.so": shared, "s.h": []byte(aot.Header(l))} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "fork.out")
	out, err := exec.Command(cc, "-O1", "-I", dir, "testdata/fork.c", filepath.Join(dir, "libs.so"), "-Wl,-rpath,"+dir,
		"-lpthread", "-o", program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
