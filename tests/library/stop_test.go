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

// stopSource has calls that would last for minutes in one kernel, a product, a sort and a loop of steps.
const stopSource = `pub fn turns(n: i32, x: f64) -> f64 = iterate(n, x, |s| sin(s))
pub fn prod[M, K, N](a: f32[M, K], b: f32[K, N]) -> f32[M, N] = a @ b
pub fn sorted[N](x: f32[N]) -> f32[N] = sort(x)
pub fn steps[N](n: i32, x: f32[N]) -> f32[N] = iterate(n, x, |s| sort(s .* 0.5))
`

// TestStopFromC: a flag ends a call in C, by a thread and by a handler, wherever the call is.
func TestStopFromC(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	m, err := engine.CompileFile(diag.NewFile("s.heal", stopSource), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library("s", []string{"turns", "prod", "sorted", "steps"}, func(string) map[string]int64 { return nil })
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
	joined, err := aot.Join(objects)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"libs.so": shared, "s.o": joined, "s.h": []byte(aot.Header(l))} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, with := range []string{"libs.so", "s.o"} {
		program := filepath.Join(dir, "stop_"+with+".out")
		out, err := exec.Command(cc, "-O1", "-I", dir, "testdata/stop.c", filepath.Join(dir, with), "-Wl,-rpath,"+dir,
			"-lpthread", "-lm", "-o", program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := exec.Command(program).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", with, err, out)
		}
	}
}

// TestStopFromPython: Ctrl-C and timeouts end calls in Python, with exceptions.
func TestStopFromPython(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.heal")
	if err := os.WriteFile(file, []byte(stopSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := python(t, file, "s", "testdata/stop.py"); got != "" {
		t.Error(got)
	}
}
