package llvm

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/llvm/loops"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// TestStreamedStores writes outputs past the caches: from every offset to a line, in parts that begin anywhere, of
// all lengths around vectors, with two outputs of different types, and leaves what is around them alone.
func TestStreamedStores(t *testing.T) {
	const rows, cols, most = 3, 700, 700
	run := load(t, fmt.Sprintf(`kernels "t"
kernel @one(in x: f32[%[2]d], out stream y: f32[%[2]d]) over %%0 in 0..%[2]d {
  %%1: f32 = load x[%%0]
  %%2: f32 = add %%1, %%1
  store y[%%0], %%2
}
kernel @two(in x: f32[%[2]d], out stream y: f32[%[2]d], out stream z: i8[%[2]d]) over %%0 in 0..%[2]d {
  %%1: f32 = load x[%%0]
  %%2: f32 = add %%1, %%1
  store y[%%0], %%2
  %%3: i8 = cast %%1
  store z[%%0], %%3
}
kernel @rows(in x: f32[%[1]d, %[2]d], in b: f32[%[1]d], out stream y: f32[%[1]d, %[2]d]) over %%0 in 0..%[1]d {
  %%1: f32 = load b[%%0]
  parallel %%2 in 0..%[2]d {
    %%3: f32 = load x[%[2]d*%%0 + %%2]
    %%4: f32 = add %%3, %%1
    store y[%[2]d*%%0 + %%2], %%4
  }
}`, rows, cols))
	const guard = 64
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(i%100) + 0.5
	}
	y, z := make([]float32, rows*cols+3*guard), make([]int8, cols+3*guard)
	for offset := range guard / 2 {
		for _, begin := range []int{0, 1, 37} {
			for _, n := range []int{0, 1, 15, 31, 32, 33, 64, 255, 256, 257, 300, 511, 513, most - begin} {
				end := begin + n
				clean := func() {
					clear(y)
					clear(z)
				}
				check := func(what string) {
					t.Helper()
					for i := range y {
						want := float32(0)
						if k := i - guard - offset; k >= begin && k < end {
							want = 2 * x[k]
						}
						if y[i] != want {
							t.Fatalf("%s: offset %d, [%d, %d): element %d is %v, want %v", what, offset, begin, end,
								i-guard-offset, y[i], want)
						}
					}
				}
				clean()
				run("one", int64(begin), int64(end), ptr(x), ptr(y[guard+offset:]))
				check("one output")
				clean()
				run("two", int64(begin), int64(end), ptr(x), ptr(y[guard+offset:]),
					unsafe.Pointer(&z[guard+offset*3%17]))
				check("two outputs")
				for i := range z {
					want := int8(0)
					if k := i - guard - offset*3%17; k >= begin && k < end {
						want = int8(x[k])
					}
					if z[i] != want {
						t.Fatalf("two outputs: the second, [%d, %d): element %d is %d, want %d", begin, end, i-guard,
							z[i], want)
					}
				}
			}
		}
		clear(y)
		b := []float32{1, 10, 100}
		run("rows", 0, rows, ptr(x), ptr(b), ptr(y[guard+offset:]))
		for i := range y {
			want := float32(0)
			if k := i - guard - offset; k >= 0 && k < rows*cols {
				want = x[k] + b[k/cols]
			}
			if math.Float32bits(y[i]) != math.Float32bits(want) {
				t.Fatalf("rows at offset %d: element %d is %v, want %v", offset, i-guard-offset, y[i], want)
			}
		}
	}
}

