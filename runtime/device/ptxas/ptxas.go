// Package ptxas asks NVIDIA's assembler, for tests.
package ptxas

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Find is the assembler: HEAL_PTXAS, what `make ptxas` unpacked, or the one of the system. A test is skipped where
// there is none.
func Find(t testing.TB) string {
	t.Helper()
	names := []string{os.Getenv("HEAL_PTXAS")}
	root := ".."
	for range 6 { // more than the folders of the project are deep
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			names = append(names, filepath.Join(root, ".tools/cuda/usr/bin/ptxas"))
			break
		}
		root = filepath.Join("..", root)
	}
	for _, name := range append(names, "ptxas") {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("skipped: no ptxas (make ptxas)")
	return ""
}

// later are architectures that an assembler may know in place of one that its version no longer knows: PTX for an
// architecture is PTX for all later ones.
var later = []string{"sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90"}

// Run assembles a text for an architecture, or a later one, with more flags, and returns what the assembler says.
func Run(t testing.TB, ptxas, text, arch string, flags ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kernel.ptx")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for {
		args := append([]string{"-arch=" + arch, "-o", os.DevNull}, append(flags, file)...)
		out, err := exec.Command(ptxas, args...).CombinedOutput()
		next := slices.Index(later, arch) + 1
		if !strings.Contains(string(out), "is not defined for option 'gpu-name'") || next == 0 || next == len(later) {
			return string(out), err
		}
		arch = later[next]
	}
}

// Take fails the test when the assembler does not take one of the texts, for the first and for newer architectures.
func Take(t testing.TB, texts map[string]string) {
	t.Helper()
	ptxas := Find(t)
	for name, text := range texts {
		for _, arch := range []string{"sm_70", "sm_90"} {
			// -c: the function that sets a condition is the driver's.
			if out, err := Run(t, ptxas, text, arch, "-c"); err != nil {
				t.Errorf("%s for %s: %v\n%s", name, arch, err, out)
			}
		}
	}
}
