package rows

import (
	"strings"
	"sync"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// A changing program changes a part of a matrix in each step of a loop. It has so many axes whose loops go over the
// part alone.
type changing struct {
	value   string // of the element at i, j of m in step n
	windows int
}

var changings = []changing{
	{"where(i > n && j > n, fma(a[i], b[j], m[i, j]), m[i, j])", 2},
	{"where(i >= n && j <= n, b[j], m[i, j])", 2},
	{"where(n > i, m[i, j], a[i])", 1},
	{"where(i == n, b[j], m[i, j])", 1},
	{"where(j != n, m[i, j], a[i])", 1},
	{"where(i == n, b[j], where(i > n && j <= n, m[i, j] - a[i], m[i, j]))", 1},
	{"where(i > n, m[i, j] - a[i], where(j == n, m[i, j], m[i, j]))", 1},
	{"if i < n && !(j < n) { m[i, j] + b[j] } else { m[i, j] }", 2},
	{"if i < n { m[i, j] } else if i == n { b[j] } else { m[i, j] }", 1},
	{"where(i > n && i < n + 3 && j != 2, a[i], m[i, j])", 1},
	{"where(i < n - 1 || i > n + 1, m[i, j], where(j > 0, b[j], m[i, j]))", 2},
	{"where(i > n && i < n, a[i], m[i, j])", 1},
	{"where((i as i64) > (n as i64), a[i], m[i, j])", 1},
	{"where(i > n || j > n, a[i], m[i, j])", 0},
	{"where(i > j, a[i], m[i, j])", 1},
	{"where(j < i && i > n, a[i], m[i, j])", 2},
	{"where(j * j > i, a[i], m[i, j])", 0},
	{"where(i > n, a[i], b[j])", 0},
	{"where(i > n, m[i, j] / a[i], m[i, j])", 1},
}

// TestWindows: loops over elements of which a part changes in place, another part in each step, go over that part:
// none, all, or beyond either end.
func TestWindows(t *testing.T) {
	cpus := devices.Targets(t)
	for i, c := range changings {
		if i%sample.Part(2) != sample.Today(t)%sample.Part(2) {
			continue
		}
		elem := []types.DType{types.F32, types.F64, types.I32, types.BF16}[i%4]
		if strings.Contains(c.value, "fma") || strings.Contains(c.value, "/") && !elem.IsFloat() {
			elem = types.F64
		}
		source := strings.NewReplacer("T[", elem.String()+"[", "VALUE", c.value).Replace(`
fn f[M, N](a: T[M], b: T[N], x: T[M, N], step: i32) -> T[M, N] = {
    let (_, r) = iterate(5, (-3, x), |(n, m)| (n + step, tabulate(M, N, |i, j| VALUE)));
    r
}
fn g[M, N](a: T[M], b: T[N], x: T[M, N]) -> T[M, N] = f(a, b, x, 4)
fn h[M, N](a: T[M], b: T[N], x: T[M, N]) -> T[M, N] = f(a, b, x, 17)
`)
		want, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
		if err != nil {
			t.Fatalf("%v in %s", err, source)
		}
		defer want.Close()
		for j, dims := range []map[string]int64{{"M": 9, "N": 16}, {"M": 37, "N": 131}, {"M": 3, "N": 1}} {
			o := engine.Options{Threads: 1 + (i+j)%3, SplitAll: true,
				Target: codegen.Target{Kind: "cpu", CPU: cpus[(i+j)%len(cpus)]}}
			var mu sync.Mutex
			found := 0
			o.Debug.Reschedule = func(_ *kernel.Kernel, s *kernel.Schedule) {
				mu.Lock()
				defer mu.Unlock()
				n := 0
				kernel.Directives(s.Directives).Walk(func(d *kernel.Directive) {
					if d.Kind == "window" {
						n++
					}
				})
				found = max(found, n)
			}
			for _, w := range append(ways.Thorough(i+j, 3), ways.Full) {
				found = 0
				for _, o := range w.Options(t, o) {
					m, err := engine.Compile(source, o)
					if err != nil {
						t.Fatal(err)
					}
					for _, name := range []string{"g", "h"} {
						if msg := compare(want, m, name, dims, uint64(i), false); msg != "" {
							t.Errorf("%s, %v, %v, %+v: %s", c.value, elem, dims, o, msg)
						}
					}
					m.Close()
				}
				if dims["N"] == 131 && w == ways.Full && found != c.windows {
					t.Errorf("%q has %d windows, not %d", c.value, found, c.windows)
				}
			}
		}
	}
}
