package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"healc/runtime/mapped"
)

// TestInputHeld: an input is mapped, in a sandbox, too, and what is written to its file while the program runs changes
// no result.
func TestInputHeld(t *testing.T) {
	sources := map[string]string{
		"make.heal": "fn make() -> f64[200000] = tabulate(200000, |i| (i % 1000) as f64)\n",
		"f.heal": "@io fn f[N](x: f64[N]) -> f64 = " +
			"{ iterate(20000, 0, |i| { print(\"waits for a reader\"); i + 1 }); +/(x) }\n",
	}
	for _, backend := range backends() {
		for _, flags := range []string{"", "--sandbox"} {
			dir := t.TempDir()
			for name, text := range sources {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(dir, "x.npy")
			healc := func(args string) *exec.Cmd {
				c := exec.Command("healc", strings.Fields("run "+args)...)
				c.Dir, c.Env = dir, os.Environ()
				setEnv(func(key, value string) { c.Env = append(c.Env, key+"="+value) }, dir)
				return c
			}
			if out, err := healc("make.heal --backend interp --entry make --out x.npy").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !canHold(t, file) {
				t.Skip("files of this file system are not held")
			}
			c := healc("f.heal --entry f --in x=@x.npy --backend " + backend + " " + flags)
			var errs bytes.Buffer
			c.Stderr = &errs
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() }).Stop()
			if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it runs, and waits for who reads more
				t.Fatalf("%v: %s", err, errs.String())
			}
			if !mapsFile(t, c.Process.Pid, file) {
				t.Errorf("%s %s: the input is not mapped", backend, flags)
			}
			w, err := os.OpenFile(file, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.WriteAt(make([]byte, 1_000_000), 128)
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(out)
			if err == nil {
				err = c.Wait()
			}
			last := rest[bytes.LastIndexByte(bytes.TrimSpace(rest), '\n')+1:]
			if want := "99900000.0\n"; err != nil || string(last) != want {
				t.Errorf("%s %s: %q, not %q: %v\n%s", backend, flags, last, want, err, errs.String())
			}
		}
	}
}

// canHold reports whether a file can be held, and so is mapped.
func canHold(t *testing.T, file string) bool {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	held, err := mapped.Hold(f)
	if err != nil {
		f.Close()
		return false
	}
	held.Close()
	return true
}

// mapsFile reports whether a process, or one that it started, has a file mapped.
func mapsFile(t *testing.T, pid int, file string) bool {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(maps), file) {
		return true
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		for _, child := range strings.Fields(string(children)) {
			n := 0
			if _, err := fmt.Sscan(child, &n); err == nil && mapsFile(t, n, file) {
				return true
			}
		}
	}
	return false
}
