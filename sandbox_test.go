package heal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	heal "healc"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// needSandbox skips where the system has no sandbox.
func needSandbox(t testing.TB) {
	t.Helper()
	if missing := heal.SandboxMissing(); missing != "" {
		t.Skip(missing)
	}
}

// notes is a System that notes what it is asked.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
	err  error // of every file
}

func (n *notes) Print(text string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text.WriteString(text)
	return nil
}

func (n *notes) LoadNpy(path string) (*tensor.Tensor, error) {
	if n.err != nil {
		return nil, n.err
	}
	_ = n.Print("load " + path + "\n")
	return heal.FromSlice([]float64{1.5, 2.5, 3.5}), nil
}

func (n *notes) SaveNpy(path string, t *tensor.Tensor) error {
	if n.err != nil {
		return n.err
	}
	return n.Print(fmt.Sprintln("save", path, t, t.Bits()))
}

func (n *notes) SaveImage(path string, form tensorfile.Image, t *tensor.Tensor) error {
	return n.Print(fmt.Sprintln("save", form, path, t, t.Bits()))
}

// must is a tensor without the error that it comes with.
func must(t *heal.Tensor, err error) *heal.Tensor {
	if err != nil {
		panic(err)
	}
	return t
}

// counted has the elements 0, 1 and so on, as any type.
func counted(dtype types.DType, shape ...int64) *heal.Tensor {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	bits := make([]uint64, n)
	for i := range bits {
		bits[i] = uint64(i*7+1) & 1
		switch {
		case dtype == types.F32:
			bits[i] = 0x3f000000 + uint64(i)*4096
		case dtype == types.F64:
			bits[i] = 0x3ff0000000000000 + uint64(i)<<40
		case dtype.IsFloat():
			bits[i] = 0x3c00 + uint64(i%64)
		case dtype.IsInt():
			bits[i] = uint64(i*7 + 1)
		}
	}
	return must(tensor.FromBits(dtype, shape, bits))
}

