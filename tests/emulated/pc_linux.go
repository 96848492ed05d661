package emulated

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"syscall"

	"healc/tests/emulated/mailbox"
)

// startPC starts the PC of the folder, with the runner in it.
func startPC(folder, dir string) (*Machine, error) {
	program := filepath.Join(dir, "runner")
	if err := (Processor{GOARCH: "amd64"}).Go(program, "build", "-ldflags=-s -w", "healc/tests/emulated/runner"); err !=
		nil {
		return nil, err
	}
	raw, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	disk, err := os.Create(filepath.Join(dir, "disk"))
	if err != nil {
		return nil, err
	}
	if err := disk.Truncate(mailbox.Size); err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(folder, "start"), disk.Name())
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ended := make(chan error)
	go func() {
		goruntime.LockOSThread() // Pdeathsig is about the thread that starts the process
		err := cmd.Run()
		for { // whoever waits is told
			ended <- errors.Join(err, io.ErrUnexpectedEOF)
		}
	}()
	// The PC ends with the tests.
	box := mailbox.Outside(disk, ended)
	if err := box.Send(raw); err != nil {
		return nil, err
	}
	to := bufio.NewWriterSize(box, 1<<20)
	m := newMachine(box, to, func() error { return nil })
	m.flush = to.Flush
	m.ready = sync.OnceFunc(func() { _ = os.RemoveAll(dir) }) // the emulator has its files open, and goes on
	return m, nil
}
