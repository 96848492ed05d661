package cluster_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"healc/tests/sample"
)

// children are the processes that a process has started.
func children(pid int) (out []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		more, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		text = append(append(text, ' '), more...)
	}
	seen := map[int]bool{}
	for _, word := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(word); err == nil && !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// begun starts a run of three ranks, and waits until they are there.
func begun(t *testing.T, program string) (c *exec.Cmd, ranks []int, out, errs *bytes.Buffer) {
	t.Helper()
	c = command(t, nil, "run", program, "--ranks", "3")
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = out, errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(hang); len(ranks) < 3; ranks = children(c.Process.Pid) {
		if time.Now().After(limit) {
			t.Fatalf("there are %d ranks", len(ranks))
		}
		time.Sleep(time.Millisecond)
	}
	return c, ranks, out, errs
}

// gone waits until processes have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for limit := time.Now().Add(hang); ; time.Sleep(5 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err == nil && !bytes.Contains(stat, []byte(") Z ")) { // nobody may ask for the end of an orphan
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %v are still there", left, pids)
		}
	}
}

// times is how often a test kills something.
func times() int {
	if sample.All() {
		return 100
	}
	return 4
}

// TestKilled: a rank that is killed, in whatever it is at, is the end of all, and is named.
func TestKilled(t *testing.T) {
	program := file(t, endless)
	short := file(t, "@io fn main() -> i32 = { print(sum(tabulate(1000, |i| i))); 0 }\n")
	var slowest time.Duration
	for i := range times() {
		wait := time.Duration(rand.IntN(300)) * time.Millisecond
		which, path := rand.IntN(3), program
		if i%2 == 1 {
			path, wait = short, wait/3
		}
		c, ranks, out, errs := begun(t, path)
		time.Sleep(wait)
		killed := syscall.Kill(ranks[which], syscall.SIGKILL) == nil
		start := time.Now()
		err := c.Wait()
		gone(t, ranks)
		took := time.Since(start)
		if slowest = max(slowest, took); took > hang {
			t.Errorf("after %v: the run has ended %v after a rank", wait, took)
		}
		code, said := c.ProcessState.ExitCode(), errs.String()
		ended := code == 0 && said == "" && out.String() == "499500\n" // before it was killed, or with it
		named := code == 3 && strings.Count(said, "error") == 1 &&
			strings.Contains(said, "was ended by the system: killed")
		if path == short && ended || named && killed {
			continue
		}
		t.Errorf("rank %d killed after %v: %v\n%s%s", which, wait, err, out, errs)
	}
	t.Logf("the slowest of %d runs has ended %v after a rank", times(), slowest)
}

// TestKilledStarter: ranks end with who has started them.
func TestKilledStarter(t *testing.T) {
	program := file(t, endless)
	for range max(times()/3, 1) {
		wait := time.Duration(rand.IntN(300)) * time.Millisecond
		c, ranks, _, _ := begun(t, program)
		time.Sleep(wait)
		start := time.Now()
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		gone(t, ranks)
		if took := time.Since(start); took > hang {
			t.Errorf("after %v: the ranks have ended %v later", wait, took)
		}
		_ = c.Wait()
	}
}

// TestSignals: a signal ends all ranks, with its exit code and one message.
func TestSignals(t *testing.T) {
	program := file(t, endless)
	for s, want := range map[syscall.Signal]string{syscall.SIGINT: "interrupted", syscall.SIGTERM: "terminated"} {
		c, ranks, out, errs := begun(t, program)
		for limit := time.Now().Add(hang); time.Now().Before(limit) && len(children(c.Process.Pid)) == 3; {
			if mem, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", ranks[0])); bytes.Contains(mem, []byte("VmRSS")) {
				break
			}
		}
		time.Sleep(500 * time.Millisecond)
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_ = c.Wait()
		if took := time.Since(start); c.ProcessState.ExitCode() != 128+int(s) || took > hang ||
			strings.Count(errs.String(), "error") != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exit code %d after %v\n%s%s", s, c.ProcessState.ExitCode(), took, out, errs)
		}
		gone(t, ranks)
	}
}
