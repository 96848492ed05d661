package llvm

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// TestStridedAccess reads and writes every stride that has code of its own, and those around them, in all widths of
// elements and lengths around vectors. The input ends with the last element that is read.
func TestStridedAccess(t *testing.T) {
	types := map[string]int{"i8": 1, "i16": 2, "f32": 4, "i64": 8}
	lengths := []int{3, 9, 64, 131}
	for dtype, size := range types {
		var text strings.Builder
		text.WriteString("kernels \"t\"\n")
		steps := []int{-4, -2, -1, 2, 3, 4, 5}
		for _, s := range steps {
			for _, n := range lengths {
				reach := max(s, -s)*(n-1) + 1
				at := fmt.Sprintf("%d*%%0", s)
				if s < 0 {
					at += fmt.Sprintf(" + %d", reach-1)
				}
				name := strings.ReplaceAll(fmt.Sprint(s, "_", n), "-", "m")
				name = strings.ReplaceAll(name, " ", "")
				fmt.Fprintf(&text,
					"kernel @read%s(in x: %s[%d], out y: %s[%d]) over %%0 in 0..%d {\n  %%1: %s = load x[%s]\n"+
						"  store y[%%0], %%1\n}\n", name, dtype, reach, dtype, n, n, dtype, at)
				fmt.Fprintf(&text,
					"kernel @write%s(in x: %s[%d], out y: %s[%d]) over %%0 in 0..%d {\n  %%1: %s = load x[%%0]\n"+
						"  store y[%s], %%1\n}\n", name, dtype, n, dtype, reach, n, dtype, at)
			}
		}
		run := load(t, text.String())
		for _, s := range steps {
			for _, n := range lengths {
				name := strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(s, "_", n), "-", "m"), " ", "")
				reach := max(s, -s)*(n-1) + 1
				place := func(i int) int {
					if s < 0 {
						return reach - 1 + s*i
					}
					return s * i
				}
				far := make([]byte, reach*size)
				for i := range far {
					far[i] = byte(i*7 + i>>8)
				}
				near := make([]byte, n*size+1)
				near[n*size] = 99
				run("read"+name, 0, int64(n), unsafe.Pointer(&far[0]), unsafe.Pointer(&near[0]))
				for i := range n {
					if got, want := string(near[i*size:(i+1)*size]),
						string(far[place(i)*size:(place(i)+1)*size]); got != want {
						t.Fatalf("%s, stride %d of %d: element %d is %q, want %q", dtype, s, n, i, got, want)
					}
				}
				back := make([]byte, reach*size)
				run("write"+name, 0, int64(n), unsafe.Pointer(&near[0]), unsafe.Pointer(&back[0]))
				written := map[int]bool{}
				for i := range n {
					written[place(i)] = true
				}
				for i := range reach {
					want := string(make([]byte, size))
					if written[i] {
						want = string(far[i*size : (i+1)*size])
					}
					if got := string(back[i*size : (i+1)*size]); got != want {
						t.Fatalf("%s, writing with stride %d, %d elements: place %d is %q, want %q", dtype, s, n, i,
							got, want)
					}
				}
				if near[n*size] != 99 {
					t.Fatalf("%s, stride %d of %d: written behind the end", dtype, s, n)
				}
			}
		}
	}
}