// TestStreamedBraids writes results with short last axes past the caches, from every offset to a line, in parts that
// begin anywhere, of all lengths around vectors.
func TestStreamedBraids(t *testing.T) {
	const most, guard = 400, 64
	for _, n := range []int{2, 3, 5} {
		text := fmt.Sprintf(`kernels "t"
kernel @k(in x: f32[%[1]d, %[2]d], out stream y: f32[%[2]d, %[1]d], out stream z: f32[%[2]d, %[1]d]) over %%0 in 0..%[2]d {
  parallel %%1 in 0..%[1]d {
    %%2: f32 = load x[%%0 + %[2]d*%%1]
    store y[%[1]d*%%0 + %%1], %%2
    %%3: f32 = add %%2, %%2
    store z[%[1]d*%%0 + %%1], %%3
  }
}`, n, most)
		x := make([]float32, n*most)
		for i := range x {
			x[i] = float32(i) + 1
		}
		y, z := make([]float32, n*most+3*guard), make([]float32, n*most+3*guard)
		for _, cpu := range levels {
			run := loadFor(t, cpu, text)
			for offset := range loops.LineBytes / 4 {
				other := offset * 5 % 16 // one line has both outputs for some of them
				for _, begin := range []int{0, 1, 37} {
					for _, count := range []int{0, 1, 7, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 257,
						most - begin} {
						clear(y)
						clear(z)
						end := begin + count
						run("k", nil, int64(begin), int64(end), ptr(x), ptr(y[guard+offset:]), ptr(z[guard+other:]))
						for i := range y {
							at := func(from int, scale float32) float32 {
								k := i - guard - from
								if k < begin*n || k >= end*n {
									return 0
								}
								return scale * x[k%n*most+k/n]
							}
							if y[i] != at(offset, 1) || z[i] != at(other, 2) {
								t.Fatalf(
									"%s: %d columns at %d and %d, [%d, %d): element %d is %v and %v, want %v and %v",
									cpu, n, offset, other, begin, end,
									i-guard, y[i], z[i], at(offset, 1), at(other, 2))
							}
						}
					}
				}
			}
		}
	}
}

// TestStreamedAssembly: the stores are what they are meant to be on every level of x86-64, whole registers, and a
// fence ends the kernel. Braids have them, too, whatever the width of vectors.
func TestStreamedAssembly(t *testing.T) {
	for what, text := range map[string]string{"neighbours": `kernels "t"
kernel @k(in x: f32[1000000], out stream y: f32[1000000]) over %0 in 0..1000000 {
  %1: f32 = load x[%0]
  %2: f32 = add %1, %1
  store y[%0], %2
}`, "a braid": `kernels "t"
kernel @k(in x: f32[3, 1000000], out stream y: f32[1000000, 3]) over %0 in 0..1000000, %1 in 0..3 {
  %2: f32 = load x[%0 + 1000000*%1]
  store y[3*%0 + %1], %2
}`} {
		t.Run(what, func(t *testing.T) { streamedAssembly(t, text) })
	}
}

