package llvm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// levels are the processors that generated code differs for.
var levels = []string{"x86-64", "x86-64-v3", "x86-64-v4"}

// turnedSizes are extents around squares and tiles of all types.
var turnedSizes = []int64{0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 1025}

// TestTurnedOperands transposes matrices of every width of elements, forwards and backwards along both axes, with parts
// of the axis that begin and end anywhere, and looks at what lies around the output. The extents are known when it runs
// only.
func TestTurnedOperands(t *testing.T) {
	for _, cpu := range levels {
		for dtype, size := range map[string]int{"i8": 1, "bool": 1, "f16": 2, "i16": 2, "f32": 4, "f64": 8} {
			text := fmt.Sprintf(`kernels "t"[N, M]
kernel @plain(in x: %[1]s[N, M], out stream y: %[1]s[M, N]) over %%0 in 0..M, %%1 in 0..N {
  %%2: %[1]s = load x[%%0 + M*%%1]
  store y[N*%%0 + %%1], %%2
}
kernel @down(in x: %[1]s[N, M], out stream y: %[1]s[M, N]) over %%0 in 0..M, %%1 in 0..N {
  %%2: %[1]s = load x[-1*%%0 + M*%%1 + (M-1)]
  store y[N*%%0 + %%1], %%2
}
kernel @up(in x: %[1]s[N, M], out stream y: %[1]s[M, N]) over %%0 in 0..M, %%1 in 0..N {
  %%2: %[1]s = load x[%%0 + (-M)*%%1 + (M*N-M)]
  store y[N*%%0 + %%1], %%2
}`, dtype)
			run := loadFor(t, cpu, text)
			random := rand.New(rand.NewPCG(1, 2))
			for range 60 {
				n, m := turnedSizes[random.IntN(len(turnedSizes))], turnedSizes[random.IntN(len(turnedSizes))]
				begin := random.Int64N(m + 1)
				end := begin + random.Int64N(m-begin+1)
				if random.IntN(2) == 0 {
					begin, end = 0, m
				}
				x := make([]byte, n*m*int64(size)+1)
				for i := range x {
					x[i] = byte(random.IntN(256))
					switch {
					case dtype == "bool":
						x[i] &= 1
					case dtype == "f16" && i%2 == 1: // no NaN, which may not keep its bits
						x[i] &^= 0x40
					}
				}
				const guard = 64
				offset := random.IntN(guard) / size * size
				for _, name := range []string{"plain", "down", "up"} {
					y := make([]byte, n*m*int64(size)+3*guard)
					want := bytes.Clone(y)
					for i := begin; i < end; i++ {
						for j := range n {
							from := i + m*j
							switch name {
							case "down":
								from = m - 1 - i + m*j
							case "up":
								from = i + m*(n-1-j)
							}
							copy(want[guard+offset+int(n*i+j)*size:], x[int(from)*size:int(from+1)*size])
						}
					}
					run(name, []int64{n, m}, begin, end, unsafe.Pointer(&x[0]), unsafe.Pointer(&y[guard+offset]))
					if !bytes.Equal(y, want) {
						t.Fatalf("%s on %s: %s [%d, %d), rows [%d, %d), is wrong", dtype, cpu, name, n, m, begin, end)
					}
				}
			}
		}
	}
}

// TestTurnedBodies has around a turned operand what element-wise kernels have: others that are not, of another type,
// one a row, two outputs, a choice, an axis between the two that are turned, one that is outside.
func TestTurnedBodies(t *testing.T) {
	const n, m = 83, 300
	text := fmt.Sprintf(`kernels "t"
kernel @body(in x: f32[%[1]d, %[2]d], in z: f64[%[1]d, %[2]d], in b: f32[%[2]d], in y: f32[%[2]d, %[1]d], out s: f32[%[2]d, %[1]d], out u: i16[%[2]d, %[1]d]) over %%0 in 0..%[2]d {
  %%1: f32 = load b[%%0]
  parallel %%2 in 0..%[1]d {
    %%3: f32 = load x[%%0 + %[2]d*%%2]
    %%4: f64 = load z[%%0 + %[2]d*%%2]
    %%5: f32 = cast %%4
    %%6: f32 = load y[%[1]d*%%0 + %%2]
    %%7: f32 = add %%3, %%1
    %%8: f32 = mul %%7, %%5
    %%9: bool = lt %%6, %%8
    %%10: f32 = if %%9 {
      yield %%6
    } else {
      yield %%8
    }
    store s[%[1]d*%%0 + %%2], %%10
    %%11: i16 = cast %%3
    store u[%[1]d*%%0 + %%2], %%11
  }
}
kernel @middle(in x: i32[40, 3, 50], out s: i32[50, 3, 40]) over %%0 in 0..50, %%1 in 0..3, %%2 in 0..40 {
  %%3: i32 = load x[%%0 + 50*%%1 + 150*%%2]
  store s[120*%%0 + 40*%%1 + %%2], %%3
}
kernel @outside(in x: i32[3, 40, 50], out s: i32[3, 50, 40]) over %%0 in 0..3, %%1 in 0..50, %%2 in 0..40 {
  %%3: i32 = load x[2000*%%0 + %%1 + 50*%%2]
  store s[2000*%%0 + 40*%%1 + %%2], %%3
}`, n, m)
	x, y, z, b := noise(n*m), noise(n*m), make([]float64, n*m), noise(m)
	for i := range z {
		z[i] = float64(i%7) - 3.5
	}
	cube := make([]int32, 6000)
	for i := range cube {
		cube[i] = int32(i)
	}
	for _, cpu := range levels {
		run := loadFor(t, cpu, text)
		for _, part := range [][2]int64{{0, m}, {7, 120}, {32, 64}, {299, 300}} {
			s, u := make([]float32, n*m), make([]int16, n*m)
			run("body", nil, part[0], part[1], ptr(x), ptr(z), ptr(b), ptr(y), ptr(s), ptr(u))
			for i := range m {
				for j := range n {
					var want float32
					var small int16
					if int64(i) >= part[0] && int64(i) < part[1] {
						want = (x[i+m*j] + b[i]) * float32(z[i+m*j])
						if y[n*i+j] < want {
							want = y[n*i+j]
						}
						small = int16(x[i+m*j])
					}
					if s[n*i+j] != want || u[n*i+j] != small {
						t.Fatalf("%s, rows %v: [%d, %d] is %v and %d, want %v and %d", cpu, part, i, j, s[n*i+j],
							u[n*i+j], want, small)
					}
				}
			}
		}
		s := make([]int32, 6000)
		run("middle", nil, 0, 50, ptr(cube), ptr(s))
		for i, v := range s {
			if want := int32(i/120 + 50*(i/40%3) + 150*(i%40)); v != want {
				t.Fatalf("%s, an axis between: element %d is %d, want %d", cpu, i, v, want)
			}
		}
		run("outside", nil, 0, 3, ptr(cube), ptr(s))
		for i, v := range s {
			if want := int32(i/2000*2000 + i%2000/40 + 50*(i%40)); v != want {
				t.Fatalf("%s, an axis outside: element %d is %d, want %d", cpu, i, v, want)
			}
		}
	}
}

