// Package cluster_test runs healc as several ranks, as users do: with --ranks, and below the launchers of MPI.
package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"healc/cmd/healc/cli"
	"healc/tests/sample"
)

// asHealc makes the test binary healc.
const asHealc = "HEAL_TEST_AS_HEALC"

func TestMain(m *testing.M) {
	if os.Getenv(asHealc) != "" {
		os.Exit(cli.Main())
	}
	os.Exit(m.Run())
}

// hang is how long a run may take to end, on a machine that is busy; it is 2 s on one that is not.
const hang = 20 * time.Second

// command is healc with arguments, below a launcher or not.
func command(t *testing.T, launcher []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(append(slices.Clone(launcher), self), args...)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, line[0], line[1:]...)
	c.Env = append(os.Environ(), asHealc+"=1", "HEAL_CACHE=off", "HEAL_THREADS=1")
	return c
}

// run runs a command to its end.
func run(c *exec.Cmd) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return -1, out.String(), err.Error()
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// file writes a program.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.heal")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// connection is a way to run ranks.
type connection struct {
	name string
	args func(n int) (launcher, flags []string)
	env  string
}

// connections are those that a test takes: TCP, and each MPI of this machine, of which one has its turn a day.
func connections(t *testing.T) []connection {
	t.Helper()
	all := []connection{{name: "ranks", args: func(n int) (_, flags []string) {
		return nil, []string{"--ranks", fmt.Sprint(n)}
	}}}
	if testing.Short() {
		return all
	}
	mpis := installed(t)
	for i, c := range mpis {
		if sample.Has(sample.Today(t), i, len(mpis)) {
			all = append(all, c)
		}
	}
	return all
}

// installed are the MPIs of this machine.
func installed(t *testing.T) (all []connection) {
	t.Helper()
	for _, l := range []struct {
		program, lib string
		more         []string
	}{
		{"mpiexec.mpich", "libmpich.so.12", nil},
		{"mpiexec.openmpi", "libmpi.so.40", []string{"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}},
	} {
		if _, err := exec.LookPath(l.program); err != nil {
			t.Logf("%s is not installed: ranks of it are left out", l.program)
			continue
		}
		all = append(all, connection{name: l.program, env: "HEAL_LIBMPI=" + l.lib,
			args: func(n int) (launcher, flags []string) {
				return append(append([]string{l.program}, l.more...), "-n", fmt.Sprint(n)), []string{"--dist", "mpi"}
			}})
	}
	return all
}

// start is a run of healc as n ranks.
func (c connection) start(t *testing.T, n int, args ...string) *exec.Cmd {
	t.Helper()
	launcher, flags := c.args(n)
	cmd := command(t, launcher, append(args, flags...)...)
	if c.env != "" {
		cmd.Env = append(cmd.Env, c.env)
	}
	return cmd
}

// numbers are how many ranks a test takes: one number a day, or all.
func numbers(day int) []int {
	all := []int{2, 3, 4, 7}
	if sample.All() {
		return all
	}
	return []int{all[day%3]} // 7 ranks of a library that does not give way take long
}

// TestOutput: what ranks print and write, and their exit code, is that of one rank.
func TestOutput(t *testing.T) {
	day := sample.Today(t)
	const program = `@io
fn main() -> i32 = {
    let x = tabulate(10_000, |i| sin(i as f32));
    print(sum(x));
    save_npy("PATH", x);
    print(sum(load_npy[f32, 10_000]("PATH")));
    300
}
`
	for _, c := range connections(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			npy := filepath.Join(t.TempDir(), "x.npy")
			f := file(t, strings.ReplaceAll(program, "PATH", npy))
			code, want, stderr := run(command(t, nil, "run", f))
			if code != 44 || stderr != "" || strings.Count(want, "\n") != 2 {
				t.Fatalf("one rank: exit code %d\n%s%s", code, want, stderr)
			}
			for _, n := range numbers(day) {
				if err := os.Remove(npy); err != nil {
					t.Fatal(err)
				}
				code, stdout, stderr := run(c.start(t, n, "run", f))
				if code != 44 || stdout != want || c.env == "" && stderr != "" {
					t.Errorf("%d ranks: exit code %d\n%s%s\none prints\n%s", n, code, stdout, stderr, want)
				}
			}
		})
	}
}

