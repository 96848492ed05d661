//go:build unix

package cli_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"healc/codegen/llvm/libllvm"
)

const endless = `
@io fn main() -> i32 {
    print("begun");
    save_npy("begun.npy", [1.0]);
    print(iterate(2000000000, 1.0, |s| sin(s)));
    print(iterate(2000000000, 1.0, |s| sin(s)));
    0
}
`

func backends() []string {
	if _, err := libllvm.Open(); err != nil {
		return []string{"interp"}
	}
	return []string{"interp", "cpu", "ptxsim"}
}

// andDevice are the backends, with a GPU where the tests are to use one.
func andDevice() []string {
	if os.Getenv("HEAL_TEST_DEVICE") == "gpu" {
		return append(backends(), "gpu")
	}
	return backends()
}

// start starts healc in a folder of its own; end waits for it, and kills it when it takes too long.
func start(t *testing.T, stdin io.Reader, args ...string) (c *exec.Cmd, out *bytes.Buffer, end func() int) {
	t.Helper()
	c = exec.Command("healc", args...)
	c.Dir = t.TempDir()
	c.Env = os.Environ()
	setEnv(func(key, value string) { c.Env = append(c.Env, key+"="+value) }, c.Dir)
	if err := os.WriteFile(filepath.Join(c.Dir, "endless.heal"), []byte(endless), 0o600); err != nil {
		t.Fatal(err)
	}
	out = &bytes.Buffer{}
	c.Stdin, c.Stdout, c.Stderr = stdin, out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, out, func() int {
		kill := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() }) // 100 ms on a quiet machine
		defer kill.Stop()
		_ = c.Wait() // the exit code says it
		return c.ProcessState.ExitCode()
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the program did not begin")
}

// TestSignals: Ctrl-C and SIGTERM end a program inside of a kernel; what it printed is there. So it is in a sandbox,
// where they reach only the process that waits for it.
func TestSignals(t *testing.T) {
	endedBySignals(t)
	if runtime.GOOS == "linux" {
		endedBySignals(t, "--sandbox", "--allow-write", ".")
	}
}

func endedBySignals(t *testing.T, flags ...string) {
	t.Helper()
	for _, backend := range andDevice() {
		if backend == "gpu" && len(flags) > 0 { // a sandbox has no devices
			continue
		}
		for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			c, out, end := start(t, nil, append([]string{"run", "endless.heal", "--backend", backend}, flags...)...)
			await(t, func() bool {
				_, err := os.Stat(filepath.Join(c.Dir, "begun.npy"))
				return err == nil
			})
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			word := map[syscall.Signal]string{syscall.SIGINT: "interrupted", syscall.SIGTERM: "terminated"}[signal]
			got, want := end(), "begun\nerror: the program was "+word+"\n"
			if got != code || out.String() != want {
				t.Errorf("%s, %v: exit code %d, not %d, and\n%s", backend, signal, got, code, out)
			}
		}
	}
}

// TestReplSignals: Ctrl-C stops an input of a session, and nothing else.
func TestReplSignals(t *testing.T) {
	for _, backend := range andDevice() {
		in, keys := io.Pipe()
		c, out, end := start(t, in, "repl", "--backend", backend)
		enter := func(line string) {
			if _, err := io.WriteString(keys, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		enter("let x = 41")
		enter(`save_npy("begun.npy", [1.0]); iterate(2000000000, 1.0, |s| sin(s))`)
		await(t, func() bool {
			_, err := os.Stat(filepath.Join(c.Dir, "begun.npy"))
			return err == nil
		})
		if err := c.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		enter("x + 1")
		keys.Close()
		code := end()
		if want := "error: the program was interrupted\n42\n"; code != 0 ||
			strings.ReplaceAll(out.String(), "\n\n", "\n") != want {
			t.Errorf("%s: exit code %d and\n%s", backend, code, out)
		}
	}
}

// TestStackLimit: recursion goes as deep, whatever stack the system gives to threads.
func TestStackLimit(t *testing.T) {
	const deep = `fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }
@io fn main() = { print(map(|x| down(x), [3, 10000 - 1, 7])); print(down(10000)) }
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "deep.heal"), []byte(deep), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kib := range []string{"256", "8192", "unlimited"} {
		for _, backend := range backends() {
			c := exec.Command("sh", "-c", "ulimit -s "+kib+" && exec healc run deep.heal --backend "+backend)
			c.Dir = dir
			text, _ := c.CombinedOutput() // the exit code says it
			got := string(text)
			if c.ProcessState.ExitCode() != 3 || !strings.HasPrefix(got, "[   3 9999    7]\n") ||
				!strings.Contains(got, "error: calls are nested more than 10000 deep") ||
				strings.Contains(got, "goroutine") {
				t.Errorf("%s with %s KiB: exit code %d and\n%.1000s", backend, kib, c.ProcessState.ExitCode(), got)
			}
		}
	}
}

// TestAddressSpace: a process that may map little ends with an error that says what there was no room for, and never in
// Go's runtime. That reserves 1250 MiB (586 and 512 for its tables, 64 to 128 for a heap that begins anywhere in its
// first arena) and glibc 72 for each thread, before it runs a line of healc: with less, some starts in a hundred end
// before healc can say anything, and are made again.
func TestAddressSpace(t *testing.T) {
	for _, backend := range backends() {
		if backend == "ptxsim" {
			continue
		}
		for _, c := range []struct {
			kib, want string
			starts    int
		}{{"1000000", "healc takes up to", 5}, {"1700000", "healc takes up to", 1}, {"1990000", "healc takes up to", 1},
			{"2300000", "[20000, ", 1}} {
			code, got := sortsLarge(t, c.kib, backend)
			for ; c.starts > 1 && inGoRuntime(got); c.starts-- {
				code, got = sortsLarge(t, c.kib, backend)
			}
			if code != 3 || !strings.Contains(got, c.want) || strings.Contains(got, "goroutine") {
				t.Errorf("%s with %s KiB: exit code %d and\n%.1000s", backend, c.kib, code, got)
			}
		}
	}
}

// inGoRuntime reports that Go's runtime found no memory to begin with.
func inGoRuntime(text string) bool {
	return strings.Contains(text, "fatal error: out of memory") || strings.Contains(text, "pthread_create failed")
}

// sortsLarge sorts 1.2 GiB in a process that may map so many KiB.
func sortsLarge(t *testing.T, kib, backend string) (code int, text string) {
	t.Helper()
	c := exec.Command("sh", "-c", "ulimit -v "+kib+" && exec healc run large.heal --backend "+backend)
	c.Dir = t.TempDir()
	const large = "@io fn main() = print(sort(tabulate(20000, 8000, |i, j| (i * j) as f64)))\n"
	if err := os.WriteFile(filepath.Join(c.Dir, "large.heal"), []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	b, _ := c.CombinedOutput() // the exit code says it
	return c.ProcessState.ExitCode(), string(b)
}