func streamedAssembly(t *testing.T, text string) {
	m, errs := kernel.Parse(diag.NewFile("t.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	for cpu, want := range map[string]string{"x86-64": "movntps\t%xmm", "x86-64-v3": "vmovntps\t%ymm",
		"x86-64-v4": "vmovntps\t%zmm"} {
		asm, err := Compile(m, codegen.Target{Kind: "cpu", Triple: "x86_64-linux-gnu", CPU: cpu}, libllvm.Assembly)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{want, "mfence"} {
			if !strings.Contains(string(asm), w) {
				t.Errorf("%s: no %q in\n%s", cpu, w, asm)
			}
		}
	}
}

// TestStreamedSymbolic runs a kernel whose sizes are known when it runs, below and above those that stream.
func TestStreamedSymbolic(t *testing.T) {
	m, errs := kernel.Parse(diag.NewFile("t.kernels", `kernels "t"[N]
kernel @k(in x: f32[N], out stream y: f32[N]) over %0 in 0..N {
  %1: f32 = load x[%0]
  %2: f32 = add %1, %1
  store y[%0], %2
}`))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	obj, err := Compile(m, codegen.Target{Kind: "cpu"}, libllvm.Object)
	if err != nil {
		t.Fatal(err)
	}
	img, err := objload.Load(obj, objload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	fn, _ := img.Symbol("k")
	most := int64(profile.Base().Plan.StreamTraffic) / 8
	for _, n := range []int64{5, 100, most - 1, most + 3} {
		x, y := make([]float32, n+1), make([]float32, n+2)
		for i := range x {
			x[i] = float32(i)
		}
		var e abi.Error
		bufs := []unsafe.Pointer{ptr(x[1:]), ptr(y[1:])}
		objload.CallKernel(fn, &bufs[0], &n, 0, n, &e)
		if y[0] != 0 || y[n+1] != 0 {
			t.Errorf("%d elements: written outside", n)
		}
		for i := range n {
			if y[i+1] != 2*x[i+1] {
				t.Fatalf("%d elements: element %d is %v, want %v", n, i, y[i+1], 2*x[i+1])
			}
		}
	}
}

// TestStreamedNarrowFirst has a first output whose lines hold more elements than a vector of the second one.
func TestStreamedNarrowFirst(t *testing.T) {
	const n = 1500
	run := load(t, fmt.Sprintf(`kernels "t"
kernel @narrow(in x: f64[%[1]d], out stream z: i8[%[1]d], out stream y: f64[%[1]d]) over %%0 in 0..%[1]d {
  %%1: f64 = load x[%%0]
  %%2: i8 = cast %%1
  store z[%%0], %%2
  %%3: f64 = add %%1, %%1
  store y[%%0], %%3
}`, n))
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i % 100)
	}
	for begin := range 70 {
		z, y := make([]int8, n+128), make([]float64, n+16)
		// Both outputs begin at a line, so that elements at multiples of 64 begin one in both.
		z = z[int(-uintptr(unsafe.Pointer(&z[0]))&63):]
		y = y[int(-uintptr(unsafe.Pointer(&y[0]))&63)/8:]
		run("narrow", int64(begin), n-3, unsafe.Pointer(&x[0]), unsafe.Pointer(&z[0]), unsafe.Pointer(&y[0]))
		for i := range n {
			wantZ, wantY := int8(0), 0.0
			if i >= begin && i < n-3 {
				wantZ, wantY = int8(x[i]), 2*x[i]
			}
			if z[i] != wantZ || y[i] != wantY {
				t.Fatalf("from %d on: element %d is %d and %v, want %d and %v", begin, i, z[i], y[i], wantZ, wantY)
			}
		}
	}
}

// TestFetchesTwo: loops over two large inputs fetch ahead where they compute much for a line of each, see Note
// [Prefetch].
func TestFetchesTwo(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct {
		machine target.Machine
		steps   int // vector instructions
		ahead   bool
	}{{target.Machine{}, 2, false}, {target.Machine{}, 20, false}, {target.Machine{}, 30, true},
		{target.Machine{VectorBits: 256}, 8, false},
		{target.Machine{VectorBits: 256}, 20, true}} {
		text := &strings.Builder{}
		fmt.Fprintf(text,
			"kernels \"t\"\n"+
				"kernel @k(in x: i32[%[1]d], in y: i32[%[1]d], out z: i32[%[1]d]) over %%0 in 0..%[1]d {\n"+
				"  %%1: i32 = load x[%%0]\n  %%2: i32 = load y[%%0]\n", n)
		for i := range c.steps {
			fmt.Fprintf(text, "  %%%d: i32 = xor %%%d, %%%d\n", i+3, i+2, 1)
		}
		fmt.Fprintf(text, "  store z[%%0], %%%d\n}\n", c.steps+2)
		m, errs := kernel.Parse(diag.NewFile("t.kernels", text.String()))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		ll, err := Generate(m, Options{Machine: c.machine})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(ll, "call void @llvm.prefetch"); got != c.ahead {
			t.Errorf("%+v, %d instructions: fetches ahead: %v", c.machine, c.steps, got)
		}
	}
}
