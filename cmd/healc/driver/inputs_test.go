//go:build linux && (amd64 || arm64)

package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	heal "healc"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/mapped"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// begins prints before it reads its argument: in a kernel, in one with a stack of its own, as recursion needs it, and
// in Go.
const begins = `
@io fn total[N, M](x: i32[N, M]) -> i32 = { print("begins"); +/(x) }
fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }
@io fn deep[N, M](x: i32[N, M]) -> i32 = { print("begins"); +/(map(|v| down(v), x)) }
@io fn same[N, M](x: i32[N, M]) -> i32[N, M] = { print("begins"); x }
@io fn shows[N, M](x: i32[N, M]) -> i32 = { print("begins"); print(x); 0 }
@io fn saves[N, M](x: i32[N, M]) -> i32 = { print("begins"); save_npy("saved.npy", x); 0 }
@io fn changes[N, M](x: &mut i32[N, M]) -> i32 = { print("begins"); x[0, 0] = 7; x[0, 0] }
`

const rows, columns = 257, 1024 // as few as are mapped

// inputFileOfOnes is a .npy file of ones in a folder of its own.
func inputFileOfOnes(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "x.npy")
	x, err := tensor.Ones(types.I32, rows, columns)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := tensorfile.WriteNpyFile(path, x); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	held, err := mapped.Hold(f)
	if err != nil {
		f.Close()
		t.Skip("files of this file system are not held")
	}
	held.Close()
	return dir, path
}

// atBegin is output that does something once the program runs.
type atBegin struct {
	text strings.Builder
	do   func() error
}

func (a *atBegin) Write(p []byte) (int, error) {
	if do := a.do; do != nil {
		a.do = nil
		if err := do(); err != nil {
			return 0, err
		}
	}
	return a.text.Write(p)
}

// openFile is a descriptor of this process on a file, -1 where there is none.
func openFile(path string) int {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == path {
			n := 0
			if _, err := fmt.Sscan(fd.Name(), &n); err == nil {
				return n
			}
		}
	}
	return -1
}

// shorten shortens a file that is mapped as if its lease had been taken away.
func shorten(path string) error {
	fd := openFile(path)
	if fd < 0 {
		return errors.New("the input is not mapped")
	}
	const setLease = 1024 // F_SETLEASE
	if _, _, err := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), setLease, syscall.F_UNLCK); err != 0 {
		return err
	}
	return syscall.Truncate(path, 4096)
}

// ways are the ways to run a program.
func ways(t *testing.T) map[string]engine.Options {
	out := map[string]engine.Options{"interp": {Backend: heal.Interp}}
	if _, err := libllvm.Open(); err != nil {
		t.Log(err)
		return out
	}
	out["1 thread"] = engine.Options{Backend: heal.CPU, Threads: 1}
	out["2 threads"] = engine.Options{Backend: heal.CPU, Threads: 2}
	out["ptxsim"] = engine.Options{Backend: heal.PTXSim}
	return out
}

// TestInputStays: an input that is mapped is what its file held, whatever becomes of the file.
func TestInputStays(t *testing.T) {
	for way, opts := range ways(t) {
		dir, path := inputFileOfOnes(t)
		live := memory.LiveBytes()
		out := &atBegin{do: func() error {
			if now := memory.LiveBytes(); way == "1 thread" && now-live >= 4*rows*columns {
				return fmt.Errorf("%d bytes were taken for an input that is mapped", now-live)
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(f.Truncate(10), f.Close())
		}}
		j := Job{File: diag.NewFile("f.heal", begins), Entry: "total", Inputs: []string{"x=@x.npy"}, Dir: dir, Out: out,
			Opts: opts}
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if want := fmt.Sprintf("begins\n%d\n", rows*columns); out.text.String() != want {
			t.Errorf("%s: got %q, want %q", way, out.text.String(), want)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 10 {
			t.Errorf("the file was not changed: %v, %v", info, err)
		}
	}
}

// TestInputFails: where pages of an input cannot be read, in a kernel or in Go, that is the error, and no file is
// written.
func TestInputFails(t *testing.T) {
	for way, opts := range ways(t) {
		for _, entry := range []string{"total", "deep", "same", "shows", "saves"} {
			dir, path := inputFileOfOnes(t)
			out := &atBegin{do: func() error { return shorten(path) }}
			j := Job{File: diag.NewFile("f.heal", begins), Entry: entry, Inputs: []string{"x=@x.npy"}, Dir: dir,
				Out: out, Opts: opts}
			if entry == "same" {
				j.Outs = []string{"saved.npy"}
			}
			_, err := j.Run(context.Background())
			var file *mapped.FileError
			if !errors.As(err, &file) || file.Path != path || !strings.HasPrefix(err.Error(), "input `x`: the file ") {
				t.Errorf("%s, %s: %v", entry, way, err)
			}
			if c := Classify(err, j.File).Class; c != RuntimeFault {
				t.Errorf("%s, %s: exit code %d", entry, way, c)
			}
			if _, err := os.Stat(filepath.Join(dir, "saved.npy")); err == nil {
				t.Errorf("%s, %s: a file was written", entry, way)
			}
			if text := out.text.String(); (entry == "total" || entry == "deep") && text != "begins\n" {
				t.Errorf("%s, %s: it printed %q", entry, way, text)
			}
			if fd := openFile(path); fd >= 0 {
				t.Errorf("%s, %s: the file is still open", entry, way)
			}
		}
	}
}

// TestInputChanges: what a program makes of an argument does not reach the file of the input.
func TestInputChanges(t *testing.T) {
	for way, opts := range ways(t) {
		dir, path := inputFileOfOnes(t)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out := &atBegin{}
		j := Job{File: diag.NewFile("f.heal", begins), Entry: "changes", Inputs: []string{"x=@x.npy"},
			Outs: []string{"1=changed.npy"}, Dir: dir, Out: out, Opts: opts}
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if out.text.String() != "begins\n7\n" {
			t.Errorf("%s: got %q", way, out.text.String())
		}
		if after, err := os.ReadFile(path); err != nil || string(before) != string(after) {
			t.Errorf("%s: the file changed: %v", way, err)
		}
	}
}
