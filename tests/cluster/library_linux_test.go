package cluster_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/runtime/tensor"
)

// compiled is a program of C that is linked with a library of healc, by a compiler of an MPI.
func compiled(t *testing.T, c connection, source string, compile ...string) (dir string) {
	t.Helper()
	cc, err := exec.LookPath(strings.Replace(c.name, "mpiexec", "mpicc", 1))
	if err != nil {
		t.Skipf("the headers of MPI are not installed: %v", err)
	}
	dir = t.TempDir()
	cmd := command(t, nil, append([]string{"compile"}, compile...)...)
	cmd.Dir = dir
	if code, stdout, stderr := run(cmd); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	build := exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-I.", source, "./heat.so", "-o", "program")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// launch runs the program of a folder as n ranks.
func launch(t *testing.T, c connection, n int, dir string) (code int, stdout, stderr string) {
	t.Helper()
	launcher, _ := c.args(n)
	cmd := command(t, launcher)
	cmd.Args[len(cmd.Args)-1] = filepath.Join(dir, "program")
	cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+dir)
	return run(cmd)
}

// absolute is the path of a file for a command that runs in another folder.
func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// TestLibrary: the program of examples/library, in C with each MPI, has on any number of ranks the bits that healc has
// on one, and says so where there is no code for a number of ranks.
func TestLibrary(t *testing.T) {
	text, err := os.ReadFile("../../examples/cluster/heat.heal")
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.Compile(string(text), engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("heat")
	if err != nil {
		t.Fatal(err)
	}
	plate := make([]float64, 256*192)
	for k := range 192 {
		plate[k] = 100
	}
	after, err := f.Call(context.Background(), tensor.FromSlice(plate, 256, 192), tensor.Scalar(int32(40)))
	if err != nil {
		t.Fatal(err)
	}
	hash := fnv.New64a()
	hash.Write(after.Raw())
	want := fmt.Sprintf("all bits: %016x\n", hash.Sum64())
	overMPI(t, func(t *testing.T, c connection) {
		dir := compiled(t, c, absolute(t, "../../examples/library/ranks.c"),
			absolute(t, "../../examples/cluster/heat.heal"), "-o", "heat.so", "--entry", "heat", "--ranks", "2,3",
			"--shape", "N=256", "--shape", "M=192", "--cpu", "native")
		for _, n := range []int{1, 2, 3} {
			if code, stdout, stderr := launch(t, c, n, dir); code != 0 || !strings.HasSuffix(stdout, want) {
				t.Errorf("%d ranks: exit code %d\n%s%s\nwant %s", n, code, stdout, stderr, want)
			}
		}
		code, _, stderr := launch(t, c, 4, dir)
		if code == 0 || !strings.Contains(stderr, "no code for 4 ranks") {
			t.Errorf("4 ranks: exit code %d\n%s", code, stderr)
		}
	})
}

// failing is a program whose function fails on the last rank alone, while others wait for what it has.
const failing = `#include <mpi.h>
#include <stdio.h>
#include "heat.h"
int main(int argc, char **argv) {
  int rank, ranks;
  int32_t x[8], at[8], out[8];
  int64_t n, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (heat_set_mpi(MPI_COMM_WORLD) != HEAL_OK) return 1;
  n = heat_block_of(8, rank, ranks, NULL);
  for (i = 0; i < n; i++) { x[i] = 1; at[i] = rank == ranks - 1 ? 8 : 0; }
  heat_pick(x, at, out);
  printf("it goes on\n");
  MPI_Finalize();
  return 0;
}
`

// TestLibraryFails: what fails on one rank ends all, with its message.
func TestLibraryFails(t *testing.T) {
	program := file(t, "pub fn pick[N](x: i32[N] sharded(0), at: i32[N] sharded(0)) -> i32[N] sharded(0) =\n"+
		"    replicate(x[at])[at]\n")
	overMPI(t, func(t *testing.T, c connection) {
		source := filepath.Join(t.TempDir(), "failing.c")
		if err := os.WriteFile(source, []byte(failing), 0o666); err != nil {
			t.Fatal(err)
		}
		dir := compiled(t, c, source, program, "-o", "heat.so", "--ranks", "2", "--shape", "N=8", "--cpu", "native")
		code, stdout, stderr := launch(t, c, 2, dir)
		if code == 0 || stdout != "" || !strings.Contains(stderr, "index 8 is out of range for an axis of extent 8") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
}
