package cache

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"healc/codegen"
	"healc/runtime/abi"
)

// TestCacheKeepsWhatIsUsed: an entry that was read is younger than one that was not, and what a killed process left
// goes with the oldest entries.
func TestCacheKeepsWhatIsUsed(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: 10_000}
	art := &codegen.Artifact{Plan: &abi.Program{Name: "f"}, Objects: [][]byte{make([]byte, 4000)}}
	first, second, third := Key("1"), Key("2"), Key("3")
	c.Store(first, art)
	c.Store(second, art)
	then := time.Now().Add(-3 * time.Hour)
	for i, key := range []string{first, second} {
		at := then.Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(filepath.Join(c.Dir, pathOf(key, programKind)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	old, fresh := filepath.Join(filepath.Dir(filepath.Join(c.Dir, pathOf(first, programKind))), "new-1"),
		filepath.Join(filepath.Dir(filepath.Join(c.Dir, pathOf(first, programKind))), "new-2")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	if c.Load(first) == nil {
		t.Fatal("the first entry is not there")
	}
	c.Store(third, art)
	if c.Load(first) == nil || c.Load(second) != nil || c.Load(third) == nil {
		t.Error("not the entry that was unused for the longest time is gone")
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a file that a killed process left is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a file that another process may be writing is gone")
	}
}

// TestCacheCannotBeWritten: a folder that is none, or cannot be made, is no cache, and no error.
func TestCacheCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	art := &codegen.Artifact{Plan: &abi.Program{Name: "f"}}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/none"} {
		c := &Cache{Dir: dir}
		c.Store(Key("x"), art)
		if c.Load(Key("x")) != nil || len(c.Entries()) != 0 {
			t.Errorf("there is something in %s", dir)
		}
	}
}
