package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"healc/tests/sample"
)

// stopping is a program that fails in step 61 of its loop, where there is no file.
const stopping = `@io fn main() -> i32 = {
    let start: f32[60, 50] sharded(0) = tabulate(60, 50, |i, j| sin((i * 50 + j) as f32));
    print("begin");
    let (_k, u) = iterate(150, (0, start), |(k, u)| {
        if k % 20 == 0 { print(k) };
        let more = if k == 61 { load_npy[f32, 1]("PATH")[0] } else { 0.0 };
        (k + 1, u .* 0.99 .+ more + reshard(replicate(u)[.. by -1], 0) .* 0.01)
    });
    print(+/(u));
    0
}
`

// TestResume: a run that has failed is gone on with, on another number of ranks, and prints what it would have printed.
func TestResume(t *testing.T) {
	day := sample.Today(t)
	for _, c := range connections(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			npy, state := filepath.Join(dir, "more.npy"), filepath.Join(dir, "state")
			f := file(t, strings.ReplaceAll(stopping, "PATH", npy))
			save := file(t, fmt.Sprintf("@io fn main() = save_npy(%q, [0.5])\n", npy))
			there := func() {
				if code, _, stderr := run(command(t, nil, "run", save)); code != 0 {
					t.Fatal(stderr)
				}
			}
			there()
			code, want, stderr := run(command(t, nil, "run", f))
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d\n%s%s", code, want, stderr)
			}
			_, rest, _ := strings.Cut(want, "\n60\n")
			for i, n := range append(numbers(day), 1) {
				first := func(args ...string) (int, string, string) { return run(c.start(t, n, args...)) }
				next := func(args ...string) (int, string, string) { return run(command(t, nil, args...)) }
				if i%2 == 1 {
					first = next
					next = func(args ...string) (int, string, string) { return run(c.start(t, 3, args...)) }
				}
				_, _ = os.Remove(npy), os.Remove(state)
				code, stdout, stderr := first("run", f, "--checkpoint", state+",every=7")
				if code != 3 || stdout != "begin\n0\n20\n40\n60\n" || !strings.Contains(stderr, "more.npy") {
					t.Fatalf("%d ranks: exit code %d\n%s%s", n, code, stdout, stderr)
				}
				there()
				code, stdout, stderr = next("run", f, "--checkpoint", state+",every=7", "--resume")
				if code != 0 || stdout != "begin\n60\n"+rest { // from step 56 on
					t.Errorf("after %d ranks: exit code %d\n%s%s", n, code, stdout, stderr)
				}
				code, stdout, _ = first("run", f, "--checkpoint", state, "--resume") // which has ended
				last := want[strings.LastIndex(strings.TrimSpace(want), "\n")+1:]
				if code != 0 || stdout != "begin\n"+last {
					t.Errorf("after all: exit code %d\n%s", code, stdout)
				}
			}
		})
	}
}

// TestKilledCheckpoints: whenever the ranks are killed, the file is one that a run goes on from, or there is none yet.
func TestKilledCheckpoints(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	f := file(t, `@io fn main() -> i32 = {
    let start: f64[2000, 300] sharded(0) = tabulate(2000, 300, |i, j| (i + j) as f64);
    let u = iterate(120, start, |u| u .* 0.5 .+ 1.0);
    print(+/(u));
    0
}
`)
	code, want, stderr := run(command(t, nil, "run", f))
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	args := []string{"run", f, "--ranks", "3", "--checkpoint", state + ",every=1"}
	for i := 0; ; i++ {
		cmd := command(t, nil, args...)
		if _, err := os.Stat(state); err == nil {
			cmd.Args = append(cmd.Args, "--resume")
		}
		var killed *time.Timer
		if i < 8 { // the last one has all the time that it takes
			killed = time.AfterFunc(time.Duration(100+90*i)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		}
		code, stdout, stderr := run(cmd)
		if killed != nil && !killed.Stop() && code != 0 {
			if stderr != "" && !strings.Contains(stderr, "the process that has started the ranks has ended") {
				t.Fatalf("run %d: exit code %d\n%s%s", i, code, stdout, stderr)
			}
			time.Sleep(300 * time.Millisecond) // until the ranks have ended, too
			continue
		}
		if code != 0 || stdout != want {
			t.Fatalf("run %d: exit code %d\n%s%s", i, code, stdout, stderr)
		}
		return
	}
}
