package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"healc/codegen/llvm/libllvm"
)

// TestSignalsSoon: a signal ends healc while it compiles, reads and writes files, and writes to a pipe that nobody
// reads. How long it waits for a processor is the machine's: what counts is the processor time that it takes after the
// signal. The least of several runs counts, as a signal may come late.
func TestSignalsSoon(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	const soon = 100 * time.Millisecond
	var sines strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&sines, " + sin(%d.0 * (n as f64))", i)
	}
	const elements = 100_000_000
	programs := map[string]string{
		"compile.heal": "fn f(n: i32) -> f64 = 1.0" + sines.String() + "\n",
		"in.heal":      "fn f[N](x: f64[N]) -> f64 = sum(x)\n",
		"reads.heal":   fmt.Sprintf("@io fn main() = print(sum(load_npy[f64, %d](\"x.npy\")))\n", elements),
		"writes.heal": "@io fn main() = { let x = tabulate(30000000, |i| 0.0); " +
			"iterate(1000, 0, |i| { save_npy(\"y.npy\", x); i + 1 }); () }\n",
		"prints.heal": "@io fn main() = { iterate(1000000000, 0, |i| { print(\"" + strings.Repeat("again ", 20) +
			"\"); i + 1 }); () }\n",
		"endless.heal": endless,
	}
	dir := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Of 128 bytes before the elements, and of 96, which is no multiple of 64: it is read, and not mapped.
	for name, size := range map[string]int{"x.npy": 128, "apart.npy": 96} {
		head := fmt.Sprintf("%-*s\n", size-11, fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }",
			elements))
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("\x93NUMPY\x01\x00"+string(rune(size-10))+"\x00"+head), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, int64(size+8*elements)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		args string
		from time.Duration // of processor time
	}{
		{"compiles", "compile.heal --entry f --in n=3", 300 * time.Millisecond},
		{"an input that is mapped", "in.heal --entry f --in x=@x.npy", 60 * time.Millisecond},
		{"an input that is read", "in.heal --entry f --in x=@apart.npy", 60 * time.Millisecond},
		{"reads", "reads.heal", 100 * time.Millisecond},
		{"writes", "writes.heal", 400 * time.Millisecond},
		{"a full pipe", "prints.heal", 0},
		{"a sandbox", "endless.heal --sandbox --allow-write .", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			least := time.Hour
			for i := 0; i < 5 && least > soon; i++ {
				least = min(least, endedAfter(t, dir, c.from, append([]string{"run"}, strings.Fields(c.args)...)))
			}
			if t.Log(least); least > soon {
				t.Errorf("it took %v of processor time to end", least)
			}
			left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
			if err != nil || len(left) > 0 {
				t.Errorf("it left %v, %v", left, err)
			}
		})
	}
}

// endedAfter runs healc, interrupts it when it has taken so much processor time, or else when it waits, and gives the
// processor time that it took from then on.
func endedAfter(t *testing.T, dir string, from time.Duration, args []string) time.Duration {
	t.Helper()
	c := exec.Command("healc", args...)
	c.Dir = dir
	c.Env = os.Environ()
	setEnv(func(key, value string) { c.Env = append(c.Env, key+"="+value) }, c.Dir)
	c.Env = append(c.Env, "HEAL_CACHE=off")
	out, err := c.StdoutPipe() // which nobody reads
	if err != nil {
		t.Fatal(err)
	}
	var message bytes.Buffer
	c.Stderr = &message
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer kill.Stop()
	taken := takenBy(c.Process.Pid)
	if from > 0 {
		await(t, func() bool { taken = takenBy(c.Process.Pid); return taken >= from })
	} else { // the first line is there: it runs
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		taken = takenBy(c.Process.Pid)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code says it
	if code := c.ProcessState.ExitCode(); code != 130 || message.String() != "error: the program was interrupted\n" {
		t.Errorf("exit code %d and\n%s", code, message.String())
	}
	return c.ProcessState.SystemTime() + c.ProcessState.UserTime() - taken
}

// takenBy is the processor time of the threads of a process and of its children that are there.
func takenBy(pid int) (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // none: it has ended
	for _, path := range threads {
		text, err := os.ReadFile(path)
		var ns time.Duration
		if _, serr := fmt.Sscan(string(text), &ns); err == nil && serr == nil {
			sum += ns
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range processes {
		text, err := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ")
		var state string
		var parent int
		if _, serr := fmt.Sscan(rest, &state, &parent); err != nil || serr != nil || parent != pid {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			sum += takenBy(child)
		}
	}
	return sum
}
