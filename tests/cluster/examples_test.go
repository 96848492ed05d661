package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"healc/tests/sample"
)

// TestExamples: programs of examples/cluster print as processes what they print alone, over TCP and MPI. One a day, or
// all. All numbers of ranks are those of tests/shardings. Connections share a cache of compiled code.
func TestExamples(t *testing.T) {
	day := sample.Today(t)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob("../../examples/cluster/*.heal")
	if err != nil || len(programs) < 8 {
		t.Fatal(programs, err)
	}
	for i, path := range programs {
		if !sample.Has(day, i, len(programs)) {
			continue
		}
		name := filepath.Base(path)
		program, cache := filepath.Join("examples", "cluster", name), t.TempDir()
		in := func(c connection, n int) string {
			cmd := c.start(t, n, "run", program)
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, "HEAL_CACHE="+cache)
			code, out, errs := run(cmd)
			if code != 0 {
				t.Fatalf("%s on %d ranks, %s: exit code %d\n%s", name, n, c.name, code, errs)
			}
			return out
		}
		all := connections(t)
		if !testing.Short() {
			all = append(all[:1:1], installed(t)...) // on the days of a program it would always be the same MPI
		}
		want := in(all[0], 1)
		for _, c := range all {
			if got := in(c, 3); got != want || got == "" {
				t.Errorf("%s on 3 ranks, %s, prints\n%swant\n%s", name, c.name, got, want)
			}
		}
	}
}
