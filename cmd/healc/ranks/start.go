package ranks

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"syscall"
	"time"

	"healc/codegen/target/profile"
)

// Command says what Start starts.
type Command struct {
	Ranks int
	Args  []string // behind the name of the program
	Input []byte   // the standard input of each rank; nil: it is empty
}

// Inside reports whether this process is a rank that was started by Start.
func Inside() bool { return os.Getenv(envRank) != "" }

// self is this program, on Linux also where its file was replaced or removed since it started.
func self() (string, error) {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return running, nil
	}
	return os.Executable()
}

// child is the process of a rank.
type child struct {
	rank   int
	cmd    *exec.Cmd
	done   bool // its program has ended as it should
	gone   bool
	killed bool // by this process
}

// event is something that happens to a rank: it reports, or it ends.
type event struct {
	*child
	report *Report
	ended  *os.ProcessState
}

// SignalError says that a signal to this process ended a run.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "the run was ended by a signal: " + e.Signal.String() }

// Start runs a program on several ranks and returns the exit code of the run, or a *SignalError. say prints what a rank
// reports, or a message about the run.
func Start(c Command, say func(report, message string)) (code int, err error) {
	if goruntime.GOOS == "windows" {
		return 0, errors.New("unsupported: --ranks on Windows, where a process cannot be given a listener")
	}
	return start(c, func(int) []string { return c.Args }, say)
}

// start is Start with the arguments of each rank.
func start(c Command, args func(rank int) []string, say func(report, message string)) (code int, err error) {
	w := &watcher{say: say, events: make(chan event)}
	signals := make(chan os.Signal, 4)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	defer w.stop()
	if err := w.start(c, args); err != nil {
		return 0, err
	}
	return w.watch(signals)
}

// watcher is what watches the ranks.
type watcher struct {
	say      func(report, message string)
	children []*child
	keep     []*os.File // which end with this process
	events   chan event

	running int
	failed  *Report // of a rank whose program has failed
	lost    *Report // of one that has lost the others
	killed  *event  // the first that was ended by a signal of somebody else
	code    int     // of the first that ended otherwise than with 0
}

// start starts the ranks.
func (w *watcher) start(c Command, args func(rank int) []string) error {
	var addrs []string
	var listeners []*os.File
	defer func() {
		for _, f := range listeners {
			_ = f.Close()
		}
	}()
	for range c.Ranks {
		l, err := listen()
		if err != nil {
			return err
		}
		addrs = append(addrs, l.Addr().String())
		f, err := l.File()
		_ = l.Close()
		if err != nil {
			return err
		}
		listeners = append(listeners, f)
	}
	var key [16]byte
	_, _ = rand.Read(key[:])
	sets := shares(c.Ranks)
	var poll time.Duration
	if sets == nil { // there are fewer processors than ranks: who polls would keep another from its work
		sets = make([]*processorSet, c.Ranks)
	} else {
		poll = time.Duration(profile.Host().Profile.Threads.CallerSpin) * time.Microsecond
	}
	for rank, set := range sets {
		if err := w.startRank(c, args(rank), told{rank, addrs, key, poll}, listeners[rank], set); err != nil {
			return fmt.Errorf("cannot start rank %d: %w", rank, err)
		}
	}
	return nil
}

// listener is where a rank is called, a file that its process gets.
type listener interface {
	net.Listener
	File() (*os.File, error)
}

// listen makes a listener on this machine: on Linux a Unix socket with a name that the system chooses, which is no file
// and is gone with the rank.
func listen() (listener, error) {
	if goruntime.GOOS == "linux" {
		return net.ListenUnix("unix", &net.UnixAddr{Net: "unix"})
	}
	return net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
}

// startRank starts a rank on these processors; nil: on those of this process.
func (w *watcher) startRank(c Command, args []string, say told, listener *os.File, set *processorSet) error {
	text, err := json.Marshal(say)
	if err != nil {
		return err
	}
	tellOut, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer tellOut.Close()
	w.keep = append(w.keep, tell)
	report, reportIn, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reportIn.Close()
	path, err := self()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), envRank+"="+fmt.Sprint(c.Ranks))
	cmd.ExtraFiles = []*os.File{listener, tellOut, reportIn}
	cmd.Stderr = os.Stderr
	if say.Rank == 0 {
		cmd.Stdout = os.Stdout
	}
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	if err := startOn(cmd, set); err != nil {
		_ = report.Close()
		return err
	}
	p := &child{rank: say.Rank, cmd: cmd}
	w.children = append(w.children, p)
	w.running++
	go func() {
		_, _ = tell.Write(append(text, '\n')) // what a rank does not read is missed by nobody
		said, _ := io.ReadAll(report)
		_ = report.Close()
		var r Report
		if json.Unmarshal(said, &r) == nil {
			w.events <- event{child: p, report: &r}
		}
		_ = cmd.Wait()
		w.events <- event{child: p, ended: cmd.ProcessState}
	}()
	return nil
}

// stop ends what is left of a start that has failed.
func (w *watcher) stop() {
	w.kill()
	for w.running > 0 {
		if e := <-w.events; e.ended != nil {
			w.running--
			e.gone = true
		}
	}
	for _, f := range w.keep {
		_ = f.Close()
	}
}

func (w *watcher) kill() {
	for _, p := range w.children {
		if !p.gone {
			p.killed = p.cmd.Process.Kill() == nil || p.killed
		}
	}
}

// watch waits for the end of all ranks. After a signal what a rank reports is no reason: one that the signal meets
// before it has a handler is ended at once, and the others then miss it, or do not find it.
func (w *watcher) watch(signals <-chan os.Signal) (code int, err error) {
	var late <-chan time.Time
	for w.running > 0 {
		select {
		case s := <-signals:
			if w.failed == nil {
				err = &SignalError{s.(syscall.Signal)}
			}
			for _, p := range w.children {
				_ = p.cmd.Process.Signal(s) // again, where it came from the keyboard, which changes nothing
			}
			late = time.After(parting)
		case e := <-w.events:
			if w.take(e) && (late == nil || e.report != nil) {
				late = time.After(mercy)
			}
		case <-late:
			w.kill()
		}
	}
	switch {
	case err != nil:
		return 0, err
	case w.failed != nil:
		w.say(w.failed.Text, "")
		return w.failed.Code, nil
	case w.killed != nil && signalOf(w.killed.ended) == syscall.SIGPIPE: // nobody reads what it prints
		return 128 + int(syscall.SIGPIPE), nil
	case w.killed != nil:
		w.say("", fmt.Sprintf("rank %d was ended by the system: %s", w.killed.rank, signalOf(w.killed.ended)))
		return failedCode, nil
	case w.lost != nil:
		w.say(w.lost.Text, "")
		return w.lost.Code, nil
	}
	return w.code, nil
}

// take notes an event, and says whether the run has failed.
func (w *watcher) take(e event) (failed bool) {
	if r := e.report; r != nil {
		switch {
		case r.Done:
			e.done = true
			return false
		case r.Lost:
			if w.lost == nil {
				w.lost = r
			}
		case w.failed == nil:
			w.failed = r
		}
		return true
	}
	w.running--
	e.gone = true
	s := signalOf(e.ended)
	switch {
	case s != 0 && !e.killed && w.killed == nil:
		w.killed = &e
	case s == 0 && e.ended.ExitCode() != 0 && w.code == 0:
		w.code = e.ended.ExitCode()
	}
	return !e.done
}

// signalOf is the signal that has ended a process, 0 for none.
func signalOf(s *os.ProcessState) syscall.Signal {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}
