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

// stackSource has kernels that keep copies and sums on the stack, and one whose functions nest deep.
const stackSource = `fn down(n: i32) -> i32 = if n == 0 { 0 } else { 1 + down(n - 1) % 1000 }
pub fn prod[M, K, N](a: f32[M, K], b: f32[K, N]) -> f32[M, N] = a @ b
pub fn sums[M, N](x: f32[M, N]) -> f32[N] = +/[axis=0](x)
pub fn nested(n: i32) -> i32 = down(n)
`

// TestSmallStacks: threads of a host with stacks of 128 KiB, which is what musl gives them, may call everything.
func TestSmallStacks(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	m, err := engine.CompileFile(diag.NewFile("s.heal", stackSource), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library("s", []string{"prod", "sums", "nested"}, func(string) map[string]int64 { return nil })
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
	program := filepath.Join(dir, "stack.out")
	out, err := exec.Command(cc, "-O1", "-I", dir, "testdata/stack.c", filepath.Join(dir, "libs.so"), "-Wl,-rpath,"+dir,
		"-lpthread", "-o", program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	levels := []string{"generic", "native"}
	for _, level := range aot.Levels {
		levels = append(levels, level.Name)
	}
	if out, err := exec.Command(program, levels...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
