package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"healc/tests/sample"
)

// TestExamples: programs of examples/cluster print as processes what they print alone. One a day, or all. All numbers
// of ranks are those of tests/shardings.
func TestExamples(t *testing.T) {
	day := sample.Today(t)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"heat", "files", "power", "sort"} {
		if !sample.Has(day, i, 4) {
			continue
		}
		program := filepath.Join("examples", "cluster", name+".heal")
		in := func(c connection, n int) string {
			cmd := c.start(t, n, "run", program)
			cmd.Dir = dir
			code, out, errs := run(cmd)
			if code != 0 {
				t.Fatalf("%s on %d ranks, %s: exit code %d\n%s", name, n, c.name, code, errs)
			}
			return out
		}
		all := connections(t)
		want := in(all[0], 1)
		for _, c := range all {
			if got := in(c, 3); got != want || got == "" {
				t.Errorf("%s on 3 ranks, %s, prints\n%swant\n%s", name, c.name, got, want)
			}
		}
	}
}
