package library

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/dynlib"
	"healc/runtime/objload"
	"healc/runtime/tensor"
)

// plain is the CPU that all machines of this architecture have: one level compiles three times as fast.
var plain = map[string]string{"amd64": "x86-64", "arm64": "generic"}[goruntime.GOARCH]

// source compiles functions of a source into a library and opens it.
func source(t *testing.T, src string, names ...string) (*engine.Module, *Lib, map[string]*aot.Entry) {
	t.Helper()
	m, err := engine.CompileFile(diag.NewFile("t.heal", src), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Library("t", names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Target.CPU = plain
	lib, err := Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(); lib.Close() })
	entries := map[string]*aot.Entry{}
	for _, e := range l.Entries {
		entries[e.Name] = e
	}
	return m, lib, entries
}

// sourceAs compiles functions of a source into a library of a name, which is open for all of the process.
func sourceAs(t *testing.T, prefix, src string, names ...string) *Lib {
	t.Helper()
	m, err := engine.CompileFile(diag.NewFile(prefix+".heal", src), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library(prefix, names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Target.CPU = plain
	lib, err := buildAs(t.TempDir(), l, dynlib.Now|dynlib.Global)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	return lib
}

const parallelSource = `
pub fn wave[N](x: f32[N]) -> f32[N] = sin(x .* x) .+ exp(x .* -1.0)
pub fn total[N](x: f32[N]) -> f32 = +/(sin(x))
pub fn pick[N, K](x: f32[N], i: i32[K]) -> f32[K] = tabulate(K, |k| x[i[k]])
`

// many is large enough that every function above runs in pieces.
const many = 300_001

func newTensor(t *testing.T, make func(i int) float32, n int) *tensor.Tensor {
	t.Helper()
	x := tensor.FromSlice(fill(make, n), n)
	if err := x.Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

func fill[T any](make_ func(i int) T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = make_(i)
	}
	return out
}

// TestThreads: the bits do not depend on who runs the pieces, and neither does which failure is reported.
func TestThreads(t *testing.T) {
	m, lib, entries := source(t, parallelSource, "wave", "total", "pick")
	x := newTensor(t, func(i int) float32 { return float32(i%1000) / 250 }, many)
	check := func(how string) {
		t.Helper()
		for _, name := range []string{"wave", "total"} {
			f, err := m.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.Call(context.Background(), x)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tensor.Zeros(want.DType, want.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			if err := lib.Call(entries[name], []*tensor.Tensor{x}, []*tensor.Tensor{got}); err != nil {
				t.Fatalf("%s, %s: %v", how, name, err)
			}
			a, b := want.Bits(), got.Bits()
			for i := range a {
				if a[i] != b[i] {
					t.Fatalf("%s, %s: element %d is %#x, want %#x", how, name, i, b[i], a[i])
				}
			}
			want.Close()
			got.Close()
		}
		// Two indices are wrong; the first is what one thread meets.
		index := tensor.FromSlice(fill(func(i int) int32 {
			switch i {
			case 200_000:
				return many + 1
			case 290_000:
				return -1
			}
			return int32(i)
		}, many), many)
		defer index.Close()
		out := newTensor(t, func(int) float32 { return 0 }, many)
		err := lib.Call(entries["pick"], []*tensor.Tensor{x, index}, []*tensor.Tensor{out})
		var failed *Failure
		if !errors.As(err, &failed) || failed.Code != aot.CodeIndex ||
			!strings.Contains(failed.Message, "index 300002 is out of range for an axis of extent 300001") {
			t.Fatalf("%s: %v", how, err)
		}
	}
	for _, n := range []uintptr{1, 2, 3, 7, 2} {
		if _, err := lib.Do(lib.Own("set_threads"), n); err != nil {
			t.Fatal(err)
		}
		check(string(rune('0'+n)) + " threads")
	}

	// The host's own loop: pieces backwards, on one thread.
	var pieces, wrong atomic.Int64
	hook := purego.NewCallback(func(user, n, grain, task, context uintptr) uintptr {
		if user != 42 {
			wrong.Add(1)
		}
		last := (n - 1) / grain * grain
		for begin := int(last); begin >= 0; begin -= int(grain) {
			objload.Call(task, context, uintptr(begin), min(uintptr(begin)+grain, n))
			pieces.Add(1)
		}
		return 0
	})
	if _, err := lib.Do(lib.Own("set_parallel_for"), hook, 42); err != nil {
		t.Fatal(err)
	}
	check("hook")
	if pieces.Load() < 6 || wrong.Load() > 0 {
		t.Errorf("the host's loop ran %d pieces, %d times with another user", pieces.Load(), wrong.Load())
	}
	if _, err := lib.Do(lib.Own("set_parallel_for"), 0, 0); err != nil {
		t.Fatal(err)
	}

	// Several callers at once: one has the pool, the others go alone.
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			check("at once")
		}()
	}
	wg.Wait()
}

// TestDirect calls a function by its extents and addresses.
func TestDirect(t *testing.T) {
	goruntime.LockOSThread() // LastError is of the calling thread
	defer goruntime.UnlockOSThread()
	_, lib, _ := source(t, `pub fn axpy[N](a: f32, x: f32[N], y: f32[N]) -> f32[N] = a * x .+ y`, "axpy")
	fn, err := lib.Symbol("t_axpy")
	if err != nil {
		t.Fatal(err)
	}
	var axpy func(n int64, a float32, x, y, result unsafe.Pointer) int32
	purego.RegisterFunc(&axpy, fn)
	for n := range 70 {
		x := newTensor(t, func(i int) float32 { return float32(i) }, n)
		y := newTensor(t, func(i int) float32 { return 0.5 }, n)
		z := newTensor(t, func(i int) float32 { return -1 }, n)
		if code := axpy(int64(n), 3, x.Ptr(), y.Ptr(), z.Ptr()); code != 0 {
			t.Fatalf("n = %d: code %d: %s", n, code, lib.LastError())
		}
		got, err := tensor.Slice[float32](z)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if v != 3*float32(i)+0.5 {
				t.Fatalf("n = %d: element %d is %v", n, i, v)
			}
		}
	}
	x := newTensor(t, func(i int) float32 { return 1 }, 8)
	for _, c := range []struct {
		n    int64
		out  unsafe.Pointer
		want string
	}{
		{-1, x.Ptr(), "axpy: the extent N is -1"},
		{4, unsafe.Add(x.Ptr(), 4), "axpy: result is written and shares memory with x"},
		{1 << 40, x.Ptr(), "axpy: the extent N is 1099511627776"},
	} {
		if code := axpy(c.n, 1, x.Ptr(), x.Ptr(), c.out); code != aot.CodeArgument || lib.LastError() != c.want {
			t.Errorf("n = %d: code %d: %s; want %s", c.n, code, lib.LastError(), c.want)
		}
	}
}

