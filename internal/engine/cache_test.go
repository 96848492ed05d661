package engine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/internal/cache"
	"healc/internal/modules"
	"healc/internal/pipeline"
	"healc/lang/diag"
	"healc/runtime/tensor"
)

const chain = "fn f[N](a: f32[N], x: f32[N], b: f32[N]) -> f32[N] = relu(a .* x .+ b)"

// function compiles a source, and returns a function of it.
func function(t testing.TB, src, name string, opts Options) *Func {
	t.Helper()
	m, err := Compile(src, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	f, err := m.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCacheByText: who has the text of a program, with all that it imports, finds its code without its kernels, and
// whatever else that depends on is part of the key.
func TestCacheByText(t *testing.T) {
	dir := t.TempDir()
	c := &cache.Cache{Dir: filepath.Join(dir, "cache")}
	imported := "pub fn g(x: f32) -> f32 = x * 2.0\n"
	text := "import \"./other\"\nfn f[N](x: f32[N]) -> f32[N] = map(|a| other.g(a) + 1.0, x)\n"
	// run calls f with n elements, and reports that it made kernels.
	run := func(n int, want float32, opts Options) bool {
		t.Helper()
		timer := &pipeline.Timer{}
		opts.Cache, opts.Debug.Timer = c, timer
		opts.Imports = &modules.Importer{Read: func(string) ([]byte, error) { return []byte(imported), nil }}
		m, err := CompileFile(diag.NewFile(filepath.Join(dir, "main.heal"), text), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x := tensor.FromSlice(slices.Repeat([]float32{3}, n))
		defer x.Close()
		y, err := f.Call(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		if v, _ := tensor.Slice[float32](y); len(v) != n || v[0] != want {
			t.Fatalf("%d elements: %v, want %v", n, v, want)
		}
		return slices.Contains(timer.Names, "passes")
	}
	check := func(what string, got, want bool, programs int) {
		t.Helper()
		if got != want || len(c.Entries()) != programs {
			t.Errorf("%s: kernels were made: %v; %d programs, want %d", what, got, len(c.Entries()), programs)
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
	names, _ := filepath.Glob(filepath.Join(c.Dir, "*", "*.name"))
	for i, bad := range []string{"", "zz", cache.Key("nothing")} {
		if err := os.WriteFile(names[i], []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		run(2, 10, Options{})
		run(3, 10, Options{})
	}
	check("with damaged names", run(2, 10, Options{}), false, 6)
	if n, err := c.Clear(); n != 6 || err != nil {
		t.Errorf("%d programs removed, %v", n, err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "*", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	check("after all were removed", run(2, 10, Options{}), true, 1)
}

func TestCacheSurvivesDamage(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir()}
	run := func() {
		t.Helper()
		f := function(t, chain, "f", Options{Cache: c})
		x := tensor.FromSlice([]float32{3, -3})
		defer x.Close()
		y, err := f.Call(context.Background(), x, x, x)
		if err != nil {
			t.Fatal(err)
		}
		defer y.Close()
		if v, _ := tensor.Slice[float32](y); v[0] != 12 || v[1] != 6 {
			t.Fatalf("%v", v)
		}
	}
	run()
	entries := c.Entries()
	if len(entries) != 1 {
		t.Fatalf("%d entries after one program", len(entries))
	}
	run()
	if n := len(c.Entries()); n != 1 {
		t.Fatalf("%d entries after the same program again", n)
	}
	whole, err := os.ReadFile(entries[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{nil, whole[:10], whole[:len(whole)-1], append([]byte{}, whole...)} {
		if len(damaged) == len(whole) {
			damaged[len(damaged)/2] ^= 1
		}
		if err := os.WriteFile(entries[0].Path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		run()
		if now, _ := os.ReadFile(entries[0].Path); string(now) != string(whole) {
			t.Errorf("a damaged entry of %d bytes was not replaced", len(damaged))
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := &cache.Cache{Dir: t.TempDir(), Limit: 20000}
	for i := range 12 {
		src := strings.Replace(chain, "x .+ b", "x .+ b .+ "+strings.Repeat("1.0 .+ ", i)+"2.0", 1)
		f := function(t, src, "f", Options{Cache: c})
		x := tensor.FromSlice([]float32{3, -3})
		if _, err := f.Call(context.Background(), x, x, x); err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	sum := int64(0)
	for _, e := range c.Entries() {
		sum += e.Bytes
	}
	if sum > c.Limit || sum == 0 {
		t.Errorf("%d bytes in the cache, the limit is %d", sum, c.Limit)
	}
	left, _ := filepath.Glob(filepath.Join(c.Dir, "*", "new-*"))
	if len(left) != 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
