package objload_test

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/codegen/llvm/libllvm"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// compile makes an object for this machine. Tests fail without libLLVM: a run that loaded nothing must
// not look green.
func compile(t testing.TB, ir string, o libllvm.Options) []byte {
	t.Helper()
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatalf("these tests need libLLVM: %v", err)
	}
	obj, err := lib.Compile(ir, o)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// load compiles and loads ir; the image is closed with the test.
func load(t testing.TB, ir string, o objload.Options) *objload.Image {
	t.Helper()
	img, err := objload.Load(compile(t, ir, libllvm.Options{OptLevel: 2}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	})
	return img
}

func symbol(t testing.TB, img *objload.Image, name string) uintptr {
	t.Helper()
	addr, ok := img.Symbol(name)
	if !ok {
		t.Fatalf("no symbol %q", name)
	}
	return addr
}

// sink makes what it holds a heap object.
var sink any

// address is where v lies on the heap; the caller keeps it in sink meanwhile.
func address[T any](v *T) uintptr {
	sink = v
	return uintptr(unsafe.Pointer(v))
}

const addKernel = `
define void @add(i8** %bufs, i64* %dims, i64 %begin, i64 %end, i8* %err) {
entry:
  %args = bitcast i8** %bufs to float**
  %a = load float*, float** %args
  %b.p = getelementptr float*, float** %args, i64 1
  %b = load float*, float** %b.p
  %c.p = getelementptr float*, float** %args, i64 2
  %c = load float*, float** %c.p
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %ap = getelementptr float, float* %a, i64 %i
  %bp = getelementptr float, float* %b, i64 %i
  %cp = getelementptr float, float* %c, i64 %i
  %av = load float, float* %ap
  %bv = load float, float* %bp
  %sum = fadd float %av, %bv
  store float %sum, float* %cp
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @report(i8** %bufs, i64* %dims, i64 %begin, i64 %end, i64* %err) {
  %dim = load i64, i64* %dims
  store i64 %dim, i64* %err
  %i0 = getelementptr i64, i64* %err, i64 1
  store i64 %begin, i64* %i0
  %i1 = getelementptr i64, i64* %err, i64 2
  store i64 %end, i64* %i1
  ret void
}`

func TestKernels(t *testing.T) {
	img := load(t, addKernel, objload.Options{})
	const n = 1000
	a, b, c := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		a[i], b[i] = float32(i), 0.5
	}
	bufs := [3]unsafe.Pointer{unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0])}
	var dims int64 = 42
	var report abi.Error
	objload.CallKernel(symbol(t, img, "add"), &bufs[0], &dims, 10, n, &report)
	for i := range c {
		want := float32(i) + 0.5
		if i < 10 {
			want = 0
		}
		if c[i] != want {
			t.Fatalf("c[%d] is %v, want %v", i, c[i], want)
		}
	}
	objload.CallKernel(symbol(t, img, "report"), &bufs[0], &dims, -3, 7, &report)
	if report.Site != 42 || report.Info != [2]int64{-3, 7} {
		t.Errorf("arguments arrive as %+v", report)
	}
	if _, ok := img.Symbol("absent"); ok {
		t.Error("an absent symbol has an address")
	}
}

