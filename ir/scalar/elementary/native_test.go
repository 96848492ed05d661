package elementary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/runtime/dynlib"
)

// machineCode makes code of the f32 operation of a name that computes n elements in one call, and is faster than the
// evaluator. The command makes it: with a test that imported the compiler, every package of it would be compiled again,
// together with the files of this package's tests.
func machineCode(t *testing.T, name string, n int) func(in, out []float32) {
	t.Helper()
	folder := t.TempDir()
	file, library := filepath.Join(folder, "f.heal"), filepath.Join(folder, "f.so")
	source := fmt.Sprintf("pub fn compute(x: f32[%d]) -> f32[%[1]d] = %s(x)\n", n, name)
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields("run ../../../cmd/healc compile --cpu native")
	if out, err := exec.Command("go", append(args, file, "-o", library)...).CombinedOutput(); err != nil {
		t.Fatalf("no machine code of %s: %v\n%s", name, err, out)
	}
	lib, err := dynlib.Open(library, dynlib.Now)
	if err != nil {
		t.Fatal(err)
	}
	address, err := dynlib.Symbol(lib, "f_compute")
	if err != nil {
		t.Fatal(err)
	}
	threads, err := dynlib.Symbol(lib, "f_set_threads")
	if err != nil {
		t.Fatal(err)
	}
	var setThreads func(n int32)
	purego.RegisterFunc(&setThreads, threads)
	setThreads(1) // its callers are many
	var compute func(in, out unsafe.Pointer) int32
	purego.RegisterFunc(&compute, address)
	return func(in, out []float32) {
		if code := compute(unsafe.Pointer(unsafe.SliceData(in)), unsafe.Pointer(unsafe.SliceData(out))); code != 0 {
			panic(fmt.Sprintf("%s in machine code: error %d", name, code))
		}
	}
}
