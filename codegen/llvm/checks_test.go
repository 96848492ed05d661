package llvm

import (
	"testing"
)

// TestFirstFailureInVectors: of several bad indices and two kinds of checks the first one in order is reported.
func TestFirstFailureInVectors(t *testing.T) {
	run := load(t, `kernels "t"
site 0 "index" at "f.heal":1:2 op "index" text "a[i]"
site 1 "index" at "f.heal":1:9 op "index" text "b[j]"
kernel @sum(in x: f32[100], in i: i64[1000], in j: i64[1000], out y: f32[]) {
  %0: i64 = const 100
  %1: f32 = reduce sum lanes %2 in 0..1000 {
    %3: i64 = load i[%2]
    %4: bool = lt %3, %0
    check index %4, %3, %0 site 0
    %5: i64 = load j[%2]
    %6: bool = lt %5, %0
    check index %6, %5, %0 site 1
    %7: f32 = load x[%3]
    %8: f32 = load x[%5]
    %9: f32 = add %7, %8
    yield %9
  }
  store y[0], %1
}`)
	x := noise(100)
	for _, bad := range []struct{ i, j []int }{
		{nil, nil}, {[]int{0}, nil}, {[]int{37, 36, 900}, nil}, {[]int{37}, []int{36}}, {[]int{37}, []int{37}},
		{[]int{38}, []int{37}},
		{[]int{999}, nil}, {nil, []int{997}}, {[]int{998}, []int{3}},
	} {
		i, j, y := make([]int64, 1000), make([]int64, 1000), make([]float32, 1)
		sum := make([]float32, 1000)
		for k := range i {
			i[k], j[k] = int64(k*7%100), int64(k*3%100)
			sum[k] = x[i[k]] + x[j[k]]
		}
		first, site := -1, int64(0)
		note := func(at int, s int64) {
			if first < 0 || at < first || at == first && s < site {
				first, site = at, s
			}
		}
		for _, k := range bad.i {
			i[k] = int64(100 + k)
			note(k, 1)
		}
		for _, k := range bad.j {
			j[k] = int64(100 + k)
			note(k, 2)
		}
		e := run("sum", 0, 1, ptr(x), ptr(i), ptr(j), ptr(y))
		if int64(e.Site) != site {
			t.Errorf("%v: site %d, want %d", bad, e.Site, site)
		}
		if site != 0 && e.Info != [2]int64{int64(100 + first), 100} {
			t.Errorf("%v: index %v, want %d", bad, e.Info, 100+first)
		}
		if site == 0 && y[0] != firstRule(sum) {
			t.Errorf("sum %v, want %v", y[0], firstRule(sum))
		}
	}
}