// loadFor compiles kernels for a processor, which the host must be able to run, and returns a function to call them.
func loadFor(t *testing.T, cpu, text string) func(name string, dims []int64, begin, end int64, bufs ...unsafe.Pointer) {
	t.Helper()
	m, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, features := lib.HostCPU(); cpu == "x86-64-v3" && !strings.Contains(features, "+avx2") || cpu == "x86-64-v4" &&
		!strings.Contains(features, "+avx512vl") {
		cpu = ""
	}
	if !strings.HasPrefix(lib.HostTriple(), "x86_64") {
		cpu = ""
	}
	obj, err := Compile(m, codegen.Target{Kind: "cpu", CPU: cpu}, libllvm.Object)
	if err != nil {
		ll, _ := Generate(m, Options{})
		t.Fatalf("%v\n%s", err, ll)
	}
	img, err := objload.Load(obj, objload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return func(name string, dims []int64, begin, end int64, bufs ...unsafe.Pointer) {
		fn, ok := img.Symbol(name)
		if !ok {
			t.Fatalf("no kernel %s", name)
		}
		var e abi.Error
		objload.CallKernel(fn, &bufs[0], unsafe.SliceData(dims), begin, end, &e)
	}
}

// TestTurnedLines transposes matrices whose results go past the caches: rows that begin at a line and anywhere, in
// outputs that do, of one strip and several, alone and with a second output of another width.
func TestTurnedLines(t *testing.T) {
	for _, cpu := range levels {
		for dtype, size := range map[string]int{"i8": 1, "f16": 2, "f32": 4, "i64": 8} {
			for _, shape := range [][2]int{{83, 300}, {513, 66}, {448, 80}, {256, 17}, {1030, 33}} {
				n, m := shape[0], shape[1] // rows of the operand, and of the output
				text := fmt.Sprintf(`kernels "t"
kernel @one(in x: %[1]s[%[2]d, %[3]d], out stream y: %[1]s[%[3]d, %[2]d]) over %%0 in 0..%[3]d, %%1 in 0..%[2]d {
  %%2: %[1]s = load x[%%0 + %[3]d*%%1]
  store y[%[2]d*%%0 + %%1], %%2
}
kernel @two(in x: %[1]s[%[2]d, %[3]d], out stream y: %[1]s[%[3]d, %[2]d], out stream z: i16[%[3]d, %[2]d]) over %%0 in 0..%[3]d, %%1 in 0..%[2]d {
  %%2: %[1]s = load x[%%0 + %[3]d*%%1]
  store y[%[2]d*%%0 + %%1], %%2
  %%3: i16 = cast %%1
  store z[%[2]d*%%0 + %%1], %%3
}`, dtype, n, m)
				run := loadFor(t, cpu, text)
				random := rand.New(rand.NewPCG(3, uint64(n)))
				x := make([]byte, n*m*size)
				for i := range x {
					x[i] = byte(random.IntN(256))
					if dtype == "f16" && i%2 == 1 { // no NaN, which may not keep its bits
						x[i] &^= 0x40
					}
				}
				const guard = 128
				for _, part := range [][2]int{{0, m}, {1, m - 1}, {m / 2, m/2 + 1}} {
					for _, offset := range []int{0, size, 64 - size} {
						for _, name := range []string{"one", "two"} {
							y := make([]byte, n*m*size+3*guard)
							// The output begins so many bytes after a line.
							start := guard + int(-uintptr(unsafe.Pointer(&y[0]))&63) + offset
							z := make([]int16, n*m+guard)
							want, wantZ := bytes.Clone(y), make([]int16, len(z))
							for i := part[0]; i < part[1]; i++ {
								for j := range n {
									copy(want[start+(n*i+j)*size:], x[(i+m*j)*size:(i+m*j+1)*size])
									wantZ[n*i+j] = int16(j)
								}
							}
							args := []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&y[start])}
							if name == "two" {
								args = append(args, ptr(z))
							} else {
								wantZ = z
							}
							run(name, nil, int64(part[0]), int64(part[1]), args...)
							if !bytes.Equal(y, want) || !slices.Equal(z, wantZ) {
								t.Fatalf("%s on %s: %s [%d, %d], rows %v, %d bytes after a line, is wrong", dtype, cpu,
									name, n, m, part, offset)
							}
						}
					}
				}
			}
		}
	}
}
