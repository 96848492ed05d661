//go:build linux && (amd64 || arm64)

package mapped

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"healc/runtime/memory"
)

const page = 4096

// The variables by which a process of this program is told to shorten a file, by its name, or to read what is no more
// of a file that it has not mapped by this package, and to do no more.
const (
	shortens = "HEAL_TEST_SHORTENS"
	faults   = "HEAL_TEST_FAULTS"
)

func TestMain(m *testing.M) {
	var err error
	switch shorten, fault := os.Getenv(shortens), os.Getenv(faults); {
	case shorten != "":
		err = os.Truncate(shorten, 10)
	case fault != "":
		err = faultOn(fault)
	default:
		m.Run()
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// faultOn reads what was cut off of a file that others have mapped, beside a file that is mapped here.
func faultOn(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	foreign, err := syscall.Mmap(int(f.Fd()), 0, 2*page, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return err
	}
	r, err := newMapping(f, 0, 2*page)
	if err == nil {
		err = os.Truncate(path, page)
	}
	if err != nil {
		return err
	}
	own := unsafe.Slice((*byte)(r.ptr()), 2*page)
	return fmt.Errorf("read %d and %d", own[page], foreign[page])
}

// newFile is a file of so many pages, each filled with its number plus 1, that is open for reading.
func newFile(t *testing.T, pages int) (string, *os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	var content []byte
	for i := range pages {
		content = append(content, bytes.Repeat([]byte{byte(i + 1)}, page)...)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, open(t, path)
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// mapAll maps a file for as long as the test runs.
func mapAll(t *testing.T, f *os.File) (*mapping, []byte) {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := newMapping(f, 0, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.unmap)
	return r, unsafe.Slice((*byte)(r.ptr()), info.Size())
}

// hold holds a file whose file system lets it, and maps it for as long as the test runs.
func hold(t *testing.T, f *os.File, size int64) (*File, []byte) {
	t.Helper()
	h, err := Hold(f)
	if err != nil {
		t.Skip("files of this file system are not held")
	}
	t.Cleanup(h.Close)
	at, err := h.Map(0, size)
	if err != nil {
		t.Fatal(err)
	}
	return h, unsafe.Slice((*byte)(at), size)
}

// TestMap: a range begins at any byte of the file, and cannot be written.
func TestMap(t *testing.T) {
	path, f := newFile(t, 3)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newMapping(f, page-2, page+5)
	if err != nil {
		t.Fatal(err)
	}
	defer r.unmap()
	got := unsafe.Slice((*byte)(r.ptr()), page+5)
	if !bytes.Equal(got, before[page-2:2*page+3]) {
		t.Error("the range is not what stands in the file")
	}
	wantFault(t, "a write", unsafe.Pointer(&got[3]), func() { got[3] = 0 })
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed with the range: %v", err)
	}
	if r.failed() {
		t.Error("the range failed")
	}
	for _, bad := range [][2]int64{{0, 0}, {-1, 5}, {3, -1}} {
		if _, err := newMapping(f, bad[0], bad[1]); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%d bytes from %d on: %v", bad[1], bad[0], err)
		}
	}
}

// TestShortened: where the file ends before a page that is read, zeros stand there and behind it, in Go code and in
// what copies, and the range says so.
func TestShortened(t *testing.T) {
	for name, read := range map[string]func([]byte) []byte{
		"bytes": func(b []byte) []byte {
			var out bytes.Buffer
			for _, x := range b {
				out.WriteByte(x)
			}
			return out.Bytes()
		},
		"copy": bytes.Clone,
		"from its end": func(b []byte) []byte {
			out := make([]byte, len(b))
			for i := len(b) - 1; i >= 0; i-- {
				out[i] = b[i]
			}
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, f := newFile(t, 8)
			r, b := mapAll(t, f)
			other, intact := mapAll(t, open(t, path))
			_ = intact[0]
			if err := os.Truncate(path, 3*page+7); err != nil {
				t.Fatal(err)
			}
			if r.failed() {
				t.Error("it failed before it was read")
			}
			want := make([]byte, 8*page)
			for i := range 3*page + 7 {
				want[i] = byte(i/page + 1)
			}
			if got := read(b); !bytes.Equal(got, want) {
				t.Error("it is not what was left of the file, and zeros")
			}
			if !r.failed() || other.failed() {
				t.Errorf("it failed: %t; another range of the file: %t", r.failed(), other.failed())
			}
		})
	}
}

// TestShortenedAtOnce: threads that read the same pages go on.
func TestShortenedAtOnce(t *testing.T) {
	path, f := newFile(t, 64)
	r, b := mapAll(t, f)
	if err := os.Truncate(path, page); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range b {
				if i = (i + k*8*page) % len(b); i >= page && b[i] != 0 {
					t.Errorf("byte %d is %d", i, b[i])
					return
				}
			}
		})
	}
	wg.Wait()
	if !r.failed() {
		t.Error("it did not fail")
	}
}

