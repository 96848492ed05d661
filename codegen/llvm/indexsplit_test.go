package llvm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/diag"
)

// TestPieces reads one of two tensors by conditions on the position, in several forms.
func TestPieces(t *testing.T) {
	const n = 100
	for _, c := range []struct {
		condition string // of %7, by the position %0
		cuts      []int64
		holds     func(i int64) bool
	}{
		{"%1: i64 = const 37\n  %7: bool = lt %0, %1", []int64{37}, func(i int64) bool { return i < 37 }},
		{"%1: i64 = const 37\n  %7: bool = le %0, %1", []int64{38}, func(i int64) bool { return i <= 37 }},
		{"%1: i64 = const 37\n  %7: bool = lt %1, %0", []int64{38}, func(i int64) bool { return 37 < i }},
		{"%1: i64 = const 37\n  %7: bool = eq %0, %1", []int64{37, 38}, func(i int64) bool { return i == 37 }},
		{"%1: i64 = const 37\n  %2: i64 = const -3\n  %3: i64 = mul %0, %2\n  %4: i64 = sub %3, %2\n" +
			"  %5: i64 = neg %1\n  %7: bool = lt %4, %5", []int64{14},
			func(i int64) bool { return -3*i+3 < -37 }},
		{"%1: i64 = const 90\n  %2: i64 = const 20\n  %3: bool = lt %0, %1\n  %4: bool = lt %2, %0\n" +
			"  %7: bool = and %3, %4", []int64{21, 90},
			func(i int64) bool { return 20 < i && i < 90 }},
		{"%1: i64 = const 90\n  %2: i64 = const 20\n  %3: bool = lt %1, %0\n  %4: bool = lt %0, %2\n" +
			"  %7: bool = or %3, %4", []int64{20, 91},
			func(i int64) bool { return i < 20 || 90 < i }},
		{"%1: i64 = const 0\n  %7: bool = lt %0, %1", nil, func(i int64) bool { return false }},
		{"%1: i64 = const 100\n  %7: bool = lt %0, %1", nil, func(i int64) bool { return true }},
	} {
		text := fmt.Sprintf(`kernels "t"
kernel @f(in x: f32[%[1]d], in y: f32[%[1]d], out z: f32[%[1]d]) over %%0 in 0..%[1]d {
  %[2]s
  %%8: f32 = if %%7 {
    %%9: f32 = load x[%%0]
    yield %%9
  } else {
    %%10: f32 = load y[%%0]
    yield %%10
  }
  %%11: f32 = add %%8, %%8
  store z[%%0], %%11
}`, n, c.condition)
		m, errs := kernel.Parse(diag.NewFile("test.kernels", text))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		p := transform.AffineConditionsOf(m.Kernels[0].Axes[0].Var, nil, m.Kernels[0].Body)
		inside := slices.DeleteFunc(slices.Clone(p.Cuts), func(i int64) bool {
			return i <= 0 || i >= n
		})
		if !slices.Equal(inside, c.cuts) {
			t.Errorf("%s\ncuts at %v, not %v", c.condition, inside, c.cuts)
		}
		ll, err := Generate(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(ll, "load <") {
			t.Errorf("%s\nno vectors", c.condition)
		}
		run := load(t, text)
		for _, part := range [][2]int64{{0, n}, {5, 95}, {40, 41}, {0, 3}, {38, 99}, {n, n}} {
			x, y, z := noise(n), noise(2 * n)[n:], make([]float32, n)
			run("f", part[0], part[1], ptr(x), ptr(y), ptr(z))
			for i := range int64(n) {
				want := 2 * y[i]
				if c.holds(i) {
					want = 2 * x[i]
				}
				if i < part[0] || i >= part[1] {
					want = 0
				}
				if z[i] != want {
					t.Fatalf("%s\n%v: element %d is %v, not %v", c.condition, part, i, z[i], want)
				}
			}
		}
	}
}

// TestMixedConditions reads one of two tensors by a condition on the position that asks about the row, too.
func TestMixedConditions(t *testing.T) {
	const text = `kernels "m"

kernel @f(in b0: f32[8, 100], in b1: f32[8, 100], out b2: f32[8, 100]) over %0 in 0..8 {
  %1: i64 = const 1
  %2: i64 = const 6
  %3: bool = lt %1, %0
  %4: bool = lt %0, %2
  %5: bool = and %3, %4
  parallel %6 in 0..100 {
    %7: i64 = const 37
    %8: i64 = const 3
    %9: bool = lt %6, %7
    %10: bool = and %5, %9
    %11: bool = le %8, %6
    %12: bool = and %10, %11
    %13: f32 = if %12 {
      %14: f32 = load b0[100*%0 + %6 + -3]
      yield %14
    } else {
      %15: f32 = load b1[100*%0 + %6]
      yield %15
    }
    store b2[100*%0 + %6], %13
  }
}
`
	m, list := kernel.Parse(diag.NewFile("m", text))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	ll, err := Generate(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(ll, "load <") {
		t.Errorf("no vectors\n%s", ll)
	}
	run := load(t, text)
	x, y, z := noise(800), noise(1600)[800:], make([]float32, 800)
	run("f", 0, 8, ptr(x), ptr(y), ptr(z))
	for i := range 8 {
		for j := range 100 {
			want := y[100*i+j]
			if 1 < i && i < 6 && 3 <= j && j < 37 {
				want = x[100*i+j-3]
			}
			if z[100*i+j] != want {
				t.Fatalf("element %d, %d is %v, not %v", i, j, z[100*i+j], want)
			}
		}
	}
}