// alike are calls that are to do the same in a sandbox and without one.
var alike = []struct {
	name, src string
	args      func() []*heal.Tensor
}{
	{"a vector", "fn f[N](x: f32[N]) -> f32[N] = exp(x) / sum(x)", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.F32, 1000)}
	}},
	{"several results", "fn f[N](x: f64[N]) -> (f64[N], f64, i32) = (x .* 2.0, mean(x), 7)", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.F64, 64)}
	}},
	{"large tensors", "fn f[M, N](x: f32[M, N]) -> f32[N, M] = transpose(x) .+ 1.0", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.F32, 700, 900)}
	}},
	{"a product", "fn f[M, K, N](a: f32[M, K], b: f32[K, N]) -> f32[M, N] = a @ b", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.F32, 70, 65), counted(types.F32, 65, 33)}
	}},
	{"a transposed argument", "fn f[M, N](x: f32[M, N]) -> f32[M] = sum(x, axis = 1)", func() []*heal.Tensor {
		return []*heal.Tensor{must(counted(types.F32, 30, 40).Transpose())}
	}},
	{"every other element", "fn f[N](x: i32[N]) -> i32[N] = x .* 3", func() []*heal.Tensor {
		return []*heal.Tensor{must(counted(types.I32, 40).Unchecked(39, []int64{20}, []int64{-2}))}
	}},
	{"an expanded argument", "fn f[M, N](x: f32[M, N]) -> f32 = sum(x)", func() []*heal.Tensor {
		return []*heal.Tensor{must(counted(types.F32, 40).Expand(30, 40))}
	}},
	{"windows", "fn f[M, N](x: i64[M, N]) -> i64[M] = sum(x, axis = 1)", func() []*heal.Tensor {
		return []*heal.Tensor{must(counted(types.I64, 40).Unchecked(0, []int64{30, 5}, []int64{1, 1}))}
	}},
	{"columns", "fn f(x: f32[30, 40] in col_major) -> f32[40, 30] in col_major = transpose(x)", func() []*heal.Tensor {
		return []*heal.Tensor{must(counted(types.F32, 30, 40).ColumnMajor())}
	}},
	{"rows where columns are declared", "fn f(x: f32[3, 4] in col_major) -> f32 = sum(x)", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.F32, 3, 4)}
	}},
	{"nothing", "fn f() -> i32[3] = [1, 2, 3]", func() []*heal.Tensor { return nil }},
	{"empty tensors", "fn f[N](x: f32[N, 0]) -> (f32[N, 0], f32[0, N]) = (x .* 2.0, transpose(x))",
		func() []*heal.Tensor { return []*heal.Tensor{counted(types.F32, 5, 0)} }},
	{"many axes", "fn f(x: i8[2, 1, 2, 1, 2, 1, 2, 1, 2]) -> i8[2, 1, 2, 1, 2, 1, 2, 1, 2] = x .+ x",
		func() []*heal.Tensor { return []*heal.Tensor{counted(types.I8, 2, 1, 2, 1, 2, 1, 2, 1, 2)} }},
	{"strings", `fn f(a: string, b: string) -> (string, i32) = (a ++ b, len(a))`, func() []*heal.Tensor {
		return []*heal.Tensor{tensor.Text("grün\x00"), tensor.Text("")}
	}},
	{"an update", "fn f[N](x: &mut f32[N], y: f32[N]) -> f32 = { x += y; sum(x) }", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.F32, 50), counted(types.F32, 50)}
	}},
	{"an update of columns", "fn f[M, N](x: &mut i32[M, N]) = { x += 1; }", func() []*heal.Tensor {
		return []*heal.Tensor{must(counted(types.I32, 8, 9).Transpose())}
	}},
	{"an update of what is expanded", "fn f[N](x: &mut i32[N]) = { x += 1; }", func() []*heal.Tensor {
		return []*heal.Tensor{must(counted(types.I32, 1).Expand(5))}
	}},
	{"updates that share memory", "fn f[N](x: &mut i32[N], y: i32[N]) = { x += y; }", func() []*heal.Tensor {
		x := counted(types.I32, 5)
		return []*heal.Tensor{x, x}
	}},
	{"prints in order", `@io fn f[N](x: f32[N]) -> f32[N] = { print(x); print_str("two\n"); print("three"); x }`,
		func() []*heal.Tensor { return []*heal.Tensor{counted(types.F32, 5)} }},
	{"files", `@io fn f(x: f64[3]) -> f64[3] = { save_npy("out.npy", x); let y = load_npy[f64, 3]("in.npy"); y + x }`,
		func() []*heal.Tensor { return []*heal.Tensor{counted(types.F64, 3)} }},
	{"pictures", `@io fn f(x: u16[2, 3, 4]) = { save_png("out.png", x); save_pgm("a:b.pgm", x[.., .., 1]); }`,
		func() []*heal.Tensor { return []*heal.Tensor{counted(types.U16, 2, 3, 4)} }},
	{"an index out of range", "fn f(a: i32[3],\n     i: i32) -> i32 =\n  a[i]", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.I32, 3), heal.Scalar(int32(-1))}
	}},
	{"a failed assertion", `@io fn f(a: i32) -> i32 = { assert(a == 3); a }`, func() []*heal.Tensor {
		return []*heal.Tensor{heal.Scalar(int32(-1))}
	}},
	{"too few arguments", "fn f(a: i32, b: i32) -> i32 = a + b", func() []*heal.Tensor {
		return []*heal.Tensor{heal.Scalar(int32(-1))}
	}},
	{"no argument", "fn f(a: i32) -> i32 = a", func() []*heal.Tensor { return []*heal.Tensor{nil} }},
	{"another type", "fn f(a: i32) -> i32 = a", func() []*heal.Tensor { return []*heal.Tensor{heal.Scalar(1.5)} }},
	{"a string for a number", "fn f(a: i32) -> i32 = a", func() []*heal.Tensor {
		return []*heal.Tensor{tensor.Text("x")}
	}},
	{"a number for a string", "fn f(a: string) -> string = a", func() []*heal.Tensor {
		return []*heal.Tensor{heal.Scalar(1.5)}
	}},
	{"other extents", "fn f[N](a: i32[N], b: i32[N]) -> i32[N] = a + b", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.I32, 3), counted(types.I32, 4)}
	}},
	{"another rank", "fn f[N](a: i32[N]) -> i32[N] = a", func() []*heal.Tensor {
		return []*heal.Tensor{counted(types.I32, 3, 4)}
	}},
	{"a tensor that failed", "fn f[N](a: i32[N]) -> i32[N] = a", func() []*heal.Tensor {
		return []*heal.Tensor{heal.FromSlice([]int32{1}, 2)}
	}},
	{"too many steps", "fn f(n: i32) -> f64 = sum(iterate(n, [1.0, 2.0], |x| sort(x .* 3.0 .- sum(x))))",
		func() []*heal.Tensor { return []*heal.Tensor{heal.Scalar(int32(1 << 30))} }},
	{"too much memory", "fn f(n: i32) -> f64[2000000] = sort(tabulate(2000000, |i| (i + n) as f64))",
		func() []*heal.Tensor { return []*heal.Tensor{heal.Scalar(int32(1))} }},
	{"a mistake", "fn f(x: f32[3], y: f32[4]) -> f32[3] = x + y + z", nil},
	{"a mistake in the library", "import nn\nfn f(x: f32[3]) -> f32[3] = nn.softmax(x)", nil},
}

