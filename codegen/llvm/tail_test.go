package llvm

import (
	"fmt"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// TestShortVectors runs ranges shorter than a vector, and in place, for every element width and several processors:
// each element is computed once, and nothing around the range is touched.
func TestShortVectors(t *testing.T) {
	for _, cpu := range []string{"", "x86-64-v3", "x86-64"} {
		for dtype, size := range map[string]int{"i8": 1, "i16": 2, "i32": 4, "i64": 8} {
			m, errs := kernel.Parse(diag.NewFile("t.kernels", fmt.Sprintf(`kernels "t"[N]
kernel @apart(in x: %[1]s[N], out y: %[1]s[N]) over %%0 in 0..N {
  %%1: %[1]s = load x[%%0]
  %%2: %[1]s = add %%1, %%1
  store y[%%0], %%2
}
kernel @in_place(inplace x: %[1]s[N]) over %%0 in 0..N {
  %%1: %[1]s = load x[%%0]
  %%2: %[1]s = add %%1, %%1
  store x[%%0], %%2
}`, dtype)))
			if errs.Err() != nil {
				t.Fatal(errs)
			}
			obj, err := Compile(m, codegen.Target{Kind: "cpu", CPU: cpu}, libllvm.Object)
			if err != nil {
				t.Fatal(err)
			}
			img, err := objload.Load(obj, objload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for n := int64(0); n < 300; n += 1 + n/70 {
				for _, begin := range []int64{0, min(3, n)} {
					x, y := make([]byte, (n+2)*int64(size)), make([]byte, (n+2)*int64(size))
					for i := range x {
						x[i] = byte(i%100 + 1)
					}
					before := string(x)
					call := func(name string, bufs ...unsafe.Pointer) {
						fn, ok := img.Symbol(name)
						if !ok {
							t.Fatal(name)
						}
						var e abi.Error
						objload.CallKernel(fn, &bufs[0], &n, begin, n, &e)
					}
					at := func(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[size]) }
					call("apart", at(x), at(y))
					if string(x) != before {
						t.Fatalf("%s %q: [%d, %d): the input was written", dtype, cpu, begin, n)
					}
					call("in_place", at(x))
					for i := range n + 2 {
						k := i - 1
						for b := range int64(size) {
							in := k >= begin && k < n
							was, got, other := before[i*int64(size)+b], x[i*int64(size)+b], y[i*int64(size)+b]
							// Bytes are at most 100, so that doubling carries nothing to the next.
							if in && (got != 2*was || other != 2*was) || !in && (got != was || other != 0) {
								t.Fatalf("%s %q: [%d, %d): byte %d of element %d is %d in place and %d apart, from %d",
									dtype, cpu, begin, n, b, k, got, other, was)
							}
						}
					}
				}
			}
			img.Close()
		}
	}
}
