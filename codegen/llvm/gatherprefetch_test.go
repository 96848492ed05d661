package llvm

import (
	"fmt"
	"strings"
	"testing"

	"healc/ir/kernel"
	"healc/lang/diag"
)

// TestGatheredRows: rows whose numbers stand in memory are asked for ahead, also where one is out of range, and the
// numbers are not read behind their end.
func TestGatheredRows(t *testing.T) {
	const rows, n, picked = 30000, 20, 70
	for _, index := range []string{"i32", "i64"} {
		cast, number := "", "%3"
		if index == "i32" {
			cast, number = "%4: i64 = cast %3\n", "%4"
		}
		text := fmt.Sprintf(`kernels "t"
site 0 "index" at "f.heal":1:2 op "gather" text "x[at]"
kernel @f(in at: %s[%d], in x: f32[%d, %d], out y: f32[%d, %d]) over %%0 in 0..%d {
  %%1: i64 = const %d
  %%2: i64 = const 0
  %%3: %s = load at[%%0]
  %s
  %%5: bool = le %%2, %s
  %%6: bool = lt %s, %%1
  %%7: bool = and %%5, %%6
  check index %%7, %s, %%1 site 0
  parallel %%8 in 0..%d {
    %%9: f32 = load x[%d*%s + %%8]
    store y[%d*%%0 + %%8], %%9
  }
}`, index, picked, rows, n, picked, n, picked, rows, index, cast, number, number, number, n, n, number, n)
		if index == "i64" {
			text = strings.NewReplacer("%5", "%4", "%6", "%5", "%7", "%6", "%8", "%7", "%9", "%8").Replace(text)
		}
		m, errs := kernel.Parse(diag.NewFile("test.kernels", text))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		ll, err := Generate(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(ll, "call void @llvm.prefetch") {
			t.Errorf("%s: nothing is asked for", index)
		}
		run := load(t, text)
		x := noise(rows * n)
		for _, bad := range []int{-1, 0, 37, picked - 1} {
			at32, at64, y := make([]int32, picked+1), make([]int64, picked+1), make([]float32, picked*n)
			for i := range picked {
				at64[i] = int64(i*7919+3) % rows
			}
			at64[picked] = -1 << 40
			if bad >= 0 {
				at64[bad] = 1 << 30
			}
			for i, a := range at64 {
				at32[i] = int32(a)
			}
			at := ptr(at64[:picked])
			if index == "i32" {
				at = ptr(at32[:picked])
			}
			e := run("f", 0, picked, at, ptr(x), ptr(y))
			if (e.Site != 0) != (bad >= 0) {
				t.Fatalf("%s, number %d out of range: site %d", index, bad, e.Site)
			}
			for i := range picked {
				if bad >= 0 && i >= bad {
					break
				}
				for j := range n {
					if want := x[at64[i]*n+int64(j)]; y[i*n+j] != want {
						t.Fatalf("%s: row %d, element %d: %v, want %v", index, i, j, y[i*n+j], want)
					}
				}
			}
		}
	}
}