// libraryIR needs constants in memory, calls into libc, libm and libgcc, a jump table, the address of an
// external function, a table of addresses, and variables with and without initial value.
const libraryIR = `
@table = private constant [4 x i32] [i32 3, i32 1, i32 4, i32 1]
@counter = global i64 7
@scratch = internal global [3000 x i64] zeroinitializer, align 64
@targets = internal constant [2 x i64 (i64)*] [i64 (i64)* @triple, i64 (i64)* @choose]
@absent = extern_weak global i64
declare i8* @memcpy(i8*, i8*, i64)
declare double @fmod(double, double)
declare float @fmaf(float, float, float)
declare i64 @labs(i64)

define i64 @copy(i8* %to, i8* %from, i64 %n) noinline {
  %r = call i8* @memcpy(i8* %to, i8* %from, i64 %n)
  %i = ptrtoint i8* %r to i64
  ret i64 %i
}
define void @remainder(double* %p) {
  %x = load double, double* %p
  %y.p = getelementptr double, double* %p, i64 1
  %y = load double, double* %y.p
  %r = call double @fmod(double %x, double %y)
  store double %r, double* %p
  ret void
}
define void @multiplyAdd(float* %p) {
  %v.p = bitcast float* %p to <4 x float>*
  %v = load <4 x float>, <4 x float>* %v.p, align 4
  %s = fmul <4 x float> %v, <float 1.5, float 2.5, float -3.5, float 4.5>
  store <4 x float> %s, <4 x float>* %v.p, align 4
  %x = load float, float* %p
  %r = call float @fmaf(float %x, float %x, float 1.0)
  store float %r, float* %p
  ret void
}
define i64 @divide128(i64 %hi, i64 %lo, i64 %by) {
  %h = zext i64 %hi to i128
  %h64 = shl i128 %h, 64
  %l = zext i64 %lo to i128
  %n = or i128 %h64, %l
  %d = zext i64 %by to i128
  %q = udiv i128 %n, %d
  %r = trunc i128 %q to i64
  ret i64 %r
}
define i64 @choose(i64 %i) noinline {
entry:
  switch i64 %i, label %other [
    i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e
    i64 5, label %f
  ]
a:
  %ra = call i64 @triple(i64 100)
  ret i64 %ra
b:
  %rb = load i64, i64* @counter
  ret i64 %rb
c:
  store i64 1, i64* @counter
  ret i64 -2
d:
  %rd.p = getelementptr [3000 x i64], [3000 x i64]* @scratch, i64 0, i64 2999
  %rd = load i64, i64* %rd.p
  %rd.n = add i64 %rd, 5
  store i64 %rd.n, i64* %rd.p
  ret i64 %rd.n
e:
  %re = call i64 @labs(i64 -12)
  ret i64 %re
f:
  %rf = ptrtoint i64* @absent to i64
  ret i64 %rf
other:
  ret i64 -1
}
define i64 @triple(i64 %x) noinline {
  %r = mul i64 %x, 3
  ret i64 %r
}
define i64 @lookup(i64 %i) {
  %p = getelementptr [4 x i32], [4 x i32]* @table, i64 0, i64 %i
  %v = load i32, i32* %p
  %r = sext i32 %v to i64
  ret i64 %r
}
define i64 @indirect(i64 %which, i64 %x) {
  %p = getelementptr [2 x i64 (i64)*], [2 x i64 (i64)*]* @targets, i64 0, i64 %which
  %f = load i64 (i64)*, i64 (i64)** %p
  %r = call i64 %f(i64 %x)
  ret i64 %r
}
define i64 @address() {
  %r = ptrtoint double (double, double)* @fmod to i64
  ret i64 %r
}`

