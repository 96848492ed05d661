package llvm

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// load compiles kernel text and returns a function that runs one of its kernels.
func load(t *testing.T, text string) func(name string, begin, end int64, bufs ...unsafe.Pointer) abi.Error {
	t.Helper()
	m, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	obj, err := Compile(m, codegen.Target{Kind: "cpu"}, libllvm.Object)
	if err != nil {
		ll, _ := Generate(m, Options{})
		t.Fatalf("%v\n%s", err, ll)
	}
	img, err := objload.Load(obj, objload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return func(name string, begin, end int64, bufs ...unsafe.Pointer) (e abi.Error) {
		fn, ok := img.Symbol(name)
		if !ok {
			t.Fatalf("no kernel %s", name)
		}
		objload.CallKernel(fn, &bufs[0], nil, begin, end, &e)
		return e
	}
}

func ptr[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// noise returns n numbers whose sum depends on the order.
func noise(n int) []float32 {
	x := make([]float32, n)
	s := uint32(12345)
	for i := range x {
		s = s*1664525 + 1013904223
		x[i] = (float32(s>>8)/(1<<24) - 0.5) * float32(math.Exp2(float64(s&15)))
	}
	return x
}

// firstRule is the order of section 9 for a reduction of the last axis, written plainly.
func firstRule(x []float32) float32 {
	if len(x) == 0 {
		return 0
	}
	for {
		var next []float32
		for i := 0; i < len(x); i += 4096 {
			c := x[i:min(i+4096, len(x))]
			lanes := append([]float32{}, c[:min(128, len(c))]...)
			for k := 128; k < len(c); k++ {
				lanes[k%128] += c[k]
			}
			for w := 64; w >= 1; w /= 2 {
				for j := 0; j < w && j+w < len(lanes); j++ {
					lanes[j] += lanes[j+w]
				}
			}
			next = append(next, lanes[0])
		}
		if len(next) == 1 {
			return next[0]
		}
		x = next
	}
}

// secondRule is the order for a reduction that leaves the last axis.
func secondRule(x []float32) float32 {
	var next []float32
	for i := 0; i < len(x); i += 256 {
		s := x[i]
		for _, v := range x[i+1 : min(i+256, len(x))] {
			s += v
		}
		next = append(next, s)
	}
	return firstRule(next)
}

func TestSumOrder(t *testing.T) {
	for _, n := range []int{0, 1, 3, 16, 17, 100, 127, 128, 129, 300, 4095, 4096, 4097, 10000, 3*4096 + 5, 4096*4096 +
		77} {
		text := fmt.Sprintf(`kernels "t"
kernel @sum(in x: f32[%d], out y: f32[]) {
  %%1: f32 = reduce sum lanes %%2 in 0..%d {
    %%3: f32 = load x[%%2]
    yield %%3
  }
  store y[0], %%1
}`, n, n)
		run := load(t, text)
		x, y := noise(n), make([]float32, 1)
		x = append(x, 1e30)
		run("sum", 0, 1, ptr(x), ptr(y))
		if want := firstRule(x[:n]); math.Float32bits(y[0]) != math.Float32bits(want) {
			t.Errorf("sum of %d: %v, want %v", n, y[0], want)
		}
	}
}

func TestRowAndColumnSums(t *testing.T) {
	for _, s := range [][2]int{{3, 5}, {7, 300}, {300, 37}, {1000, 130}, {66000, 3}, {2, 5000}, {8, 64}, {257, 1000},
		{1030, 2100}, {33000, 70}, {1050000, 3}, {1050000, 64}} {
		m, n := s[0], s[1]
		text := fmt.Sprintf(`kernels "t"
kernel @rows(in x: f32[%[1]d, %[2]d], out y: f32[%[1]d]) over %%0 in 0..%[1]d {
  %%1: f32 = reduce sum lanes %%2 in 0..%[2]d {
    %%3: f32 = load x[%[2]d*%%0 + %%2]
    yield %%3
  }
  store y[%%0], %%1
}
kernel @cols(in x: f32[%[1]d, %[2]d], out y: f32[%[2]d]) over %%0 in 0..%[2]d {
  %%1: f32 = reduce sum columns %%2 in 0..%[1]d {
    %%3: f32 = load x[%[2]d*%%2 + %%0]
    yield %%3
  }
  store y[%%0], %%1
}`, m, n)
		run := load(t, text)
		x, rows, cols := noise(m*n), make([]float32, m), make([]float32, n)
		run("rows", 0, int64(m), ptr(x), ptr(rows))
		run("cols", 0, int64(n), ptr(x), ptr(cols))
		for i := range rows {
			if want := firstRule(x[i*n : i*n+n]); rows[i] != want {
				t.Fatalf("row %d of %v: %v, want %v", i, s, rows[i], want)
			}
		}
		for j := range cols {
			col := make([]float32, m)
			for i := range col {
				col[i] = x[i*n+j]
			}
			if want := secondRule(col); cols[j] != want {
				t.Fatalf("column %d of %v: %v, want %v", j, s, cols[j], want)
			}
		}
	}
}

func TestMatmulIsOneChain(t *testing.T) {
	m, k, n := 5, 33, 101
	run := load(t, `kernels "t"
kernel @mm(in a: f32[5, 33], in b: f32[33, 101], out c: f32[5, 101]) over %0 in 0..5, %1 in 0..101 {
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..33 carry %5: f32 = %2 {
    %6: f32 = load a[33*%0 + %4]
    %7: f32 = load b[101*%4 + %1]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  store c[101*%0 + %1], %3
}`)
	a, b, c := noise(m*k), noise(k*n), make([]float32, m*n)
	run("mm", 0, int64(m), ptr(a), ptr(b), ptr(c))
	for i := 0; i < m; i++ {
		for j := 0; j < n; j++ {
			acc := float32(0)
			for l := 0; l < k; l++ {
				acc = float32(math.FMA(float64(a[i*k+l]), float64(b[l*n+j]), float64(acc)))
			}
			// math.FMA rounds twice for f32; a difference in the last bit is not what this test is about.
			if d := math.Abs(float64(acc - c[i*n+j])); d > math.Abs(float64(acc))*1e-6+1e-6 {
				t.Fatalf("[%d, %d]: %v, want %v", i, j, c[i*n+j], acc)
			}
		}
	}
}

func TestArgMaxTakesTheFirst(t *testing.T) {
	run := load(t, `kernels "t"
kernel @am(in x: f32[6], out y: i64[]) {
  %1: i64 = reduce argmax any %2 in 0..6 {
    %3: f32 = load x[%2]
    yield %3
  }
  store y[0], %1
}`)
	nan := float32(math.NaN())
	for _, c := range []struct {
		x    []float32
		want int64
	}{{[]float32{1, 5, 2, 5, 0, 3}, 1}, {[]float32{1, nan, 9, nan, 0, 3}, 1}, {[]float32{-7, -8, -9, -7, -7, -7}, 0}} {
		y := make([]int64, 1)
		run("am", 0, 1, ptr(c.x), ptr(y))
		if y[0] != c.want {
			t.Errorf("argmax %v = %d, want %d", c.x, y[0], c.want)
		}
	}
}

func TestFailingCheckReportsAndStops(t *testing.T) {
	run := load(t, `kernels "t"
site 0 "index" at "f.heal":1:2 op "index" text "a[i]"
kernel @g(in x: f32[4], in i: i32[3], out y: f32[3]) over %0 in 0..3 {
  %1: i32 = load i[%0]
  %2: i64 = cast %1
  %3: i64 = const 4
  %4: bool = lt %2, %3
  check index %4, %2, %3 site 0
  %5: f32 = load x[%2]
  store y[%0], %5
}`)
	x, y := []float32{1, 2, 3, 4}, make([]float32, 3)
	if e := run("g", 0, 3, ptr(x), ptr([]int32{3, 0, 1}), ptr(y)); e.Site != 0 || y[0] != 4 || y[2] != 2 {
		t.Errorf("good indices: %v, error %v", y, e)
	}
	if e := run("g", 0, 3, ptr(x), ptr([]int32{3, 9, 1}), ptr(y)); e.Site != 1 || e.Info != [2]int64{9, 4} {
		t.Errorf("bad index: error %v", e)
	}
}