// outcome is what there is to see of a call.
func outcome(src string, o heal.Options, args []*heal.Tensor) (out string) {
	var all strings.Builder
	defer func() { out = all.String() }()
	said := &notes{}
	if o.System == nil {
		o.System = said
	}
	show := func(what string, ts []*heal.Tensor) {
		for _, t := range ts {
			if s, ok := t.Text(); ok {
				fmt.Fprintf(&all, "%s: %q\n", what, s)
			} else if t.Err() == nil {
				fmt.Fprintln(&all, what, t, t.IsContiguous(), t.IsColumnMajor(), t.Bits())
			}
		}
	}
	failed := func(err error) {
		fmt.Fprintf(&all, "%T: %v\n", err, err)
		for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
			fmt.Fprintf(&all, "  around: %v\n", e)
		}
	}
	m, err := heal.Compile(src, o)
	if err != nil {
		failed(err)
		return
	}
	defer m.Close()
	fmt.Fprintln(&all, m.Names(), m.Device())
	f, err := m.Func("f")
	if err != nil {
		failed(err)
		return
	}
	again, _ := m.Func("f")
	fmt.Fprintln(&all, f.Name(), f.Signature(), f.Params(), f.Results(), f == again)
	results, err := f.CallAll(context.Background(), args...)
	if err != nil {
		failed(err)
	}
	show("result", results)
	show("argument", args)
	all.WriteString(said.text.String())
	return
}

