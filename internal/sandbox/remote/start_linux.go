package remote

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"healc/internal/sandbox"
	"healc/internal/sandbox/serve"
)

// process is a child in a sandbox.
type process struct {
	cmd    *exec.Cmd
	conn   *os.File
	stderr head
	ended  chan struct{} // closed when it is gone
	err    error         // how it ended
}

// start executes this program again, with one more setting of its environment. The child ends with this process, and
// signals of a terminal are not for it.
func start(r sandbox.Rules, setting string) (*process, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("a pair of sockets: %w", err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "sandbox")
	defer theirs.Close()
	if err := syscall.SetNonblock(ends[0], true); err != nil {
		syscall.Close(ends[0])
		return nil, err
	}
	p := &process{conn: os.NewFile(uintptr(ends[0]), "sandbox"), ended: make(chan struct{})}
	if p.cmd, err = sandbox.Command(r); err != nil {
		p.conn.Close()
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = nil, nil, &p.stderr
	p.cmd.Env = append(p.cmd.Env, setting, fmt.Sprintf("%s=%d", serve.Variable, serve.Connection))
	p.cmd.ExtraFiles = []*os.File{theirs} // that is descriptor 3
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second
	started := make(chan error, 1)
	go func() {
		// The signal comes when the thread ends that started the child, so that thread waits for it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		p.conn.Close()
		return nil, err
	}
	return p, nil
}

// kill ends the child, and waits until it is gone.
func (p *process) kill() {
	p.conn.Close()
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// how says how a child ended.
func (p *process) how(r sandbox.Rules) string {
	state, cpu := p.cmd.ProcessState, r.CPU
	said := ""
	if line := p.stderr.line(); line != "" {
		said = fmt.Sprintf("; it said %q", line)
	}
	if r.Memory > 0 {
		said += fmt.Sprintf("; perhaps %d bytes, its Memory, are too few", r.Memory)
	}
	if state == nil {
		return "it ended" + said
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		used := state.UserTime() + state.SystemTime()
		switch s := status.Signal(); {
		// The two clocks are not the same to the tenth of a second.
		case s == syscall.SIGXCPU, s == syscall.SIGKILL && cpu > 0 && used >= time.Duration(cpu)*time.Second/2:
			return "it took more processor time than its CPU allows"
		case s == syscall.SIGXFSZ:
			return "it wrote a file that is larger than its File allows"
		default:
			return fmt.Sprintf("the system ended it: %s%s", s, said)
		}
	}
	return fmt.Sprintf("it ended with %s%s", state, said)
}

// head keeps the beginning of what a child writes.
type head struct {
	mu   sync.Mutex
	text []byte
}

const headBytes = 4 << 10

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, b[:min(len(b), headBytes-len(h.text))]...)
	return len(b), nil
}

// line is the first line.
func (h *head) line() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(h.text)), "\n")
	return line
}
