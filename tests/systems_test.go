package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"healc/tests/sample"
)

// TestSystems: everything builds for other systems. Wine, where it is there and runs programs of Go, runs healc as
// Windows would: the interpreter has the output that it has here. Each system has a day of twelve, when nothing else
// that takes long has its day (TestRLWE).
func TestSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the compiler")
	}
	day := sample.Today(t)
	for _, system := range []struct {
		os, arch string
		turn     int
	}{{"windows", "amd64", 11}, {"darwin", "arm64", 5}} {
		t.Run(system.os, func(t *testing.T) {
			if !sample.Has(day, system.turn, 12) {
				t.Skip("the compiler is built for this system on another day")
			}
			dir := t.TempDir()
			for _, args := range [][]string{{"./..."}, {"-o", dir + string(filepath.Separator), "./cmd/healc"}} {
				build := exec.Command("go", append([]string{"build"}, args...)...)
				build.Dir = ".."
				build.Env = append(os.Environ(), "GOOS="+system.os, "GOARCH="+system.arch, "CGO_ENABLED=0")
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			if system.os == "windows" {
				inWine(t, filepath.Join(dir, "healc.exe"))
			}
		})
	}
}

// inWine runs programs by the interpreter of a healc for Windows, and by that of this system.
func inWine(t *testing.T, healc string) {
	wine, err := exec.LookPath("wine")
	if err != nil {
		t.Log("there is no wine to run it with")
		return
	}
	run := func(args ...string) (string, error) {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = ".."
		c.Env = append(os.Environ(), "WINEDEBUG=-all", "WINEPREFIX="+filepath.Join(filepath.Dir(healc), "wine"))
		out, err := c.Output()
		return string(out), err
	}
	if _, err := run(wine, healc, "version"); err != nil {
		t.Logf("this wine runs no program of Go, version 10 does: %v", err)
		return
	}
	for _, name := range []string{"examples/life.heal", "tests/programs/sha256.heal"} {
		want, err := run("go", "run", "./cmd/healc", "run", "--backend", "interp", name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := run(wine, healc, "run", "--backend", "interp", name); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nnot\n%s", name, err, got, want)
		}
	}
}
