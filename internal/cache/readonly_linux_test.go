package cache

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestCacheReadOnly: what is in a folder that cannot be written is loaded, and storing more is no error. Where root
// runs the test, a thread of another user does that: root may write everything.
func TestCacheReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := &Cache{Dir: dir}
	key, art := program(1)
	c.Store(key, art)
	for _, path := range []string{filepath.Join(dir, pathOf(key, programKind)), filepath.Join(dir, key[:2]), dir,
		filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		if err := os.Chmod(path, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(dir, 0o700)
	before := len(files(t, dir))
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread ends with the goroutine
		if os.Geteuid() == 0 {
			_ = syscall.Setfsuid(65534)
		}
		if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); !errors.Is(err, os.ErrPermission) {
			done <- errors.New("the folder can be written")
			return
		}
		c.Store(Key("another"), art)
		c.Name(Key("a name"), key)
		if got := c.Load(key); got == nil || !is(got, 1) {
			done <- errors.New("what is there is not loaded")
			return
		}
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(files(t, dir)) != before {
		t.Error("something was stored")
	}
}

// TestCacheOfFullDisk: where files cannot grow, as on a full disk, programs run, and nothing is kept.
func TestCacheOfFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cmd := exec.Command("sh", "-c", `ulimit -f 64; exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}