// TestShapes: what does not fit is said by the name of the argument.
func TestShapes(t *testing.T) {
	_, lib, entries := source(t, `
pub fn f[N](x: f32[2*N + 1], y: f32[N, 3]) -> f32[N] = +/[axis=1](y) .+ x[0..N]
pub fn shift[N](x: &mut f32[N], by: f32) = { x[0..N] = x .+ by; }
`, "f", "shift")
	vec := func(n int) *tensor.Tensor { return newTensor(t, func(i int) float32 { return float32(i) }, n) }
	mat := func(m, n int) *tensor.Tensor {
		v, err := vec(m*n).Reshape(int64(m), int64(n))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Close)
		return v
	}
	out := vec(2)
	for _, c := range []struct {
		x, y, out *tensor.Tensor
		want      string
	}{
		{vec(5), mat(2, 3), out, ""},
		{vec(4), mat(2, 3), out, "f: axis 0 of x has extent 4, but 2*N+1 is 5"},
		{vec(5), mat(2, 4), out, "f: axis 1 of y has extent 4, and its type asks for 3"},
		{vec(5), mat(2, 3), vec(3), "f: axis 0 of result has extent 3, but N is 2"},
	} {
		err := lib.Call(entries["f"], []*tensor.Tensor{c.x, c.y}, []*tensor.Tensor{c.out})
		var failed *Failure
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (!errors.As(err, &failed) || failed.Code != aot.CodeArgument || failed.Message != c.want):
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	still, err := vec(1).Expand(4)
	if err != nil {
		t.Fatal(err)
	}
	defer still.Close()
	by := tensor.Scalar[float32](1)
	defer by.Close()
	var failed *Failure
	if err := lib.Call(entries["shift"], []*tensor.Tensor{still, by}, nil); !errors.As(err, &failed) ||
		!strings.Contains(failed.Message, "along axis 0 are one place in memory") {
		t.Error(err)
	}
}

