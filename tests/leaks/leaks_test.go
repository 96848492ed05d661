// Package leaks compiles many programs in one process and wants the memory of the process to be where it was: Go's
// heap, what the system has given to the process (contexts of libLLVM, machine code), maps, files, goroutines. It is a
// package of its own so that nothing else has made memory that hides what is lost here.
package leaks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"healc/internal/backend"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/runtime/tensor"
	"healc/tests/sample"
	"healc/tests/ways"
)

// programs are sources with a number in the place of each N, so that no two are the same. Together they have each kind
// of kernel, steps of the host, a loop, a recursion, and errors of each stage.
var programs = []struct {
	src  string
	fail string // what the error has, "" for none
}{
	{src: "fn f(x: f32[70]) -> f32[70] = exp(x .* N.0) ./ (1.0 .+ x .* x)"},
	{src: "fn f(x: f32[70]) -> f32[3, 5] = sort(reshape(x[0..15] .+ N.0, [3, 5]), axis = 1)"},
	{src: "fn f(x: f32[70]) -> f32[7, 7] { let a = reshape(x, [7, 10]) .* N.0; a @ transpose(a) }"},
	{src: "import nn\nfn f(x: f32[70]) -> f32 = sum(nn.softmax(reshape(x, [7, 10]) .- N.0)) + mean(x)"},
	{src: "fn f(x: f32[70]) -> f32[70] = iterate(N, x, |s| s .* 0.5 .+ sum(s) .* 0.001)"},
	{src: "fn down(n: i32, a: f32) -> f32 = if n <= 0 { a } else { down(n - 1, a * 0.5) }\n" +
		"fn f(x: f32[70]) -> f32 = down(N % 50, x[3])"},
	{src: "fn f(x: f32[70]) -> f32[70] = grad(|y| sum(sin(y) .* N.0))(x)"},
	{src: "fn f(x: f32[70]) -> f32[70] = scan(0.0, |a, b| a + b, x .* N.0)"},
	{src: "fn f(x: f32[70]) -> f32[70] = x + no_such_N", fail: "no_such_"},
	{src: "fn f(x: f32[70] -> N", fail: "expected"},
	{src: "fn f(x: f32[70]) -> f32 = x[(N % 50) + 70 + (x[0] as i64)]", fail: "out of range"},
}

// usage is what a process holds.
type usage struct {
	heap, resident          int64 // bytes
	maps, files, goroutines int
}

func (u usage) String() string {
	return fmt.Sprintf("Go's heap %d KiB, resident %d KiB, %d maps, %d files, %d goroutines", u.heap>>10,
		u.resident>>10, u.maps, u.files, u.goroutines)
}

// measure is what this process holds when the garbage is gone.
func measure(t *testing.T) usage {
	t.Helper()
	var u usage
	// A goroutine that was told to end needs a moment.
	for last := -1; u.goroutines != last; u.goroutines = goruntime.NumGoroutine() {
		last = u.goroutines
		goruntime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	debug.FreeOSMemory()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	u.heap = int64(m.HeapAlloc)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("what the process holds is not known here: %v", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	u.resident = pages * int64(os.Getpagesize())
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	u.maps = strings.Count(string(maps), "\n")
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	u.files = len(files)
	return u
}

// compile compiles and runs program number i, in one of the ways, and leaves nothing behind.
func compile(t *testing.T, i int, dir string, x *tensor.Tensor) {
	t.Helper()
	p := programs[i%len(programs)]
	src := strings.ReplaceAll(p.src, "N", strconv.Itoa(i+2))
	way := ways.All[i/len(programs)%len(ways.All)]
	o := engine.Options{Backend: backend.CPU, Threads: 1 + i%2, Cache: &cache.Cache{Dir: dir, Limit: 1 << 20}}
	way.Set(&o)
	o.Debug.Memo = nil // it would hold what libLLVM made of every program
	if i%13 == 5 {
		o.Backend = backend.PTXSim
	}
	err := func() error {
		m, err := engine.Compile(src, o)
		if err != nil {
			return err
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			return err
		}
		out, err := f.CallAll(context.Background(), x)
		for _, y := range out {
			y.Close()
		}
		return err
	}()
	if p.fail == "" && err != nil || p.fail != "" && (err == nil || !strings.Contains(err.Error(), p.fail)) {
		t.Fatalf("%s=%s: %s\ngives %v", ways.Env, way.Name, src, err)
	}
}

// TestCompiles: the later ones of many compiles leave nothing behind. With the first ones tables are filled, and the
// allocators get the memory that they use again.
func TestCompiles(t *testing.T) {
	warm, n := 220, 250
	switch {
	case sample.All():
		n = 2000
	case testing.Short():
		warm, n = 110, 165
	}
	dir := filepath.Join(t.TempDir(), "cache")
	values := make([]float32, 70)
	for i := range values {
		values[i] = float32(i) / 70
	}
	x := tensor.FromSlice(values)
	defer x.Close()
	for i := range warm {
		compile(t, i, dir, x)
	}
	before := measure(t)
	t.Logf("before: %v", before)
	for i := range n {
		compile(t, warm+i, dir, x)
	}
	after := measure(t)
	t.Logf("after %d compiles: %v", n, after)

	// What a compile that forgets something would leave is far more: a context of libLLVM has tens of KiB, code some
	// pages and maps, a module some KiB of Go's heap. What is allowed is what allocators lose between blocks in use.
	for _, c := range []struct {
		what                 string
		before, after, spare int64
	}{
		{"bytes of Go's heap", before.heap, after.heap, int64(64<<10 + 64*n)},
		{"resident bytes", before.resident, after.resident, int64(5<<20 + 4<<10*n)},
		{"maps", int64(before.maps), int64(after.maps), int64(16 + n/50)},
		{"files", int64(before.files), int64(after.files), 2},
		{"goroutines", int64(before.goroutines), int64(after.goroutines), 2},
	} {
		if more := c.after - c.before; more > c.spare {
			t.Errorf("%d compiles left %d %s behind, where at most %d are no leak", n, more, c.what, c.spare)
		}
	}
}