// TestSandbox: a call does the same in a sandbox as without one, to the bit, and fails in the same way.
func TestSandbox(t *testing.T) {
	needSandbox(t)
	for _, backend := range []string{heal.CPU, heal.Interp} {
		for _, c := range alike {
			t.Run(backend+"/"+c.name, func(t *testing.T) {
				o := heal.Options{Backend: backend, MaxSteps: 100000, MaxMemory: 8 << 20}
				var here, there []*heal.Tensor
				if c.args != nil {
					here, there = c.args(), c.args()
				}
				want := outcome(c.src, o, here)
				if c.args != nil && strings.Contains(want, "diag.List") {
					t.Fatal(want)
				}
				o.Sandbox = &heal.Sandbox{}
				if got := outcome(c.src, o, there); got != want {
					t.Errorf("in the sandbox:\n%s\nwithout:\n%s", got, want)
				}
			})
		}
		t.Run(backend+"/every type", func(t *testing.T) {
			var params, results, values []string
			for i, d := range types.DTypes {
				params = append(params, fmt.Sprintf("x%d: %s[M, N], y%[1]d: %[2]s", i, d))
				results = append(results, fmt.Sprintf("%s[N, M], %[1]s", d))
				values = append(values, fmt.Sprintf("transpose(x%d), y%[1]d", i))
			}
			src := fmt.Sprintf("fn f[M, N](%s) -> (%s) = (%s)", strings.Join(params, ", "),
				strings.Join(results, ", "), strings.Join(values, ", "))
			args := func() (all []*heal.Tensor) {
				for _, d := range types.DTypes {
					all = append(all, counted(d, 5, 7), counted(d))
				}
				return all
			}
			o := heal.Options{Backend: backend}
			want := outcome(src, o, args())
			o.Sandbox = &heal.Sandbox{}
			got := outcome(src, o, args())
			if n := strings.Count(got, "result "); got != want || n != 2*len(types.DTypes) {
				t.Errorf("in the sandbox:\n%s\nwithout:\n%s", got, want)
			}
		})
	}
}