// TestError: what fails is printed once, and is the exit code of all.
func TestError(t *testing.T) {
	day := sample.Today(t)
	f := file(t, "@io fn main() -> i32 = { let x = [1, 2, 3]; print(x); assert(sum(x) == 7); 0 }\n")
	for _, c := range connections(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range numbers(day) {
				code, stdout, stderr := run(c.start(t, n, "run", f))
				where := fmt.Sprintf("on rank 0 of %d", n)
				if code != 3 || stdout != "[1 2 3]\n" || strings.Count(stderr, "does not hold") != 1 ||
					!strings.Contains(stderr, "f.heal:1:55") || !strings.Contains(stderr, where) {
					t.Errorf("%d ranks: exit code %d\n%s%s", n, code, stdout, stderr)
				}
			}
		})
	}
}

// TestFullDisk: what fails on one rank alone ends the others, though they compute for minutes.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	f := file(t, endless)
	for _, c := range connections(t) {
		if c.env != "" {
			continue // the launcher reads what ranks print
		}
		var errs bytes.Buffer
		cmd := c.start(t, 3, "run", f)
		cmd.Stdout, cmd.Stderr = full, &errs
		start := time.Now()
		err := cmd.Run()
		if took := time.Since(start); err == nil || cmd.ProcessState.ExitCode() != 3 || took > hang ||
			strings.Count(errs.String(), "no space left on device") != 1 {
			t.Errorf("%v after %v\n%s", err, took, errs.String())
		}
	}
}

// endless prints, and then computes for long.
const endless = `@io fn main() -> i32 = { print("begin"); print(iterate(2_000_000_000, 1.0, |s| sin(s))); 0 }` + "\n"

// TestUsage: what ranks cannot be is said before anything runs.
func TestUsage(t *testing.T) {
	f := file(t, endless)
	mpi := []string{"run", f, "--dist", "mpi"}
	for _, c := range []struct {
		args []string
		env  string
		want string
	}{
		{[]string{"run", f, "--ranks", "0"}, "", "--ranks 0 is not from 1 to 128"},
		{[]string{"run", f, "--ranks", "129"}, "", "--ranks 129 is not from 1 to 128"},
		{[]string{"run", f, "--dist", "tcp"}, "", "--dist tcp is nothing that connects ranks"},
		{[]string{"run", f, "--dist", "mpi", "--ranks", "2"}, "", "--ranks and --dist do not go together"},
		{[]string{"run", f, "--ranks", "2", "--sandbox"}, "", "--sandbox does not go together with --ranks"},
		{[]string{"run", "-", "--dist", "mpi"}, "", "standard input is one"},
		{mpi, "HEAL_LIBMPI=libnone.so.7", "libnone.so.7"},
		{mpi, "HEAL_LIBMPI=libm.so.6", "it has no function MPI_"},
	} {
		cmd := command(t, nil, c.args...)
		cmd.Env = append(cmd.Env, c.env)
		if code, stdout, stderr := run(cmd); code != 2 || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}

// TestNoRank: what healc says to its ranks alone is an error for others.
func TestNoRank(t *testing.T) {
	cmd := command(t, nil, "run", file(t, endless), "--ranks", "2")
	cmd.Env = append(cmd.Env, "HEAL_RANK_OF=2")
	if code, stdout, stderr := run(cmd); code != 3 || stdout != "" || !strings.Contains(stderr, "HEAL_RANK_OF is set") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestNobodyReads: where nobody reads what it prints, a run ends without a word, as that of one rank does.
func TestNobodyReads(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	defer write.Close()
	var errs bytes.Buffer
	cmd := command(t, nil, "run", file(t, endless), "--ranks", "2")
	cmd.Stdout, cmd.Stderr = write, &errs
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 141 || errs.Len() > 0 {
		t.Errorf("%v\n%s", err, &errs)
	}
}
