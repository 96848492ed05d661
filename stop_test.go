package heal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	heal "healc"
)

// long are programs of one kernel or operation that would run for minutes. The simulator of devices has no room for
// those that are large.
var long = []struct {
	name, src string
	large     bool
}{
	{"a loop of scalars", `fn f(n: i32) -> f64 = iterate(2000000000 + 0 * n, 1.0, |s| sin(s))`, false},
	{"elements of long loops",
		`fn f(n: i32) -> f64[64] = tabulate(64, |i| iterate(2000000000, (i + n) as f64, |s| sin(s)))`, false},
	{"many calls", `fn fib(n: i32) -> i64 = if n < 2 { n as i64 } else { fib(n - 1) + fib(n - 2) }
fn f(n: i32) -> i64 = fib(90 + n)`, false},
	{"a large product", `fn f(n: i32) -> i64 {
    let a = tabulate(6000, 6000, |i, j| (i * j + n) as i64);
    sum(a @ a)
}`, true},
	{"a loop of plans", `fn f(n: i32) -> f64 {
    let x = iterate(2000000000, tabulate(1000, |i| (i + n) as f64), |x| sort(x .* 3.0 .- sum(x)));
    sum(x)
}`, false},
	{"a vector loop", `fn f(n: i32) -> f64 {
    let x = iterate(1000000, tabulate(2000000, |i| (i + n) as f64), |x| sin(x) .* 1.5);
    sum(x)
}`, false},
	{"a scan", `fn f(n: i32) -> f64 {
    let x = cumsum(tabulate(1, 60000000, |i, j| (j + n) as f64), axis = 1);
    sum(iterate(1000000, x, |x| cumsum(x, axis = 1)))
}`, true},
	{"transforms", `fn f(n: i32) -> i64 {
    let w = tabulate(1, 65536, |c, i| (i * 7919 + 1) as i64 % 65537);
    let x = tabulate(8, 1, 65536, |i, c, j| (i + j + n) as i64 % 65537);
    sum(iterate(1000000, x, |x| ntt(x, 65537, w, 0..65536, axis = -1)))
}`, false},
	{"a sort", `fn f(n: i32) -> i32 {
    let x = sort(tabulate(1, 60000000, |i, j| (j + n) * 1103515245 + 12345));
    max/(x)
}`, true},
}

// aloneEnv is set in a process that runs one test on a GPU.
const aloneEnv = "HEAL_TEST_ALONE"

// everywhere are the backends that have to stop programs.
func everywhere() []string {
	if os.Getenv(aloneEnv) != "" {
		return []string{heal.GPU}
	}
	if os.Getenv("HEAL_TEST_DEVICE") == heal.GPU {
		return []string{heal.CPU, heal.Interp, heal.PTXSim, heal.GPU}
	}
	return []string{heal.CPU, heal.Interp, heal.PTXSim}
}

