package library

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
)

// TestReopen: two libraries that are opened and closed in turns in one process leave no thread, no memory and nothing
// that is mapped, and know nothing of each other's errors. AddressSanitizer looks on where the C compiler has it.
func TestReopen(t *testing.T) {
	cc := compiler(t)
	dir := t.TempDir()
	for prefix, factor := range map[string]string{"one": "2.0", "two": "-1.0"} {
		l := libraryOf(t, prefix, fmt.Sprintf("pub fn wave[N](x: f32[N]) -> f32[N] = sin(x .* %s)\n"+
			"pub fn at[N](x: f32[N], i: i32) -> f32 = x[i]\n", factor), "wave", "at")
		l.Target.CPU = plain
		objects, err := aot.Objects(l)
		if err != nil {
			t.Fatal(err)
		}
		inFolder(t, dir, map[string]string{prefix + ".so": linked(t, l, objects, prefix+".so")})
	}
	program := filepath.Join(dir, "reopen")
	build := func(flags ...string) error {
		args := append(flags, "-O1", "-g", "-Wall", "-Werror", filepath.Join("testdata", "reopen.c"), "-o", program,
			"-lpthread", "-ldl", "-lm")
		if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
	if err := build("-fsanitize=address"); err == nil {
		out, err := exec.Command(program, dir).CombinedOutput()
		// it reserves much address space, and traces the process, one of which a system may refuse
		if !strings.Contains(string(out), "ReserveShadowMemoryRange failed") &&
			!strings.Contains(string(out), "LeakSanitizer has encountered a fatal error") {
			if err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
			return
		}
	}
	t.Log("without AddressSanitizer, which this compiler or this system has not")
	if err := build(); err != nil {
		t.Fatal(err)
	}
	silent(t, program, dir)
}
