package cluster_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"healc/runtime/tensorfile"
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

// ended reports that a process has ended, also one whose end nobody has asked for.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// gone waits until processes have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for limit := time.Now().Add(hang); ; time.Sleep(5 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if !ended(pid) {
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

// quick is how long a run that is not in the way of others takes to end. On a machine that is busy some take longer,
// and most do not.
const quick = 2 * time.Second

// TestKilled: a rank that is killed, in whatever it is at, is the end of all, and is named.
func TestKilled(t *testing.T) {
	program := file(t, endless)
	short := file(t, "@io fn main() -> i32 = { print(sum(tabulate(1000, |i| i))); 0 }\n")
	exchanges := file(t, exchanging)
	var all []time.Duration
	for i := range times() {
		wait := time.Duration(rand.IntN(300)) * time.Millisecond
		which, path := rand.IntN(3), []string{program, short, exchanges}[i%3]
		if path == short {
			wait /= 3
		}
		c, ranks, out, errs := begun(t, path)
		time.Sleep(wait)
		killed := syscall.Kill(ranks[which], syscall.SIGKILL) == nil
		start := time.Now()
		err := c.Wait()
		gone(t, ranks)
		took := time.Since(start)
		if all = append(all, took); took > hang {
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
	slices.Sort(all)
	t.Logf("of %d runs the slowest has ended %v after a rank", len(all), all[len(all)-1])
	if all[len(all)/4] > quick {
		t.Errorf("most runs end more than %v after a rank: %v", quick, all)
	}
}

// exchanging is in exchanges nearly all of its time: rows that are sent to neighbours, and sums.
const exchanging = `fn step[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) =
    (roll(x, 1, 0) + roll(x, -1, 0)) * 0.5

@io fn main() = {
    let x: f32[64, 16] sharded(0) = tabulate(64, 16, |i, k| (i * k) as f32);
    print(sum(iterate(2_000_000_000, x, |s| step(s))));
}
`

// written is files that ranks write into a folder, one after the other.
type written struct {
	dir      string
	files, n int
}

// program writes the files, and does not end.
func (w written) program(t *testing.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "@io fn main() = {\n    let x: f32[%d] sharded(0) = tabulate(%d, |i| i as f32);\n", w.n, w.n)
	for k := range w.files {
		fmt.Fprintf(&b, "    save_npy(%q, x + %d.0);\n", filepath.Join(w.dir, fmt.Sprintf("x%d.npy", k)), k)
	}
	b.WriteString("    print(iterate(2_000_000_000, 1.0, |s| sin(s)));\n}\n")
	return file(t, b.String())
}

// whole says how many files are there under their names, all of which have to be whole, and removes what is there.
func (w written) whole(t *testing.T) (whole int) {
	t.Helper()
	for k := range w.files {
		path := filepath.Join(w.dir, fmt.Sprintf("x%d.npy", k))
		x, err := tensorfile.ReadNpyFile(path)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for i, bits := range x.Bits() {
			if v := math.Float32frombits(uint32(bits)); v != float32(i+k) {
				t.Fatalf("element %d of %s is %v", i, path, v)
			}
		}
		whole++
		x.Close()
	}
	left, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range left { // what has another name may be a part
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	return whole
}

// begins waits until some of the files are there, or parts of them.
func (w written) begins(t *testing.T, out, errs *bytes.Buffer) {
	t.Helper()
	some := 1 + rand.IntN(w.files)
	for limit := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		if left, err := os.ReadDir(w.dir); len(left) >= some {
			break
		} else if err != nil || time.Now().After(limit) {
			t.Fatalf("nothing is written: %v\n%s%s", err, out, errs)
		}
	}
	time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
}

// TestNoPartOfAFile: whenever a rank is killed, a file under its name is whole.
func TestNoPartOfAFile(t *testing.T) {
	w := written{t.TempDir(), 6, 300_000}
	program, whole, killed := w.program(t), 0, 0
	for range times() {
		c, ranks, out, errs := begun(t, program)
		w.begins(t, out, errs)
		if syscall.Kill(ranks[rand.IntN(3)], syscall.SIGKILL) == nil {
			killed++
		}
		_ = c.Wait()
		gone(t, ranks)
		whole += w.whole(t)
	}
	t.Logf("%d runs were ended, and have left %d whole files", killed, whole)
	if killed == 0 {
		t.Error("no rank was there to be killed")
	}
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

// TestSignals: a signal ends all ranks, with its exit code and one message, whether they have joined each other by then
// or have no handler of it yet.
func TestSignals(t *testing.T) {
	program := file(t, endless)
	for i := range times() {
		for s, want := range map[syscall.Signal]string{syscall.SIGINT: "interrupted", syscall.SIGTERM: "terminated"} {
			wait := time.Duration(i) * 500 * time.Millisecond / time.Duration(times()-1)
			c, ranks, out, errs := begun(t, program)
			time.Sleep(wait)
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_ = c.Wait()
			if took := time.Since(start); c.ProcessState.ExitCode() != 128+int(s) || took > hang ||
				strings.Count(errs.String(), "error") != 1 || !strings.Contains(errs.String(), want) {
				t.Errorf("%v after %v: exit code %d after %v\n%s%s", s, wait, c.ProcessState.ExitCode(), took,
					out, errs)
			}
			gone(t, ranks)
		}
	}
}
