//go:build linux

// Command boot is the first program of an emulated machine whose disk is the only way to it (Note [Mailbox] in
// tests/emulated). It loads the kernel's modules for disks, takes the first message as a program, and runs that with
// its input and output in messages.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"syscall"
	"time"
	"unsafe"

	"healc/tests/emulated/mailbox"
)

func main() {
	err := run()
	fmt.Println("boot: the program has ended:", err)
	time.Sleep(time.Second) // the first program of a machine never ends
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	for _, fs := range []string{"proc", "sys", "dev"} {
		kind := map[string]string{"proc": "proc", "sys": "sysfs", "dev": "devtmpfs"}[fs]
		if err := os.MkdirAll("/"+fs, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(kind, "/"+fs, kind, 0, ""); err != nil {
			return fmt.Errorf("%s: %w", fs, err)
		}
	}
	modules, err := filepath.Glob("/modules/*.ko")
	if err != nil {
		return err
	}
	sort.Strings(modules)
	for _, m := range modules {
		raw, err := os.ReadFile(m)
		if err != nil {
			return err
		}
		none := []byte{0}
		if _, _, e := syscall.Syscall(syscall.SYS_INIT_MODULE, uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)),
			uintptr(unsafe.Pointer(&none[0]))); e != 0 {
			return fmt.Errorf("%s: %w", m, e)
		}
	}
	var disk *os.File
	for range 600 {
		if disk, err = os.OpenFile("/dev/sda", os.O_RDWR|syscall.O_DIRECT|os.O_SYNC, 0); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	box := mailbox.Inside(disk)
	program, err := box.Receive()
	if err != nil {
		return err
	}
	if err := os.WriteFile("/program", program, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("/program")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	go func() {
		_, err := io.Copy(in, box)
		fmt.Println("boot: input has ended:", err)
	}()
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{box}, struct{ io.Reader }{out}, make([]byte, 4<<20)); err != nil {
		return err
	}
	return errors.Join(cmd.Wait(), box.Send(nil))
}
