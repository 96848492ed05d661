package heal

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"healc/codegen"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/abi"
)

// TestCacheByText: who has the text of a program, with all that it imports, finds its code without its kernels, and
// whatever else that depends on is part of the key.
func TestCacheByText(t *testing.T) {
	dir := t.TempDir()
	cache := &Cache{Dir: filepath.Join(dir, "cache")}
	imported := "pub fn g(x: f32) -> f32 = x * 2.0\n"
	text := "import \"./other\"\nfn f[N](x: f32[N]) -> f32[N] = map(|a| other.g(a) + 1.0, x)\n"
	// run calls f with n elements, and reports that it made kernels.
	run := func(n int, want float32, opts Options) bool {
		t.Helper()
		timer := &Timer{}
		opts.Cache, opts.Debug.Timer = cache, timer
		opts.Imports = &Importer{Read: func(string) ([]byte, error) { return []byte(imported), nil }}
		m, err := CompileFile(diag.NewFile(filepath.Join(dir, "main.heal"), text), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x := runtime.FromSlice(slices.Repeat([]float32{3}, n))
		defer x.Close()
		y, err := f.Call(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		if v, _ := runtime.Slice[float32](y); len(v) != n || v[0] != want {
			t.Fatalf("%d elements: %v, want %v", n, v, want)
		}
		return slices.Contains(timer.Names, "passes")
	}
	check := func(what string, got, want bool, programs int) {
		t.Helper()
		if got != want || len(cache.Entries()) != programs {
			t.Errorf("%s: kernels were made: %v; %d programs, want %d", what, got, len(cache.Entries()), programs)
		}
	}
	check("the first time", run(2, 7, Options{}), true, 1)
	check("again", run(2, 7, Options{}), false, 1)
	check("another shape", run(3, 7, Options{}), true, 2)
	check("code that runs once", run(2, 7, Options{Once: true}), true, 3)
	text = "# a comment\n" + text
	check("a comment", run(2, 7, Options{}), true, 4) // its lines are others, and stand in the plan
	check("a comment again", run(2, 7, Options{}), false, 4)
	imported = "pub fn g(x: f32) -> f32 = x * 3.0\n"
	check("another import", run(2, 10, Options{}), true, 5)
	names, _ := filepath.Glob(filepath.Join(cache.Dir, "*", "*"+nameExt))
	for i, bad := range []string{"", "zz", cacheKey("nothing")} {
		if err := os.WriteFile(names[i], []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		run(2, 10, Options{})
		run(3, 10, Options{})
	}
	check("with damaged names", run(2, 10, Options{}), false, 6)
	if n, err := cache.Clear(); n != 6 || err != nil {
		t.Errorf("%d programs removed, %v", n, err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache.Dir, "*", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	check("after all were removed", run(2, 10, Options{}), true, 1)
}

// TestCacheKeepsWhatIsUsed: an entry that was read is younger than one that was not, and what a killed process left
// goes with the oldest entries.
func TestCacheKeepsWhatIsUsed(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: 10_000}
	art := &codegen.Artifact{Plan: &abi.Program{Name: "f"}, Objects: [][]byte{make([]byte, 4000)}}
	first, second, third := cacheKey("1"), cacheKey("2"), cacheKey("3")
	c.store(first, art)
	c.store(second, art)
	then := time.Now().Add(-3 * time.Hour)
	for i, key := range []string{first, second} {
		at := then.Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(c.path(key), at, at); err != nil {
			t.Fatal(err)
		}
	}
	old, fresh := filepath.Join(filepath.Dir(c.path(first)), "new-1"),
		filepath.Join(filepath.Dir(c.path(first)), "new-2")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	if c.load(first) == nil {
		t.Fatal("the first entry is not there")
	}
	c.store(third, art)
	if c.load(first) == nil || c.load(second) != nil || c.load(third) == nil {
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
		c.store(cacheKey("x"), art)
		if c.load(cacheKey("x")) != nil || len(c.Entries()) != 0 {
			t.Errorf("there is something in %s", dir)
		}
	}
}
