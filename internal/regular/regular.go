// Package regular reads files of strangers. In: paths. Out: open files, or contents within a limit. What has no end, or
// makes who opens it wait, such as a device or a named pipe, is refused at once.
package regular

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// MaxSource is the largest source that is read: the lexer counts bytes in 31 bits, and no program that people or
// generators write comes near.
const MaxSource = 256 << 20

// KindError is a path that is no file that can be read to its end.
type KindError struct {
	Path string
	Kind string // as "a folder"
}

func (e *KindError) Error() string {
	return fmt.Sprintf("%s is %s, not a file", e.Path, e.Kind)
}

// LargeError is a file that is larger than what is read of it.
type LargeError struct {
	Path  string
	Limit int64
}

func (e *LargeError) Error() string {
	return fmt.Sprintf("%s is larger than %d MiB, the most that is read", e.Path, e.Limit>>20)
}

// Open opens a file, and says how it is. The error of what cannot be opened is that of os.Open, that of what is no file
// a *KindError. What the process was started with, as /dev/stdin and what shells write for <(...), may be of any kind.
func Open(name string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(name) // before it is opened: opening a device may do something
	if err != nil {
		return nil, nil, err
	}
	if err := fit(name, info); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // to open a pipe does not wait
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = fit(name, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// fit refuses what is no file.
func fit(name string, info fs.FileInfo) error {
	kind := ""
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &KindError{name, "a folder"}
	case inherited(name):
		return nil
	case mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	default:
		kind = "something else"
	}
	return &KindError{name, kind}
}

// inherited reports whether a path names a file that this process has open.
func inherited(name string) bool {
	name = filepath.ToSlash(name)
	if name == "/dev/stdin" {
		return true
	}
	dir := path.Dir(path.Clean(name))
	return dir == "/dev/fd" || dir == "/proc/self/fd"
}

// Read returns the content of a file that has at most limit bytes; more of it is not read.
func Read(name string, limit int64) ([]byte, error) {
	f, info, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Mode().IsRegular() && info.Size() > limit {
		return nil, &LargeError{name, limit}
	}
	return ReadAll(f, name, limit)
}

// ReadAll reads r to its end, which is within limit bytes; name is for the error.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, &LargeError{name, limit}
	}
	return text, nil
}