// sandboxed compiles a source in a sandbox, and is its function f.
func sandboxed(t testing.TB, src string, o heal.Options) (*heal.Module, *heal.Func) {
	t.Helper()
	needSandbox(t)
	if o.Sandbox == nil {
		o.Sandbox = &heal.Sandbox{}
	}
	m, err := heal.Compile(src, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	return m, f
}

// TestSandboxGradients: derivatives are made in the sandbox.
func TestSandboxGradients(t *testing.T) {
	const src = "fn f[N](w: f32[N], x: f32[N]) -> f32 = sum(w .* w .* x)\nfn g(n: i32) -> i32 = n"
	m, _ := sandboxed(t, src, heal.Options{Backend: heal.Interp})
	g, err := m.Gradient("f", "w")
	if err != nil {
		t.Fatal(err)
	}
	w, x := heal.FromSlice([]float32{1, 2}), heal.FromSlice([]float32{3, 4})
	out, err := g.CallAll(context.Background(), w, x)
	if err != nil || len(out) != 2 || !slices.Equal(values[float32](out[1]), []float32{6, 16}) {
		t.Errorf("%v, %v", out, err)
	}
	sum := heal.FromSlice([]float32{100, 200})
	add, err := m.AddGradient("f", "w")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add.CallAll(context.Background(), w, x, sum); err != nil ||
		!slices.Equal(values[float32](sum), []float32{106, 216}) {
		t.Errorf("%v, %v", values[float32](sum), err)
	}
	here, err := heal.Compile(src, heal.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	for _, name := range []string{"g", "nosuch"} {
		_, want := here.Gradient(name)
		if _, err := m.Gradient(name); err == nil || err.Error() != want.Error() ||
			reflect.TypeOf(err) != reflect.TypeOf(want) && name == "g" {
			t.Errorf("%T: %v, want %T: %v", err, err, want, want)
		}
	}
}

// TestSandboxInto: results go where the caller has places for them, strided ones and arguments too.
func TestSandboxInto(t *testing.T) {
	_, f := sandboxed(t, "fn f[N](x: i32[N]) -> (i32[N], i32) = (flip(x, axis = 0), sum(x))", heal.Options{})
	ctx := context.Background()
	x := heal.FromSlice([]int32{1, 2, 3})
	wide := heal.FromSlice([]int32{9, 9, 9, 9, 9, 9})
	into := must(wide.Unchecked(5, []int64{3}, []int64{-2}))
	n := heal.Scalar(int32(0))
	if err := f.CallInto(ctx, []*heal.Tensor{into, n}, x); err != nil ||
		!slices.Equal(values[int32](wide), []int32{9, 1, 9, 2, 9, 3}) || values[int32](n)[0] != 6 {
		t.Errorf("%v %v, %v", wide.Bits(), n.Bits(), err)
	}
	if err := f.CallInto(ctx, []*heal.Tensor{x, n}, x); err != nil ||
		!slices.Equal(values[int32](x), []int32{3, 2, 1}) {
		t.Errorf("%v, %v", x.Bits(), err)
	}
	_, near := sandboxless(t, "fn f[N](x: i32[N]) -> (i32[N], i32) = (flip(x, axis = 0), sum(x))")
	for _, out := range [][]*heal.Tensor{{into}, {into, heal.Scalar(1.5)}, {heal.FromSlice([]int32{1}), n},
		{must(heal.FromSlice([]int32{1}).Expand(3)), n}, {nil, n}} {
		want := near.CallInto(ctx, out, x)
		if err := f.CallInto(ctx, out, x); err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if _, err := f.Call(ctx, x); err == nil || !strings.Contains(err.Error(), "CallAll") {
		t.Error(err)
	}
}

func sandboxless(t testing.TB, src string) (*heal.Module, *heal.Func) {
	t.Helper()
	m, err := heal.Compile(src, heal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	return m, f
}

// TestSandboxStop: the end of a context ends the call in the sandbox, wherever it is, and the module goes on.
func TestSandboxStop(t *testing.T) {
	for _, backend := range []string{heal.CPU, heal.Interp} {
		for _, p := range long[:3] {
			t.Run(backend+"/"+p.name, func(t *testing.T) {
				m, f := sandboxed(t, p.src+"\nfn g(n: i32) -> i32 = n + 1", heal.Options{Backend: backend})
				stopSoon(t, f)
				g, err := m.Func("g")
				if err != nil {
					t.Fatal(err)
				}
				if y, err := g.Call(context.Background(), heal.Scalar(int32(1))); err != nil ||
					values[int32](y)[0] != 2 {
					t.Errorf("after it was stopped: %v", err)
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				cancel(errors.New("the lamp went out"))
				if _, err := f.Call(ctx, heal.Scalar(int32(0))); err == nil || err.Error() != "the lamp went out" {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// TestSandboxSystem: an error of the System comes back as it is, and files without one are those of the folders.
func TestSandboxSystem(t *testing.T) {
	const src = `@io fn f(x: i32[2]) -> i32[2] = { save_npy("FOLDER/x.npy", x); load_npy[i32, 2]("FOLDER/x.npy") }`
	lost := errors.New("the disk is gone")
	_, f := sandboxed(t, src, heal.Options{System: &notes{err: lost}})
	x := heal.FromSlice([]int32{1, 2})
	var failed *heal.RuntimeError
	if _, err := f.Call(context.Background(), x); !errors.Is(err, lost) || !errors.As(err, &failed) {
		t.Errorf("%v", err)
	}
	mine, other := t.TempDir(), t.TempDir()
	for _, c := range []struct {
		folder string
		is     heal.Sandbox
		want   string
	}{
		{mine, heal.Sandbox{Write: []string{mine}}, ""},
		{mine, heal.Sandbox{Read: []string{mine}}, "may not be written"},
		{mine, heal.Sandbox{}, "may not be written"},
		{other, heal.Sandbox{Write: []string{mine}}, "may not be written"},
		{mine + "/../" + filepath.Base(other), heal.Sandbox{Write: []string{mine}}, ""},
		{mine, heal.Sandbox{Write: []string{mine}, File: 16}, "file"},
	} {
		_, f := sandboxed(t, strings.ReplaceAll(src, "FOLDER", c.folder), heal.Options{Sandbox: &c.is})
		y, err := f.Call(context.Background(), x)
		if c.folder != mine && c.want == "" { // the folders of a test lie beside each other
			c.want = "may not be written"
		}
		if c.want == "" && (err != nil || !slices.Equal(values[int32](y), []int32{1, 2})) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %+v: %v", c.folder, c.is, err)
		}
	}
	if left, _ := os.ReadDir(other); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// TestSandboxImports: imports are read from the folder of the source, or by ReadFile.
func TestSandboxImports(t *testing.T) {
	needSandbox(t)
	dir := t.TempDir()
	main := diag.NewFile(filepath.Join(dir, "main.heal"), "import \"./more\"\nfn f() -> i32 = more.seven()")
	text := []byte("pub fn seven() -> i32 = 7")
	read := func(path string) ([]byte, error) {
		if path == filepath.Join(dir, "more.heal") {
			return text, nil
		}
		return nil, fs.ErrNotExist
	}
	try := func(read func(string) ([]byte, error)) error {
		m, err := heal.CompileFile(main, heal.Options{Backend: heal.Interp, ReadFile: read, Sandbox: &heal.Sandbox{}})
		if err != nil {
			return err
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			return err
		}
		y, err := f.Call(context.Background())
		if err == nil && values[int32](y)[0] != 7 {
			t.Errorf("%v", y.Bits())
		}
		return err
	}
	if err := try(read); err != nil {
		t.Error(err)
	}
	var list *heal.Diagnostics
	for _, r := range []func(string) ([]byte, error){nil, func(string) ([]byte, error) { return nil, fs.ErrNotExist }} {
		if err := try(r); !errors.As(err, &list) || !strings.Contains(err.Error(), "there is no file") {
			t.Errorf("%T: %v", err, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "more.heal"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := try(nil); err != nil {
		t.Error(err)
	}
	text = []byte("pub fn seven() -> i32 = \"7\"")
	err := try(read)
	_, want := heal.CompileFile(main, heal.Options{Backend: heal.Interp, ReadFile: read})
	if want == nil || err == nil || err.Error() != want.Error() {
		t.Errorf("%v, want %v", err, want)
	}
}

// TestSandboxConcurrent: several modules at once, and several goroutines in each.
func TestSandboxConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for k := range 3 {
		_, f := sandboxed(t, fmt.Sprintf("@io fn f[N](x: i64[N]) -> i64[N] = { print(x[0]); x .* %d }", k+2),
			heal.Options{System: &notes{}, Threads: 1})
		for g := range 4 {
			wg.Go(func() {
				for n := range 20 {
					x := counted(types.I64, int64(1+g*n*500))
					y, err := f.Call(context.Background(), x)
					if err != nil {
						t.Error(err)
						return
					}
					a, b := values[int64](x), values[int64](y)
					for i := range a {
						if b[i] != a[i]*int64(k+2) {
							t.Errorf("element %d of %d is %d", i, len(a), b[i])
							return
						}
					}
					x.Close()
					y.Close()
				}
			})
		}
	}
	wg.Wait()
}

// children are the processes that this one has started and not waited for.
func children(t testing.TB) (out []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(all) == 0 {
		t.Skip("the system does not say which processes there are")
	}
	for _, f := range all {
		text, _ := os.ReadFile(f)
		for _, p := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(p); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// TestSandboxEnds: a process that is gone is an error of the calls that it was at, and of all later ones; nothing stays
// behind.
func TestSandboxEnds(t *testing.T) {
	before := children(t)
	m, f := sandboxed(t, long[0].src, heal.Options{Backend: heal.Interp})
	var pid int
	for _, p := range children(t) {
		if !slices.Contains(before, p) {
			pid = p
		}
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			_, err := f.Call(context.Background(), heal.Scalar(int32(0)))
			var gone *heal.SandboxError
			if !errors.As(err, &gone) || !strings.Contains(err.Error(), "killed") {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	var gone *heal.SandboxError
	if _, err := f.Call(context.Background(), heal.Scalar(int32(0))); !errors.As(err, &gone) {
		t.Errorf("%T: %v", err, err)
	}
	if _, err := m.Func("g"); !errors.As(err, &gone) {
		t.Errorf("%T: %v", err, err)
	}
	m.Close()
	m.Close()
	if _, err := f.Call(context.Background(), heal.Scalar(int32(0))); err == nil ||
		!strings.Contains(err.Error(), "its module is closed") {
		t.Errorf("%T: %v", err, err)
	}
	if after := children(t); len(after) > len(before) {
		t.Errorf("the processes %v are there, %v were before", after, before)
	}
}

// TestSandboxLimits: a process that takes more processor time or memory than it may is ended.
func TestSandboxLimits(t *testing.T) {
	_, f := sandboxed(t, long[0].src, heal.Options{Sandbox: &heal.Sandbox{CPU: time.Second}})
	var gone *heal.SandboxError
	if _, err := f.Call(context.Background(), heal.Scalar(int32(0))); !errors.As(err, &gone) ||
		!strings.Contains(err.Error(), "processor time") {
		t.Errorf("%T: %v", err, err)
	}
	needs := func(memory int64) error {
		m, err := heal.Compile("fn f(n: i32) -> f64 = sum(sort(tabulate(3000000, |i| (i + n) as f64)))",
			heal.Options{Sandbox: &heal.Sandbox{Memory: memory}})
		if err != nil {
			return err
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			return err
		}
		_, err = f.Call(context.Background(), heal.Scalar(int32(0)))
		return err
	}
	if err := needs(16 << 20); !errors.As(err, &gone) || !strings.Contains(err.Error(), "16777216 bytes") {
		t.Errorf("%T: %v", err, err)
	}
	if err := needs(2 << 30); err != nil {
		t.Error(err)
	}
	_, f = sandboxed(t, "fn f(n: i32) -> f64 = sum(sort(tabulate(300000000, |i| (i + n) as f64)))",
		heal.Options{Sandbox: &heal.Sandbox{Memory: 1 << 30}})
	if _, err := f.Call(context.Background(), heal.Scalar(int32(0))); err == nil ||
		!strings.Contains(err.Error(), "memory") {
		t.Errorf("%T: %v", err, err)
	}
}

// TestSandboxRefuses: what there is not in a sandbox is said.
func TestSandboxRefuses(t *testing.T) {
	needSandbox(t)
	for _, o := range []heal.Options{{Backend: heal.GPU}, {Backend: heal.PTXSim}, {Backend: "tpu"},
		{Backend: heal.CPU, Sandbox: &heal.Sandbox{Read: []string{"/proc/self/nosuch\x00"}}}} {
		if o.Sandbox == nil {
			o.Sandbox = &heal.Sandbox{}
		}
		if _, err := heal.Compile(long[0].src, o); err == nil {
			t.Errorf("%+v is no error", o)
		} else {
			t.Log(err)
		}
	}
	if _, err := heal.CompileTranscript(nil, heal.TranscriptOptions{Options: heal.Options{
		Sandbox: &heal.Sandbox{}}}); err == nil || !strings.Contains(err.Error(), "transcript") {
		t.Error(err)
	}
}

// BenchmarkSandbox is a warm call in a sandbox beside one without.
func BenchmarkSandbox(b *testing.B) {
	const src = "fn f[N](x: f32[N]) -> f32[N] = x .* x .+ 1.0"
	ctx := context.Background()
	for _, n := range []int{64, 1 << 16, 1 << 22} {
		x, y := heal.FromSlice(make([]float32, n)), heal.FromSlice(make([]float32, n))
		for _, in := range []string{"this process", "a sandbox"} {
			b.Run(fmt.Sprintf("%d/%s", n, in), func(b *testing.B) {
				var f *heal.Func
				if in == "a sandbox" {
					_, f = sandboxed(b, src, heal.Options{})
				} else {
					_, f = sandboxless(b, src)
				}
				for b.Loop() {
					if err := f.CallInto(ctx, []*heal.Tensor{y}, x); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	runtime.KeepAlive(ctx)
}
