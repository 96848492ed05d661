package libllvm

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"healc/internal/distro"
)

func TestMissing(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("not a library\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		open func() (*Lib, error)
		want string
	}{
		{"variable names no file", func() (*Lib, error) {
			return find("/nowhere/libLLVM.so")
		}, EnvPath + "=/nowhere/libLLVM.so: cannot open shared object file"},
		{"variable names another library", func() (*Lib, error) {
			return find("libc.so.6")
		}, EnvPath + "=libc.so.6: it is not libLLVM"},
		{"variable names a text file", func() (*Lib, error) {
			return find(text)
		}, "cannot use " + EnvPath + "=" + text},
		{"nothing installed", func() (*Lib, error) {
			return search([]string{"/nowhere/a.so", "libLLVM-absent.so"})
		}, "libLLVM 15 to 22 is not installed"},
		{"one found, not usable", func() (*Lib, error) {
			return search([]string{"/nowhere/a.so", text, "libc.so.6"})
		}, "cannot use " + text},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lib, err := test.open()
			var missing *MissingError
			if lib != nil || !errors.As(err, &missing) {
				t.Fatalf("got %v, %v; want a *MissingError", lib, err)
			}
			here := distro.Here() // a system that is not known has no command
			if msg := err.Error(); !strings.Contains(msg, test.want) ||
				!strings.Contains(msg, here.Install(here.Package(distro.LLVM))) || strings.Contains(msg, "\n") {
				t.Errorf("message %q, want one line with %q and the command", msg, test.want)
			}
		})
	}
}

// TestTooOld refuses the libLLVM 14 of Debian 12 where that is installed; anywhere, 14 is not looked for.
func TestTooOld(t *testing.T) {
	path := "/usr/lib/" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] +
		"-linux-gnu/libLLVM-14.so.1"
	if slices.Min(versions) < oldest {
		t.Errorf("version %d is searched for", slices.Min(versions))
	}
	if _, err := os.Stat(path); err != nil {
		return
	}
	_, err := OpenPath(path)
	if err == nil || !strings.Contains(err.Error(), "older than LLVM 15") {
		t.Errorf("LLVM 14: %v", err)
	}
}

func TestCandidates(t *testing.T) {
	paths := candidates("amd64")
	position := func(path string) int {
		i := slices.Index(paths, path)
		if i < 0 {
			t.Errorf("%s is not searched for", path)
		}
		return i
	}
	order := []string{"libLLVM.so.19.1", "/usr/lib/x86_64-linux-gnu/libLLVM.so.19.1",
		"/usr/lib/llvm-19/lib/libLLVM-19.so", "libLLVM.so.22.1",
		"libLLVM.so.18.1", "libLLVM-17.so.1", "libLLVM-15.so.1", "/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1"}
	for i := 1; i < len(order); i++ {
		if position(order[i-1]) >= position(order[i]) {
			t.Errorf("%s comes after %s", order[i-1], order[i])
		}
	}
	if !slices.Contains(candidates("arm64"), "/usr/lib/aarch64-linux-gnu/libLLVM.so.19.1") {
		t.Error("the folder of arm64 is not searched")
	}
}

// TestMissingSaysWhy: the reason is there whatever threads other goroutines make the scheduler take.
func TestMissingSaysWhy(t *testing.T) {
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 2000 {
				_, err := OpenPath("/nowhere/libLLVM.so")
				if err == nil || !strings.Contains(err.Error(), "cannot open shared object file") {
					t.Errorf("%v", err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	all.Wait()
}
