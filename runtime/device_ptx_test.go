package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAssembler: NVIDIA's assembler takes the kernels that the runtime has as text.
func TestAssembler(t *testing.T) {
	ptxas := ""
	for _, name := range []string{os.Getenv("HEAL_PTXAS"), "../.tools/cuda/usr/bin/ptxas", "ptxas"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			ptxas = path
			break
		}
	}
	if ptxas == "" {
		t.Skip("skipped: no ptxas (make ptxas)")
	}
	texts := map[string]string{"judge": judgePTX, "repeat": repeatPTX}
	for _, elem := range []int64{1, 2, 4, 8} {
		texts[copyEntry(elem)] = copyPTX(elem)
	}
	for name, text := range texts {
		file := filepath.Join(t.TempDir(), name+".ptx")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, arch := range []string{"sm_70", "sm_90"} {
			// -c: the function that sets a condition is the driver's.
			if out, err := exec.Command(ptxas, "-c", "-arch="+arch, "-o", os.DevNull, file).CombinedOutput(); err !=
				nil {
				t.Errorf("%s for %s: %v\n%s", name, arch, err, out)
			}
		}
	}
}
