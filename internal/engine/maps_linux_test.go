package engine

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"testing"

	"healc/runtime/memory"
)

// mapsEnv is set in the process that uses up its maps.
const mapsEnv = "HEAL_TEST_MAPS"

// TestNoMoreMaps: machine code for which the system has no map is an error like any other lack of memory, after which
// the process goes on.
func TestNoMoreMaps(t *testing.T) {
	if os.Getenv(mapsEnv) == "" {
		c := exec.Command(os.Args[0], "-test.run", "^TestNoMoreMaps$", "-test.v")
		c.Env = append(os.Environ(), mapsEnv+"=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	f := function(t, chain, "f", Options{Threads: 1})
	art, err := f.compiler().Build("f", map[string]int64{"N": 5}, [][]int64{{1}, {1}, {1}})
	if err != nil {
		t.Fatal(err)
	}
	const pages = 1 << 17
	page := os.Getpagesize()
	room, err := syscall.Mmap(-1, 0, pages*page, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Skip(err)
	}
	debug.SetGCPercent(-1)
	for i := 0; i < pages && err == nil; i += 2 {
		err = syscall.Mprotect(room[i*page:(i+1)*page], syscall.PROT_READ)
	}
	_, failed := f.m.Load(art)
	if e := syscall.Munmap(room); e != nil {
		t.Fatal(e)
	}
	if err == nil {
		t.Skip("this system has more maps than the test uses up")
	}
	var out *memory.OutOfMemoryError
	if !errors.As(failed, &out) || !errors.Is(failed, syscall.ENOMEM) {
		t.Errorf("without a map: %v", failed)
	}
	x, err := f.m.Load(art)
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
}