func TestLibraryCallsAndData(t *testing.T) {
	for _, version := range []string{"default", "libLLVM-15.so.1"} {
		t.Run(version, func(t *testing.T) {
			obj := compile(t, libraryIR, libllvm.Options{OptLevel: 2})
			if version != "default" {
				lib, err := libllvm.OpenPath(version)
				if err != nil {
					t.Logf("only the default libLLVM is installed: %v", err)
				} else if obj, err = lib.Compile(libraryIR, libllvm.Options{OptLevel: 2}); err != nil {
					t.Fatal(err)
				}
			}
			img, err := objload.Load(obj, objload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			checkLibrary(t, img)
		})
	}
}

func checkLibrary(t *testing.T, img *objload.Image) {
	call := func(name string, args ...uintptr) int64 {
		t.Helper()
		return int64(objload.Call(symbol(t, img, name), args...))
	}
	text := [2][13]byte{[13]byte([]byte("bytes to copy"))}
	at := address(&text)
	if r := call("copy", at+13, at, 13); text[1] != text[0] || uintptr(r) != at+13 {
		t.Errorf("memcpy copied %q and returned %#x", text[1][:], r)
	}
	pair := [2]float64{-7.75, 2}
	call("remainder", address(&pair))
	if pair[0] != math.Mod(-7.75, 2) {
		t.Errorf("fmod gives %v", pair[0])
	}
	quad := [4]float32{1, 2, 3, 4}
	call("multiplyAdd", address(&quad))
	if quad != [4]float32{3.25, 5, -10.5, 18} {
		t.Errorf("constants and fmaf give %v", quad)
	}
	for _, c := range []struct {
		name string
		args []uintptr
		want int64
	}{
		{"divide128", []uintptr{5, 10, 1 << 40}, 5 << 24},
		{"choose", []uintptr{0}, 300},
		{"choose", []uintptr{1}, 7},
		{"choose", []uintptr{2}, -2},
		{"choose", []uintptr{1}, 1},
		{"choose", []uintptr{3}, 5},
		{"choose", []uintptr{3}, 10},
		{"choose", []uintptr{4}, 12},
		{"choose", []uintptr{5}, 0},
		{"choose", []uintptr{99}, -1},
		{"lookup", []uintptr{2}, 4},
		{"indirect", []uintptr{0, 14}, 42},
		{"indirect", []uintptr{1, 1}, 1},
	} {
		if got := call(c.name, c.args...); got != c.want {
			t.Errorf("%s%v is %d, want %d", c.name, c.args, got, c.want)
		}
	}
	want, err := objload.Libraries("fmod")
	if err != nil || uintptr(call("address")) != want {
		t.Errorf("address of fmod is %#x, want %#x (%v)", call("address"), want, err)
	}
	counter := (*int64)(symbolPointer(t, img, "counter"))
	if *counter != 1 {
		t.Errorf("counter is %d after the code stored 1", *counter)
	}
	if _, ok := img.Symbol("triple"); !ok {
		t.Error("global function triple is not a symbol")
	}
	if _, ok := img.Symbol("scratch"); ok {
		t.Error("internal variable scratch is a symbol")
	}
}

// symbolPointer is a symbol's address as a pointer; the memory is not Go's, so the conversion is sound.
func symbolPointer(t *testing.T, img *objload.Image, name string) unsafe.Pointer {
	addr := symbol(t, img, name)
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

func TestResolve(t *testing.T) {
	inner := load(t, "define i64 @inner(i64 %x) {\n  %r = add i64 %x, 1\n  ret i64 %r\n}", objload.Options{})
	const ir = "declare i64 @outside(i64)\ndefine i64 @k(i64 %x) {\n  %a = call i64 @outside(i64 %x)\n" +
		"  %b = call i64 @outside(i64 %a)\n  ret i64 %b\n}"
	asked := 0
	img := load(t, ir, objload.Options{Resolve: func(name string) (uintptr, error) {
		asked++
		if name != "outside" {
			t.Errorf("asked for %q", name)
		}
		return symbol(t, inner, "inner"), nil
	}})
	if got := objload.Call(symbol(t, img, "k"), 40); got != 42 || asked != 1 {
		t.Errorf("k(40) is %d after %d questions, want 42 after one", got, asked)
	}
	_, err := objload.Load(compile(t, ir, libllvm.Options{}), objload.Options{})
	if err == nil || !strings.Contains(err.Error(), `undefined symbol "outside"`) {
		t.Errorf("a missing function gives %v", err)
	}
}

// TestLargeStack runs a function that uses 1 MB of stack, from several goroutines.
func TestLargeStack(t *testing.T) {
	img := load(t, `
define i64 @deep(i64 %n) {
entry:
  %space = alloca [1048576 x i8], align 64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr [1048576 x i8], [1048576 x i8]* %space, i64 0, i64 %i
  %v = trunc i64 %i to i8
  store volatile i8 %v, i8* %p
  %next = add i64 %i, 512
  %more = icmp slt i64 %next, 1048576
  br i1 %more, label %loop, label %done
done:
  %q = getelementptr [1048576 x i8], [1048576 x i8]* %space, i64 0, i64 %n
  %r = load volatile i8, i8* %q
  %x = zext i8 %r to i64
  ret i64 %x
}`, objload.Options{})
	deep := symbol(t, img, "deep")
	results := make(chan uintptr)
	for range 8 {
		go func() { results <- objload.Call(deep, 512*513) }()
	}
	for range 8 {
		if got := <-results; got != 0 {
			t.Errorf("deep is %d, want 0", got)
		}
	}
}

// TestProtection looks up the image in the kernel's list of mappings.
func TestProtection(t *testing.T) {
	img := load(t, libraryIR, objload.Options{})
	if got := protection(t, symbol(t, img, "choose")); got != "r-xp" {
		t.Errorf("text is %s", got)
	}
	if got := protection(t, symbol(t, img, "counter")); got != "rw-p" {
		t.Errorf("data is %s", got)
	}
	const ir = "@c = constant [2 x i64] [i64 1, i64 2]\ndefine i64 @k() {\n" +
		"  %p = getelementptr [2 x i64], [2 x i64]* @c, i64 0, i64 1\n  %v = load volatile i64, i64* %p\n" +
		"  ret i64 %v\n}"
	constant := load(t, ir, objload.Options{})
	if got := protection(t, symbol(t, constant, "c")); got != "r--p" {
		t.Errorf("constants are %s", got)
	}
}

// protection is the permission of the mapping at addr, or "".
func protection(t *testing.T, addr uintptr) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		from, to, _ := strings.Cut(fields[0], "-")
		lo, err1 := strconv.ParseUint(from, 16, 64)
		hi, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("cannot read %q", line)
		}
		if uint64(addr) >= lo && uint64(addr) < hi {
			return fields[1]
		}
	}
	return ""
}