// wantFault wants f to have a fault at an address, of which Go makes a panic.
func wantFault(t *testing.T, when string, at unsafe.Pointer, f func()) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		t.Helper()
		e := recover()
		addr, ok := e.(interface{ Addr() uintptr })
		switch {
		case e == nil:
			t.Errorf("%s: there is no fault at %p", when, at)
		case runtime.GOARCH == "arm64": // there Go looks for the address where qemu has none
		case !ok || addr.Addr() != uintptr(at):
			t.Errorf("%s: a fault at %p is %v", when, at, e)
		}
	}()
	f()
}

// TestOtherFaults: what is not of a range is as it was: a SIGBUS of somebody else's mapping, and a nil pointer.
func TestOtherFaults(t *testing.T) {
	path, f := newFile(t, 2)
	foreign, err := syscall.Mmap(int(f.Fd()), 0, 2*page, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(foreign)
	check := func(when string) {
		t.Helper()
		var sum byte
		wantFault(t, when, unsafe.Pointer(&foreign[page+5]), func() { sum += foreign[page+5] })
		var none *int
		func() {
			defer func() {
				if e, ok := recover().(runtime.Error); !ok || !strings.Contains(e.Error(), "nil pointer") {
					t.Errorf("%s: a nil pointer: %v", when, e)
				}
			}()
			*none = int(sum)
		}()
	}
	_, other := newFile(t, 2)
	r, _ := mapAll(t, other)
	if err := os.Truncate(path, page); err != nil {
		t.Fatal(err)
	}
	check("beside a range")
	again, err := newMapping(f, 0, 2*page)
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.Slice((*byte)(again.ptr()), 2*page)[page] != 0 || !again.failed() {
		t.Error("a range of the same file did not fail")
	}
	check("after a range failed")
	again.unmap()
	check("after a range was unmapped")
	if r.failed() {
		t.Error("another range failed")
	}
}

// shorten is os.Truncate in a way that an emulator interrupts for a signal, too.
func shorten(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// TestFatalFault: where Go makes no panic of a fault, it still ends the process with what it says of all such faults.
func TestFatalFault(t *testing.T) {
	path, _ := newFile(t, 2)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), faults+"="+path)
	out, err := c.CombinedOutput()
	for _, want := range []string{"SIGBUS: bus error", "faultOn", "fatal error: fault"} {
		if want == "fatal error: fault" && runtime.GOARCH == "arm64" {
			continue // there qemu gives no address, which Go takes for that of a nil pointer
		}
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, without %q:\n%s", err, want, out)
		}
	}
}

// writers change a file in the ways that there are.
var writers = map[string]func(path string) error{
	"written in place": func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(make([]byte, 3*page), page)
		return errors.Join(err, f.Close())
	},
	"shortened": func(path string) error { return shorten(path, 10) },
	"shortened by another process": func(path string) error {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), shortens+"="+path)
		return c.Run()
	},
	"written new": func(path string) error { return os.WriteFile(path, []byte("new"), 0o600) },
	"mapped": func(path string) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		b, err := syscall.Mmap(int(f.Fd()), 0, 4*page, syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			return err
		}
		clear(b)
		return errors.Join(syscall.Munmap(b), f.Close())
	},
	"replaced": func(path string) error {
		if err := os.WriteFile(path+".new", []byte("new"), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	},
	"removed": os.Remove,
}

// TestHold: what is mapped of a file that is held stays, whatever becomes of the file, and who changes it does not wait
// for long.
func TestHold(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			path, f := newFile(t, 16)
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			h, got := hold(t, f, 16*page)
			begin := time.Now()
			if err := write(path); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("who changed the file waited for %v", took)
			}
			if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, want) {
				t.Fatal("the file did not change")
			}
			if !bytes.Equal(got, want) {
				t.Error("what is mapped changed with the file")
			}
			if err := h.Err(); err != nil {
				t.Error(err)
			}
			if err := write(path); err != nil && !errors.Is(err, os.ErrNotExist) { // nobody waits any more
				t.Fatal(err)
			}
			h.Close()
			if err := h.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHoldRefused: a file that somebody may be writing to is not held.
