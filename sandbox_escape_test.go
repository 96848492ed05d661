//go:build linux && (amd64 || arm64)

package heal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"healc/internal/sandbox"
	"healc/internal/sandbox/sandboxtest"
	"healc/internal/testhook"
	"healc/runtime"
	"healc/runtime/tensor"
)

// envHostile says what the machine code in the process of a sandbox does. It is made before package heal takes over
// there: by the initialisation of a variable.
const envHostile = "HEAL_TEST_HOSTILE"

var _ = func() bool {
	switch os.Getenv(envHostile) {
	case "try":
		testhook.Sandboxed = func() string {
			return hostile(func(call caller) string { return sandboxtest.Try("go", call) })
		}
	case "close": // the connection, and all else that is open
		testhook.Sandboxed = func() string {
			return hostile(func(call caller) string {
				for fd := range uintptr(100) {
					call(unix.SYS_CLOSE, fd)
				}
				select {}
			})
		}
	case "write": // what is no message, on the connection
		testhook.Sandboxed = func() string {
			return hostile(func(call caller) string {
				text := []byte(strings.Repeat("\xff", 4096))
				for call(unix.SYS_WRITE, 3, uintptr(unsafe.Pointer(&text[0])), uintptr(len(text))) == 0 {
				}
				return ""
			})
		}
	case "hang": // reading nothing, and not ending
		testhook.Sandboxed = func() string { return hostile(func(caller) string { select {} }) }
	case "crash":
		testhook.Sandboxed = func() string {
			return hostile(func(call caller) string {
				call(unix.SYS_EXIT_GROUP, 7)
				return ""
			})
		}
	}
	return true
}()

type caller = func(n uintptr, args ...uintptr) syscall.Errno

func hostile(do func(caller) string) string {
	call, err := sandboxtest.Caller()
	if err != nil {
		return err.Error()
	}
	return do(call)
}

// TestSandboxEscape: hostile machine code in the place of a function gets at no file, socket, program or process. Where
// the program uses files of folders, it gets at these.
func TestSandboxEscape(t *testing.T) {
	has := sandbox.Available()
	if missing := has.Missing(); missing != "" {
		t.Skip(missing)
	}
	foreign, mine := filepath.Join(t.TempDir(), "foreign"), t.TempDir()
	own := filepath.Join(mine, "own")
	for _, f := range []string{foreign, own} {
		if err := os.WriteFile(f, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(sandboxtest.EnvFile, foreign)
	t.Setenv(sandboxtest.EnvOwn, own)
	t.Setenv(envHostile, "try")
	files := "@io fn f() -> i32 = { save_npy(\"" + mine + "/x.npy\", [1.0]); 1 }"
	for _, c := range []struct {
		name, src string
		open      bool
	}{{"no files", "fn f() -> i32 = 1", false}, {"files", files, true}} {
		var said strings.Builder
		m, err := Compile(c.src, Options{System: runtime.OS{Out: &said}, Sandbox: &Sandbox{Write: []string{mine}}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		if y, err := f.Call(context.Background()); err != nil || y.Bits()[0] != 1 {
			t.Errorf("%s: %v, %v", c.name, y, err)
		}
		m.Close()
		for _, wrong := range sandboxtest.Check(said.String(), c.open, true) {
			t.Errorf("%s: %s", c.name, wrong)
		}
	}
	if text, err := os.ReadFile(foreign); err != nil || string(text) != "secret" {
		t.Errorf("the foreign file is %q, %v", text, err)
	}
}

// TestSandboxHostile: a process that says nonsense, closes its connection, hangs or ends is an error of the call, and
// is gone.
func TestSandboxHostile(t *testing.T) {
	if missing := sandbox.Available().Missing(); missing != "" {
		t.Skip(missing)
	}
	for what, want := range map[string]string{"close": "it closed its connection",
		"write": "there is no message of kind 255", "crash": "it ended with exit status 7",
		"hang": "the program was stopped: its time is over"} {
		t.Run(what, func(t *testing.T) {
			t.Setenv(envHostile, what)
			m, err := Compile("fn f(x: f32[1000]) -> f32[1000] = x + 1.0", Options{Sandbox: &Sandbox{}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f, err := m.Func("f")
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			if what == "hang" {
				ctx, cancel = context.WithTimeout(context.Background(), 200*time.Millisecond)
			}
			defer cancel()
			x, err := tensor.Zeros(tensor.DTypeOf[float32](), 1000)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = f.Call(ctx, x)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if what != "hang" {
				return
			}
			for { // a call that does not end when it is to is the end of the process
				time.Sleep(100 * time.Millisecond)
				_, err = m.Func("nosuch")
				var gone *SandboxError
				if errors.As(err, &gone) {
					break
				}
				if time.Since(start) > 60*time.Second {
					t.Fatalf("%v", err)
				}
			}
		})
	}
}