func TestClose(t *testing.T) {
	obj := compile(t, libraryIR, libllvm.Options{OptLevel: 2})
	img, err := objload.Load(obj, objload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	addr := symbol(t, img, "choose")
	if img.SizeBytes() < 3*os.Getpagesize() {
		t.Errorf("image of three groups has %d bytes", img.SizeBytes())
	}
	for range 2 {
		if err := img.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := protection(t, addr); got != "" {
		t.Errorf("after Close the code is still mapped, %s", got)
	}
	// A leaked image has 9 pages or more. The least of some tries counts: Go's heap takes its memory 16384 pages at a
	// time.
	least := math.MaxInt
	for range 4 {
		before := virtualPages(t)
		for range 200 {
			img, err := objload.Load(obj, objload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := img.Close(); err != nil {
				t.Fatal(err)
			}
			// A failing Load frees its mapping too.
			if _, err := objload.Load(obj, objload.Options{Resolve: func(string) (uintptr, error) {
				return 0, os.ErrNotExist
			}}); err == nil {
				t.Fatal("no error for undefined symbols")
			}
		}
		least = min(least, virtualPages(t)-before)
	}
	if least > 1000 {
		t.Errorf("400 loads leave %d pages mapped", least)
	}
}

// virtualPages is the size of the address space in use.
func virtualPages(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCallAllocatesNothing(t *testing.T) {
	img := load(t, addKernel, objload.Options{})
	report := symbol(t, img, "report")
	block := address(new([8]int64))
	if n := testing.AllocsPerRun(100, func() {
		var bufs [1]unsafe.Pointer
		var dims [1]int64
		var e abi.Error
		objload.CallKernel(report, &bufs[0], &dims[0], 0, 5, &e)
		if e.Info[1] != 5 {
			t.Error("the kernel's report is lost")
		}
	}); n != 0 {
		t.Errorf("CallKernel with everything on the stack allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		objload.Call(report, 0, block, 0, 0, block)
	}); n != 0 {
		t.Errorf("Call allocates %v times", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("Call takes 7 arguments")
		}
	}()
	objload.Call(report, 1, 2, 3, 4, 5, 6, 7)
}

func BenchmarkCall(b *testing.B) {
	img := load(b, addKernel, objload.Options{})
	add := symbol(b, img, "add")
	var bufs [3]unsafe.Pointer
	var dims [1]int64
	var e abi.Error
	b.Run("CallKernel", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			objload.CallKernel(add, &bufs[0], &dims[0], 0, 0, &e)
		}
	})
	b.Run("Stop.CallKernel", func(b *testing.B) {
		b.ReportAllocs()
		var stop objload.Stop
		defer stop.Close()
		for b.Loop() {
			stop.CallKernel(img, add, &bufs[0], &dims[0], 0, 0, &e)
		}
	})
	b.Run("Call", func(b *testing.B) {
		b.ReportAllocs()
		args := address(new([3]uintptr))
		for b.Loop() {
			objload.Call(add, args, 0, 0, 0, 0)
		}
	})
	b.Run("SyscallN", func(b *testing.B) {
		b.ReportAllocs()
		args := address(new([3]uintptr))
		for b.Loop() {
			purego.SyscallN(add, args, 0, 0, 0, 0)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	obj := compile(b, libraryIR, libllvm.Options{OptLevel: 2})
	for b.Loop() {
		img, err := objload.Load(obj, objload.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := img.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