func TestHoldRefused(t *testing.T) {
	path, f := newFile(t, 4)
	h, _ := hold(t, f, 4*page)
	if _, err := h.Map(0, page); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("it is mapped twice: %v", err)
	}
	h.Close()
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := syscall.Mmap(int(w.Fd()), 0, page, syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{w.Close, func() error { return syscall.Munmap(b) }} {
		if h, err := Hold(open(t, path)); !errors.Is(err, errors.ErrUnsupported) {
			h.Close()
			t.Errorf("a file that can be written is held: %v", err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	h, _ = hold(t, open(t, path), 4*page)
	h.Close()
	if h, err := Hold(open(t, "/proc/version")); !errors.Is(err, errors.ErrUnsupported) {
		h.Close()
		t.Errorf("a file of the system is held: %v", err)
	}
}

// takeAway ends the lease of a file as the system does where nobody answers for too long.
func takeAway(t *testing.T, h *File) {
	t.Helper()
	if _, err := unix.FcntlInt(h.f.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		t.Fatal(err)
	}
}

// TestLost: where the lease was taken away, Err says that the file was changed, or that it could not be read.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string) error
		want   error
	}{
		"changed":   {writers["written in place"], errChanged},
		"shortened": {writers["shortened"], errChanged},
		"replaced":  {writers["replaced"], errChanged}, // nobody knows that it is intact
	} {
		t.Run(name, func(t *testing.T) {
			path, f := newFile(t, 8)
			h, got := hold(t, f, 8*page)
			if err := h.Err(); err != nil {
				t.Error(err)
			}
			takeAway(t, h)
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			if name == "shortened" && got[7*page] != 0 {
				t.Error("there are no zeros")
			}
			for range 2 {
				err := h.Err()
				var file *FileError
				if !errors.Is(err, c.want) || !errors.As(err, &file) || file.Path != f.Name() {
					t.Errorf("%v, want that it %v", err, c.want)
				}
				h.Close()
			}
		})
	}
	_, f := newFile(t, 8)
	h, _ := hold(t, f, 8*page)
	takeAway(t, h)
	h.Close()
	if err := h.Err(); !errors.Is(err, errChanged) {
		t.Errorf("it was closed first: %v", err)
	}
}

// TestUnreadable: a page that cannot be read is an error even where nobody changed the file.
func TestUnreadable(t *testing.T) {
	path, f := newFile(t, 2)
	if err := os.Truncate(path, page); err != nil {
		t.Fatal(err)
	}
	h, got := hold(t, f, 2*page)
	if err := h.Err(); err != nil {
		t.Error(err)
	}
	if got[0] != 1 || got[page] != 0 {
		t.Errorf("the pages begin with %d and %d", got[0], got[page])
	}
	for range 2 {
		if err := h.Err(); !errors.Is(err, errUnreadable) {
			t.Errorf("%v, want that it %v", err, errUnreadable)
		}
		h.Close()
	}
}

// TestNoMemory: where there is no memory for what the file held, who changes it does not wait, and Err says so.
func TestNoMemory(t *testing.T) {
	room := memory.Available()
	if room > 1<<42 {
		t.Skip("the system does not tell its memory")
	}
	size := room/page*page + 1<<30
	path, f := newFile(t, 1)
	if err := os.Truncate(path, size); err != nil {
		t.Skip(err)
	}
	h, err := Hold(f)
	if err != nil {
		t.Skip("files of this file system are not held")
	}
	defer h.Close()
	at, err := h.Map(0, size)
	if err != nil {
		t.Skip(err)
	}
	if got := *(*byte)(at); got != 1 {
		t.Errorf("the file begins with %d", got)
	}
	if err := os.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := *(*byte)(at); got != 0 {
		t.Errorf("what was written shows: %d", got)
	}
	if err := h.Err(); !errors.Is(err, errNoMemory) {
		t.Errorf("%v, want that it %v", err, errNoMemory)
	}
}

// TestNothingLeft: files that were held and closed leave no mapping, no open file, and nobody who waits for signals.
func TestNothingLeft(t *testing.T) {
	count := func() string {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d mappings of files, %d open files, %d entries", strings.Count(string(maps), "/data"),
			len(fds), rangesUsed)
	}
	run := func() {
		path, f := newFile(t, 4)
		h, b := hold(t, f, 4*page)
		if b[page] != 2 || shorten(path, 0) != nil || b[page] != 2 {
			t.Error("it is not what the file held")
		}
		h.Close()
	}
	run()
	goroutines, before := runtime.NumGoroutine(), count()
	for range 200 {
		run()
	}
	if after := count(); after != before {
		t.Errorf("there are %s; before there were %s", after, before)
	}
	for range 1000 { // the last listener may still be ending
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("there are %d goroutines; before there were %d", runtime.NumGoroutine(), goroutines)
}

// TestAtOnce: files are held, changed and let go side by side.
func TestAtOnce(t *testing.T) {
	_, f := newFile(t, 1)
	hold(t, f, page)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				path, f := newFile(t, 32)
				h, err := Hold(f)
				if err != nil {
					t.Error(err)
					return
				}
				at, err := h.Map(page, 31*page)
				if err != nil {
					t.Error(err)
					return
				}
				b := unsafe.Slice((*byte)(at), 31*page)
				written := make(chan error)
				go func() { written <- shorten(path, 5*page) }()
				for i := range b {
					if b[i] != byte(i/page+2) {
						t.Errorf("byte %d is %d", i, b[i])
						break
					}
				}
				if err := errors.Join(h.Err(), <-written, h.Err()); err != nil {
					t.Error(err)
				}
				if b[30*page] != 32 {
					t.Error("it changed with the file")
				}
				h.Close()
			}
		})
	}
	wg.Wait()
}
