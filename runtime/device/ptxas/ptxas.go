// Package ptxas asks NVIDIA's assembler, for tests.
package ptxas

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

var architectures = regexp.MustCompile(`\bsm_([0-9]+)\b`)

// For is the architecture for which an assembler makes code of PTX for arch: the same, or, where its version no longer
// knows that one, the first later one.
func For(t testing.TB, ptxas, arch string) string {
	t.Helper()
	help, err := exec.Command(ptxas, "--help").Output()
	wanted, bad := strconv.Atoi(strings.TrimPrefix(arch, "sm_"))
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	best := 0
	for _, found := range architectures.FindAllSubmatch(help, -1) {
		if n, _ := strconv.Atoi(string(found[1])); n >= wanted && (best == 0 || n < best) {
			best = n
		}
	}
	if best == 0 {
		t.Fatalf("%s --help names nothing from %s on", ptxas, arch)
	}
	return fmt.Sprintf("sm_%d", best)
}

// Run assembles a text for an architecture (see For), with more flags, and returns what the assembler says.
func Run(t testing.TB, ptxas, text, arch string, flags ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kernel.ptx")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-arch=" + For(t, ptxas, arch), "-o", os.DevNull}, append(flags, file)...)
	out, err := exec.Command(ptxas, args...).CombinedOutput()
	return string(out), err
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
