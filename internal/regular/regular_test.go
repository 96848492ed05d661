package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("file", "12345")
	write("large", "123456")
	if err := errors.Join(os.Symlink("file", at("link")), os.Symlink("/dev/zero", at("zero")),
		os.Symlink("none", at("lost")), syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("ends"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for _, c := range []struct{ path, text, err string }{
		{at("file"), "12345", ""},
		{at("link"), "12345", ""},
		{fmt.Sprintf("/dev/fd/%d", r.Fd()), "ends", ""},
		{at("large"), "", "is larger than 0 MiB"},
		{at("zero"), "", "is a device, not a file"},
		{"/dev/zero", "", "is a device, not a file"},
		{"/dev/tty", "", "is a device, not a file"},
		{at("pipe"), "", "is a pipe, not a file"},
		{at("socket"), "", "is a socket, not a file"},
		{at("folder"), "", "is a folder, not a file"},
		{at("lost"), "", "no such file"},
		{"/proc/self/status", "", "is larger than"}, // says that it has no bytes
	} {
		text, err := Read(c.path, 5)
		if string(text) != c.text || (err == nil) != (c.err == "") ||
			err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.path, text, err)
		}
		if strings.Contains(c.err, "no such") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v is of the wrong kind", c.path, err)
		}
	}
}

// TestEndless: what is read of a stream without an end is what the limit says, in all.
func TestEndless(t *testing.T) {
	r := &endless{}
	if _, err := ReadAll(r, "endless", 1<<20); err == nil || r.n > 1<<20+1 {
		t.Errorf("%d bytes were read: %v", r.n, err)
	}
}

type endless struct{ n int }

func (r *endless) Read(p []byte) (int, error) {
	r.n += len(p)
	return len(p), nil
}