// TestCallers: what fails in a module of the standard library names the call that led there.
func TestCallers(t *testing.T) {
	_, lib, entries := source(t, "import math\nimport nn\n"+
		"pub fn loss(x: f32[1, 3], c: i32[1]) -> f32 = nn.softmax_cross_entropy(x, c)\n"+
		"pub fn deep(n: i32) -> i32 = math.binomial(n + 20000, n + 20000)\n", "loss", "deep")
	x, err := tensor.Zeros(types.F32, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	class := tensor.FromSlice([]int32{3}, 1)
	defer class.Close()
	out := tensor.Scalar(float32(0))
	defer out.Close()
	err = lib.Call(entries["loss"], []*tensor.Tensor{x, class}, []*tensor.Tensor{out})
	var failed *Failure
	if !errors.As(err, &failed) || !strings.HasPrefix(failed.Message, "<stdlib>/nn.heal:") ||
		!strings.HasSuffix(failed.Message, "index 3 is out of range for an axis of extent 3 (called at t.heal:3:47)") {
		t.Errorf("%v", err)
	}
	deep := tensor.Scalar(int32(0))
	defer deep.Close()
	err = lib.Call(entries["deep"], []*tensor.Tensor{tensor.Scalar(int32(0))}, []*tensor.Tensor{deep})
	if !errors.As(err, &failed) || !strings.HasSuffix(failed.Message,
		"calls are nested more than 10000 deep (called at t.heal:4:30)") {
		t.Errorf("%v", err)
	}
}

// TestSameBytes: a library depends on the program alone.
func TestSameBytes(t *testing.T) {
	var first []byte
	for range 2 {
		m, err := engine.CompileFile(diag.NewFile("t.heal", parallelSource), engine.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		l, err := m.Library("t", []string{"wave", "total"}, func(string) map[string]int64 { return nil })
		m.Close()
		if err != nil {
			t.Fatal(err)
		}
		l.Target.CPU = plain
		objects, err := aot.Objects(l)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := aot.Link(objects, "t", "t.so", "")
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, raw) {
			t.Error("two libraries of one program differ")
		}
		first = raw
	}
}

// TestLinkers: the same program linked by every linker that is there gives the same result.
func TestLinkers(t *testing.T) {
	found, cpus := 0, map[string]bool{}
	for _, name := range []string{"ld", "ld.lld", "ld.gold"} {
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		found++
		t.Setenv(aot.LinkerEnv, name)
		_, lib, entries := source(t, parallelSource, "total")
		cpus[loadedCPU(t, parallelSource, "wave")] = true
		x := newTensor(t, func(int) float32 { return 0 }, many)
		y, err := tensor.Zeros(x.DType)
		if err != nil {
			t.Fatal(err)
		}
		if err := lib.Call(entries["total"], []*tensor.Tensor{x}, []*tensor.Tensor{y}); err != nil ||
			y.Bits()[0] != 0 {
			t.Errorf("%s: %v, %v", name, y.Bits(), err)
		}
		y.Close()
	}
	if found == 0 {
		t.Error("there is no linker")
	}
	if len(cpus) != 1 {
		t.Errorf("libraries by different linkers choose different processors: %v", cpus)
	}
	t.Setenv(aot.LinkerEnv, "no-such-linker")
	var missing *aot.LinkError
	if _, err := aot.FindLinker(""); !errors.As(err, &missing) || missing.Help == "" {
		t.Errorf("no linker: %v", err)
	}
}

// loadedCPU is the level that a library with all levels chooses when it is loaded.
func loadedCPU(t *testing.T, src, name string) string {
	t.Helper()
	m, err := engine.CompileFile(diag.NewFile("t.heal", src), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library("t", []string{name}, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	lib, err := Build(t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	return lib.text(lib.Own("cpu"))
}

// TestExample compiles and runs the C program of examples/library.
func TestExample(t *testing.T) {
	cc := compiler(t)
	text, err := os.ReadFile("../../examples/layernorm.heal")
	if err != nil {
		t.Fatal(err)
	}
	l, objects := made(t, "layernorm", string(text), "layernorm")
	dir := t.TempDir()
	inFolder(t, dir, map[string]string{"layernorm.so": linked(t, l, objects, "layernorm.so"),
		"layernorm.h": aot.Header(l)})
	source, err := filepath.Abs("../../examples/library/main.c")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command(cc, "-Wall", "-Werror", "-I.", source, "./layernorm.so", "-o", "main")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command("./main")
	run.Dir = dir
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir)
	out, err := run.CombinedOutput()
	want :=
		"rows: -1.224736 0.500000 2.224736\nbackwards: 1.224736 0.500000 -0.224736\n" +
			"code 2: layernorm: axis 0 of scale has extent 2, but N is 3\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

// TestThreadsWarning: a HEAL_THREADS that is no number of threads is not ignored without a word.
func TestThreadsWarning(t *testing.T) {
	for value, want := range map[string]string{
		"abc": "is not a number of threads", "4x": "is not a number of threads", "0": "is not a number of threads",
		"-1": "is not a number of threads", "1025": "is not a number of threads", "": "", "3": "",
	} {
		t.Setenv("HEAL_THREADS", value)
		lib := sourceAs(t, "warned", "pub fn same(x: i32) -> i32 = x\n", "same")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		n := int32(0)
		said := redirected(t, r, w, func() { n, err = lib.Do(lib.Own("get_threads")) })
		if err != nil || n < 1 || value == "3" && n != 3 {
			t.Errorf("HEAL_THREADS=%s: %d threads, %v", value, n, err)
		}
		if want == "" && said != "" || !strings.Contains(said, want) ||
			want != "" && !strings.Contains(said, "HEAL_THREADS="+value+" ") {
			t.Errorf("HEAL_THREADS=%s: the library says %q", value, said)
		}
	}
}

// redirected is what f writes to standard error, as the system has it.
func redirected(t *testing.T, r, w *os.File, f func()) string {
	t.Helper()
	saved, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	f()
	if err := errors.Join(syscall.Dup3(saved, 2, 0), syscall.Close(saved), w.Close()); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(said)
}
