package heal_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	heal "healc"
)

// long are programs of one kernel or operation that would run for minutes, by the backends that have to stop them.
var long = []struct {
	name, src string
	backends  []string
}{
	{"a loop of scalars", `fn f(n: i32) -> f64 = iterate(2000000000 + 0 * n, 1.0, |s| sin(s))`, everywhere},
	{"elements of long loops",
		`fn f(n: i32) -> f64[64] = tabulate(64, |i| iterate(2000000000, (i + n) as f64, |s| sin(s)))`, everywhere},
	{"many calls", `fn fib(n: i32) -> i64 = if n < 2 { n as i64 } else { fib(n - 1) + fib(n - 2) }
fn f(n: i32) -> i64 = fib(90 + n)`, everywhere},
	{"a large product", `fn f(n: i32) -> i64 {
    let a = tabulate(6000, 6000, |i, j| (i * j + n) as i64);
    sum(a @ a)
}`, everywhere},
	{"a loop of plans", `fn f(n: i32) -> f64 {
    let x = iterate(2000000000, tabulate(1000, |i| (i + n) as f64), |x| sort(x .* 3.0 .- sum(x)));
    sum(x)
}`, everywhere},
	{"a sort", `fn f(n: i32) -> i32 {
    let x = sort(tabulate(1, 60000000, |i, j| (j + n) * 1103515245 + 12345));
    max/(x)
}`, everywhere},
}

var everywhere = []string{heal.CPU, heal.Interp}

// TestStop: the end of a context ends a program wherever it is, with an error that says so.
func TestStop(t *testing.T) {
	for _, p := range long {
		for _, backend := range p.backends {
			for _, threads := range []int{1, 2} {
				if backend == heal.Interp && threads > 1 {
					continue
				}
				t.Run(p.name+"/"+backend, func(t *testing.T) {
					m, err := heal.Compile(p.src, heal.Options{Backend: backend, Threads: threads})
					if err != nil {
						t.Fatal(err)
					}
					defer m.Close()
					f, err := m.Func("f")
					if err != nil {
						t.Fatal(err)
					}
					stopSoon(t, f)
				})
			}
		}
	}
}

func stopSoon(t *testing.T, f *heal.Func) {
	t.Helper()
	const soon = 20 * time.Second // that is 100 ms on a quiet machine
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := f.Call(ctx, heal.Scalar(int32(0)))
		took := time.Since(start)
		var stopped *heal.StoppedError
		if !errors.As(err, &stopped) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after %v: %v", took, err)
		}
		if strings.Contains(err.Error(), "context") {
			t.Errorf("%v", err)
		}
		if t.Logf("%v", took); took > soon {
			t.Errorf("it ended after %v", took)
		}
	}
}
