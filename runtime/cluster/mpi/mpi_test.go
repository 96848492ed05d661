package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"healc/runtime/cluster"
	"healc/runtime/cluster/clustertest"
)

// launcher starts ranks with a library.
type launcher struct {
	name, lib string
	args      []string
}

// launchersHere are those of Debian.
var launchersHere = []launcher{
	{"mpiexec.mpich", "libmpich.so.12", nil},
	{"mpiexec.openmpi", "libmpi.so.40", []string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}},
}

// asRank is set for a test that is a rank, to what it does.
const asRank = "HEAL_TEST_RANK"

// run starts n ranks that do something, and says what they printed. What they print beside their tests is for people.
func (l launcher) run(t *testing.T, n int, what string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath(l.name); err != nil {
		t.Skipf("%s is not installed", l.name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, l.name, append(append([]string{}, l.args...), "-n", fmt.Sprint(n), self,
		"-test.run", "^TestAsRank$", "-test.v")...)
	c.Env = append(os.Environ(), asRank+"="+what, LibEnv+"="+l.lib)
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestMPI: MPI libraries do what Comm says, for several numbers of ranks, in one piece and in several.
func TestMPI(t *testing.T) {
	for _, l := range launchersHere {
		t.Run(l.name, func(t *testing.T) {
			// Starting ranks, and those that wait without giving way, take most of the time.
			numbers, whats := []int{2}, []string{"in pieces"}
			if os.Getenv("HEAL_TEST_LONG") != "" {
				numbers, whats = []int{1, 2, 3, 4, 7}, []string{"conforms", "in pieces"}
			}
			for _, n := range numbers {
				for _, what := range whats {
					out, err := l.run(t, n, what)
					if got := strings.Count(out, "--- PASS: TestAsRank"); err != nil || got != n {
						t.Errorf("%d ranks, %s: %d of them pass: %v\n%s", n, what, got, err, out)
					}
				}
			}
		})
	}
}

// TestMPIFailures: ranks that do not do the same get an error, the abort of one is the end of all with its exit code,
// and a nil pointer is still a panic.
func TestMPIFailures(t *testing.T) {
	for _, l := range launchersHere {
		t.Run(l.name, func(t *testing.T) {
			if out, err := l.run(t, 2, "lengths"); err != nil || strings.Count(out, "--- PASS: TestAsRank") != 2 {
				t.Errorf("different lengths: %v\n%s", err, out)
			}
			out, err := l.run(t, 3, "abort")
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 7 || strings.Contains(out, "--- ") {
				t.Errorf("an abort with 7: %v\n%s", err, out)
			}
			if out, err := l.run(t, 2, "nil"); err != nil || strings.Count(out, "--- PASS: TestAsRank") != 2 {
				t.Errorf("a nil pointer: %v\n%s", err, out)
			}
		})
	}
}

// TestAsRank is what a rank of the tests above does.
func TestAsRank(t *testing.T) {
	what := os.Getenv(asRank)
	if what == "" {
		t.Skip("this is for ranks that other tests start")
	}
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(); err == nil || !strings.Contains(err.Error(), "started in this process before") {
		t.Errorf("MPI is started twice: %v", err)
	}
	switch what {
	case "conforms":
		err = clustertest.Conforms(c)
	case "in pieces":
		c.(*mpi).most = 1<<14 - 1
		err = clustertest.Conforms(c)
	case "lengths":
		// Rank 1 sends 7 bytes in place of 8.
		err = c.SendRecv([]byte("12345678")[:8-c.Rank()], 1-c.Rank(), make([]byte, 8), 1-c.Rank())
		var length *cluster.LengthError
		if c.Rank() == 0 && errors.As(err, &length) && *length == (cluster.LengthError{From: 1, Sent: 7, Want: 8}) {
			err = nil
		}
		_ = c.(*mpi).lib.call(c.(*mpi).lib.finalize)
	case "abort":
		if c.Rank() == 1 {
			c.Abort(7, "for a test")
		}
		err = c.Barrier()
	case "nil":
		func() {
			defer func() {
				if recover() == nil {
					t.Error("reading nil does not panic")
				}
			}()
			var p *[1 << 20]int
			t.Log(p[os.Getpid()&7])
		}()
		err = c.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// TestLibraries: a library that is missing, or none of MPI, is named.
func TestLibraries(t *testing.T) {
	for path, want := range map[string]string{
		"libnone.so.9": "libnone.so.9",
		"libm.so.6":    "libm.so.6: it has no function MPI_",
	} {
		if _, err := findLibrary(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestLaunchers: a launcher that has started another number of processes is named.
func TestLaunchers(t *testing.T) {
	t.Setenv("OMPI_COMM_WORLD_SIZE", "")
	t.Setenv("PMI_SIZE", "4")
	t.Setenv("PMI_RANK", "2")
	var wrong *LauncherError
	if err := checkLauncher(1, "libmpi"); !errors.As(err, &wrong) || wrong.Started != 4 || wrong.Rank != 2 {
		t.Errorf("1 rank of 4: %v", err)
	}
	if err := checkLauncher(4, "libmpi"); err != nil {
		t.Error(err)
	}
	t.Setenv("OMPI_COMM_WORLD_SIZE", "3") // the inner one counts
	if err := checkLauncher(4, "libmpi"); !errors.As(err, &wrong) || wrong.Variable != "OMPI_COMM_WORLD_SIZE" {
		t.Errorf("4 ranks of 3: %v", err)
	}
	t.Setenv("OMPI_COMM_WORLD_SIZE", "")
	t.Setenv("PMI_SIZE", "")
	if err := checkLauncher(1, "libmpi"); err != nil {
		t.Errorf("without a launcher: %v", err)
	}
}

// TestOtherLauncher: under the launcher of another library each process sees one rank, and says so.
func TestOtherLauncher(t *testing.T) {
	for i, l := range launchersHere {
		other := launchersHere[1-i]
		t.Run(l.name, func(t *testing.T) {
			if _, err := findLibrary(other.lib); err != nil {
				t.Skip(err)
			}
			l.lib = other.lib
			out, err := l.run(t, 2, "conforms")
			if err == nil || strings.Count(out, "has started 2 processes") == 0 {
				t.Errorf("with %s: %v\n%s", l.lib, err, out)
			}
		})
	}
}
