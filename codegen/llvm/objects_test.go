package llvm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// TestObjects compiles kernels of very different sizes at the same time. Each is in one of the objects and computes
// what it should; the objects do not depend on who was faster.
func TestObjects(t *testing.T) {
	const n = 40
	var text strings.Builder
	text.WriteString("kernels \"t\"\n")
	for k := range n {
		fmt.Fprintf(&text,
			"kernel @k%d(in x: i32[100], out y: i32[100]) over %%0 in 0..100 {\n  %%1: i32 = load x[%%0]\n", k)
		ops := 1 + k*k%37
		for i := range ops {
			fmt.Fprintf(&text, "  %%%d: i32 = add %%%d, %%1\n", i+2, i+1)
		}
		fmt.Fprintf(&text, "  store y[%%0], %%%d\n}\n", ops+1)
	}
	m, errs := kernel.Parse(diag.NewFile("test.kernels", text.String()))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	for _, parts := range []int{1, 2, 7, 39, 40, 1000} {
		var names []string
		cuts := cut(m, parts)
		for _, part := range cuts {
			for _, k := range part.Kernels {
				names = append(names, k.Name)
			}
		}
		var want []string
		for _, k := range m.Kernels {
			want = append(want, k.Name)
		}
		if !slices.Equal(names, want) || len(cuts) > parts || parts <= 7 && len(cuts) != parts {
			t.Errorf("%d of %d parts: %v", len(cuts), parts, names)
		}
	}
	objects, err := Objects(m, codegen.Target{Kind: "cpu"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Objects(m, codegen.Target{Kind: "cpu"}, Options{})
	if err != nil || !slices.EqualFunc(objects, again, bytes.Equal) {
		t.Errorf("other objects the second time, %v", err)
	}
	found := 0
	for _, object := range objects {
		img, err := objload.Load(object, objload.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer img.Close()
		for k := range n {
			fn, ok := img.Symbol(fmt.Sprintf("k%d", k))
			if !ok {
				continue
			}
			found++
			x, y := make([]int32, 100), make([]int32, 100)
			for i := range x {
				x[i] = int32(i)
			}
			var e abi.Error
			bufs := []unsafe.Pointer{ptr(x), ptr(y)}
			objload.CallKernel(fn, &bufs[0], nil, 0, 100, &e)
			if want := int32(99 * (2 + k*k%37)); y[99] != want || e.Site != 0 {
				t.Errorf("k%d: %d, want %d", k, y[99], want)
			}
		}
	}
	if found != n {
		t.Errorf("%d kernels in %d objects", found, len(objects))
	}
}
