package ranks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"healc/cmd/healc/cli"
	"healc/cmd/healc/ranks"
	"healc/runtime/cluster"
	"healc/runtime/cluster/clustertest"
	"healc/runtime/cluster/mesh"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// TestMain lets the test binary be the healc that ranks are.
func TestMain(m *testing.M) {
	if ranks.Inside() {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// each runs command lines, one a rank, and returns the exit code and what is said of it.
func each(t *testing.T, input string, lines ...string) (code int, said string) {
	t.Helper()
	start := time.Now()
	code, err := ranks.StartEach(ranks.Command{Ranks: len(lines), Input: []byte(input)},
		func(r int) []string { return strings.Fields(lines[r]) },
		func(report, message string) { said += report + message })
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 20*time.Second { // on a busy machine
		t.Errorf("%q has taken %v", lines, took)
	}
	return code, said
}

// TestOthers: ranks that were started for different things say so, once.
func TestOthers(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"f":     "fn f(x: f32[2]) -> f32[2] = x\nfn g(x: f32[2]) -> f32[2] = x\n@io fn main() -> i32 = 5\n",
		"other": "fn f(x: f32[2]) -> f32[2] = x .+ 1.0\n",
		"wrong": "fn f(x: f32[2]) -> f32[3] = x\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".heal"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string) string {
		return "run " + filepath.Join(dir, name+".heal") + " --ranks 3 --backend interp --entry "
	}
	same := run("f") + "f --in x=[1,2]"
	for _, c := range []struct {
		line string // of rank 2
		code int
		want string // said of it
	}{
		{same, 0, ""},
		{run("other") + "f --in x=[1,2]", 3, "the ranks do not run the same: the programs differ\n   = rank 0: "},
		{run("f") + "g --in x=[1,2]", 3, "the functions that are called differ\n   = rank 0: f(x: f32[2])"},
		{run("f") + "f --in x=[1,3]", 3, "the values of the inputs differ\n   = rank 0: x: checksum"},
		{same + " --max-steps 1000000", 3, "the options differ\n   = rank 0: backend interp, at most 0 steps"},
		{run("f") + "f --in x=@nowhere.npy", 2, "nowhere.npy"},
		{run("wrong") + "f --in x=[1,2]", 1, "error[E0205]"},
	} {
		code, said := each(t, "", same, same, c.line)
		if code != c.code || strings.Count(said, "error") > 1 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d\n%s", c.line, code, said)
		}
	}
	if code, said := each(t, files["f"], "run - --ranks 2", "run - --ranks 2"); code != 5 || said != "" {
		t.Errorf("from standard input: exit code %d\n%s", code, said)
	}
}

// TestOtherFiles: ranks of which each reads its part of a file find out that it is another one.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "f.heal")
	if err := os.WriteFile(source, []byte("fn f(x: f32[200] sharded(0)) -> f32 = +/(x)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	line := func(file string) string { return "run " + source + " --ranks 2 --entry f --in x=@" + file }
	var files []string
	for i := range 2 {
		data := make([]float32, 200)
		data[199] = float32(i)
		x := tensor.FromSlice(data, 200)
		files = append(files, filepath.Join(dir, fmt.Sprint(i)+".npy"))
		if err := tensorfile.WriteNpyFile(files[i], x); err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	if code, said := each(t, "", line(files[0]), line(files[0])); code != 0 || said != "" {
		t.Errorf("of one file: exit code %d\n%s", code, said)
	}
	code, said := each(t, "", line(files[0]), line(files[1]))
	if want := "the values of the inputs differ\n   = rank 0: x: 928 bytes, checksum"; code != 3 ||
		!strings.Contains(said, want) {
		t.Errorf("of two files: exit code %d\n%s", code, said)
	}
}

// TestThreads: ranks that may use the same processors share them.
func TestThreads(t *testing.T) {
	comms, err := mesh.Local(3)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range clustertest.OnEach(comms, func(c cluster.Comm) error {
		for _, of := range [][2]int{{2, 1}, {3, 1}, {8, 2}, {9, 3}} {
			all, want := of[0], of[1]
			if got, err := ranks.Threads(c, all); err != nil || got != want {
				return fmt.Errorf("of %d threads it has %d: %w", all, got, err)
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