// alone runs a test again on a GPU in a process of its own, and reports whether it did. The kernel of a call that is
// stopped goes on, for minutes, and a program that is loaded meanwhile waits for it; it ends with the process.
func alone(t *testing.T, backend string) bool {
	t.Helper()
	if backend != heal.GPU || os.Getenv(aloneEnv) != "" {
		return false
	}
	name := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$"
	c := exec.Command(os.Args[0], "-test.run", name, "-test.timeout", "5m")
	c.Env = append(os.Environ(), aloneEnv+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// TestStop: the end of a context ends a program wherever it is, with an error that says so.
func TestStop(t *testing.T) {
	for _, p := range long {
		for _, backend := range everywhere() {
			for _, threads := range []int{1, 2} {
				if backend != heal.CPU && threads > 1 || backend == heal.PTXSim && p.large {
					continue
				}
				t.Run(p.name+"/"+backend, func(t *testing.T) {
					if alone(t, backend) {
						return
					}
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

// stopSoon ends calls while they compile, and while they run. What counts is the processor time that the process takes
// from then on, all of its threads together: how long it waits for processors is the machine's. The least of several
// calls counts, as what a call that was stopped had begun to compile goes on beside the next.
func stopSoon(t *testing.T, f *heal.Func) {
	t.Helper()
	const soon = 100 * time.Millisecond
	least := time.Hour
	for i := range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		began, ended := processorTime(t), make(chan time.Duration, 1)
		go func() {
			for processorTime(t)-began < time.Duration(50+100*i)*time.Millisecond {
				time.Sleep(time.Millisecond)
			}
			ended <- processorTime(t)
			cancel()
		}()
		_, err := f.Call(ctx, heal.Scalar(int32(0)))
		took := processorTime(t) - <-ended
		var stopped *heal.StoppedError
		if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) {
			t.Fatalf("after %v: %v", took, err)
		}
		if strings.Contains(err.Error(), "context") {
			t.Errorf("%v", err)
		}
		if least = min(least, took); least < soon && i > 0 {
			break
		}
	}
	if t.Logf("%v", least); least > soon {
		t.Errorf("it ended after %v of processor time", least)
	}
}

// TestStopBeside: a call is stopped, and its module closed, while the kernel of another call has the device.
func TestStopBeside(t *testing.T) {
	for _, backend := range everywhere() {
		if alone(t, backend) {
			continue
		}
		var funcs []*heal.Func
		var modules []*heal.Module
		for range 2 {
			m, err := heal.Compile(long[0].src, heal.Options{Backend: backend})
			if err != nil {
				t.Fatal(err)
			}
			f, err := m.Func("f")
			if err != nil {
				t.Fatal(err)
			}
			funcs, modules = append(funcs, f), append(modules, m)
		}
		ctx, cancel := context.WithCancel(context.Background())
		first := make(chan error, 1)
		go func() {
			_, err := funcs[0].Call(ctx, heal.Scalar(int32(0)))
			first <- err
		}()
		for range 3 {
			soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			second := make(chan error, 1)
			go func() {
				_, err := funcs[1].Call(soon, heal.Scalar(int32(0)))
				second <- err
			}()
			select {
			case err := <-second:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: the second call: %v", backend, err)
				}
			case err := <-first:
				t.Fatalf("%s: the first call: %v", backend, err)
			case <-time.After(time.Minute):
				t.Fatalf("%s: the second call waits for the first", backend)
			}
			cancel()
		}
		modules[1].Close()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the first call: %v", backend, err)
		}
		modules[0].Close()
	}
}

// TestStopByTime: a deadline ends a call as well.
func TestStopByTime(t *testing.T) {
	for _, backend := range everywhere() {
		if alone(t, backend) {
			continue
		}
		m, err := heal.Compile(long[0].src, heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		if _, err := f.Call(ctx, heal.Scalar(int32(0))); !errors.Is(err, context.DeadlineExceeded) ||
			strings.Contains(err.Error(), "context") {
			t.Errorf("%s: %v", backend, err)
		}
	}
}

// processorTime is what the process has taken of processors.
func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Error(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestStoppedResult: a call whose context ends while it computes gives no results, also where what it was at came to
// its end; a context that has a cause is quoted.
func TestStoppedResult(t *testing.T) {
	for _, backend := range everywhere() {
		m, err := heal.Compile(`fn f[N](x: f32[N]) -> f32[N] = x + 1.0`, heal.Options{Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		x := heal.FromSlice([]float32{1, 2, 3})
		if _, err := f.Call(ctx, x); err != nil {
			t.Error(err)
		}
		cancel(errors.New("the lamp went out"))
		_, err = f.Call(ctx, x)
		if !errors.Is(err, context.Canceled) || err.Error() != "the lamp went out" {
			t.Errorf("%s: %v", backend, err)
		}
		if err := f.CallInto(ctx, []*heal.Tensor{heal.FromSlice(make([]float32, 3))}, x); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%s: %v", backend, err)
		}
	}
}

// TestLimits: a call that takes more steps or memory than it may ends with an error, and one that stays below does not.
func TestLimits(t *testing.T) {
	const src = `fn f(n: i32) -> f64[1000] = iterate(n, tabulate(1000, |i| i as f64), |x| sort(x .* 3.0 .- sum(x)))`
	for _, backend := range []string{heal.CPU, heal.Interp, heal.PTXSim} {
		call := func(o heal.Options, n int32) error {
			o.Backend = backend
			m, err := heal.Compile(src, o)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f, err := m.Func("f")
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Call(context.Background(), heal.Scalar(n))
			return err
		}
		most := int64(50)
		if backend == heal.Interp {
			most = 100000 // it counts the operations of each element
		}
		if err := call(heal.Options{MaxSteps: most, MaxMemory: 1 << 20}, 2); err != nil {
			t.Errorf("%s: %v", backend, err)
		}
		var steps *heal.StepsError
		if err := call(heal.Options{MaxSteps: most}, 1<<30); !errors.As(err, &steps) || steps.Limit != most {
			t.Errorf("%s: %v", backend, err)
		}
		err := call(heal.Options{MaxMemory: 5000}, 2)
		var memory *heal.MemoryLimitError
		if backend == heal.Interp { // which looks when it comes to a tensor
			if err == nil || !strings.Contains(err.Error(), "leaves no room for f64[1000], which takes 8000 bytes") {
				t.Errorf("%s: %v", backend, err)
			}
		} else if !errors.As(err, &memory) || memory.Limit != 5000 || memory.Needs < 16000 || memory.Bytes < 8000 ||
			!strings.HasPrefix(memory.Largest, "f64[") {
			t.Errorf("%s: %v", backend, err)
		}
	}
}

// TestEmptySteps: steps that have no operation are counted by the interpreter, too, and end with the context.
func TestEmptySteps(t *testing.T) {
	const src = `fn f(n: i32) -> i32 = iterate(n, n, |s| s)`
	m, err := heal.Compile(src, heal.Options{Backend: heal.Interp, MaxSteps: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var steps *heal.StepsError
	if _, err := f.Call(ctx, heal.Scalar(int32(1<<31-1))); !errors.As(err, &steps) || steps.Limit != 1000 {
		t.Error(err)
	}
}

// BenchmarkStoppable is what a context that can end costs: calls of kernels of several lengths, with and without.
func BenchmarkStoppable(b *testing.B) {
	m, err := heal.Compile(`fn f[N](x: f32[N]) -> f32[N] = x .* x .+ 1.0
fn g(n: i32) -> f64 = iterate(n, 1.0, |s| sin(s))`, heal.Options{Threads: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f, _ := m.Func("f")
	g, _ := m.Func("g")
	for _, n := range []int{1 << 10, 1 << 16, 1 << 22} {
		x := heal.FromSlice(make([]float32, n))
		y := heal.FromSlice(make([]float32, n))
		for name, c := range map[string]context.Context{"never": context.Background(), "may": ctx} {
			b.Run(fmt.Sprintf("elements %d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					if err := f.CallInto(c, []*heal.Tensor{y}, x); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	for _, n := range []int32{1, 1000, 100000} {
		x, y := heal.Scalar(n), heal.Scalar(0.0)
		for name, c := range map[string]context.Context{"never": context.Background(), "may": ctx} {
			b.Run(fmt.Sprintf("steps %d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					if err := g.CallInto(c, []*heal.Tensor{y}, x); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
