package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"healc/codegen/llvm/libllvm"
)

// terminal is a pseudo-terminal: programs write to its file, and what it shows is read.
type terminal struct {
	program *os.File
	mu      sync.Mutex
	text    bytes.Buffer
}

// newTerminal opens one. Where the system has none, the test is skipped.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err != nil {
		t.Skip(err)
	}
	x := &terminal{}
	if x.program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { x.program.Close() })
	go func() {
		for part := make([]byte, 4096); ; {
			n, err := master.Read(part)
			if err != nil {
				return
			}
			x.mu.Lock()
			x.text.Write(part[:n])
			x.mu.Unlock()
		}
	}()
	return x
}

func (x *terminal) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text.String()
}

// TestProgressLine: what takes longer than two seconds says on a terminal how far it is, in a line that is gone when
// something else is printed. In a pipe, and with --progress=never, there is nothing of it.
func TestProgressLine(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "steps.heal"), []byte(`@io fn main() -> i32 = {
    print("begun");
    print(sum(iterate(2000000000, tabulate(100, |i| i as f32), |x| sort(x .* 0.5))));
    0
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var commands []*exec.Cmd
	begin := func(out io.Writer, args ...string) {
		c := exec.Command("healc", append([]string{"run", "steps.heal"}, args...)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "TERM=xterm")
		setEnv(func(key, value string) { c.Env = append(c.Env, key+"="+value) }, c.Dir)
		c.Stdout, c.Stderr = out, out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		commands = append(commands, c)
	}
	shows, quiet := newTerminal(t), newTerminal(t)
	var pipe bytes.Buffer
	begin(shows.program)
	begin(quiet.program, "--progress=never")
	begin(&pipe)
	const mark = "step "
	for range 1000 {
		if strings.Contains(shows.String(), mark) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // the others have begun as soon
	for _, c := range commands {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
	for _, c := range commands {
		_ = c.Wait()
		if code := c.ProcessState.ExitCode(); code != 130 {
			t.Errorf("exit code %d", code)
		}
	}
	for range 100 { // what the terminal has still to show
		if strings.Contains(shows.String(), "interrupt") && strings.Contains(quiet.String(), "interrupt") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	lines := strings.Split(strings.TrimSuffix(shows.String(), "\r\n"), "\r\x1b[K")
	first, last := lines[0], lines[len(lines)-1]
	if !strings.HasPrefix(first, "begun\r\n") || !strings.Contains(shows.String(), "s running k") ||
		!strings.Contains(shows.String(), mark) || !strings.Contains(shows.String(), " of 2000000000, ") ||
		!strings.Contains(last, "error") || strings.Contains(last, mark) || len(lines) < 2 {
		t.Errorf("the terminal shows %q", shows)
	}
	for _, text := range []string{quiet.String(), pipe.String()} {
		if strings.Contains(text, mark) || strings.Contains(text, "\x1b[K") || !strings.HasPrefix(text, "begun") {
			t.Errorf("without progress: %q", text)
		}
	}
}
