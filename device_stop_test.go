package heal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"healc/codegen/llvm/libllvm"
	"healc/runtime/device/cuda/cudatest"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// stoppable are programs whose calls wait for the device in every way: for results, for a value that the host has to
// know, for what is printed, before another function of the plan returns, for graphs and loops that the device ends.
const stoppable = `
pub fn plain[N](x: i32[N]) -> i32[N] = sort(x * 2 + 1)
pub fn there[N](x: i32[N] on device) -> i32[N] on device = to_device(sort(to_host(x) * 2))
pub fn shared[N](x: i32[N] on unified) -> i32[N] on unified = to_unified(sort(to_host(x) * 2))
pub fn turned(x: i32[8, 5]) -> (i32[5, 8], i32) = (transpose(sort(x)), +/(+/(sort(x))))
pub fn choose[N](x: i32[N]) -> i32[N] = if +/(sort(x)) > 0 { sort(x * 3) } else { x }
pub fn chain(x: i32[40]) -> i32[40] = sort(flip(sort(flip(sort(x * 3 - 7), 0) * 5), 0) - 1)
pub fn loop(x: i32[40], n: i32) -> i32[40] = iterate(n, x, |y| sort(flip(sort(flip(sort(y * 3), 0) * 7), 0) - x))
pub fn until(x: i32[40], n: i32) -> i32[40] = iterate_until(x, |y| sort(flip(sort(y), 0) - 1), |y| max/(y) < 0 - 60, n)
pub fn block(x: i32[4], n: i32) -> i32[4] = iterate(n, x, |y| cumsum(y) % 1000)
@io pub fn deep(n: i32) -> i32 = { print(sort(tabulate(40, |i| i * 7 % 40 * n))); if n < 1 { 0 } else { n + deep(n - 1) } }
@io pub fn talk(x: i32[8, 5]) -> i32 = { print(transpose(sort(x))); print(sort(x)); x[0, 0] }
`

// stopHeld calls a function while one of the kernels that it starts, after so many others, does not end, and ends the
// context of the call then. The kernel runs on until end is called; what waits for it a minute fails the test.
func stopHeld(t *testing.T, l *cudatest.Library, after int, call func(ctx context.Context) error) (end func(),
	took time.Duration) {
	t.Helper()
	h := l.Hold(after)
	late := time.AfterFunc(time.Minute, func() {
		t.Error("something waits for the kernel")
		h.End()
	})
	end = func() {
		late.Stop()
		h.End()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- call(ctx) }()
	select {
	case <-h.Begun:
	case err := <-ended:
		end()
		t.Fatalf("the call ended before its kernel began: %v", err)
	}
	time.Sleep(3 * time.Millisecond)
	at := time.Now()
	cancel()
	err := <-ended
	took = time.Since(at)
	var stopped *StoppedError
	if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) {
		t.Errorf("the call says %v", err)
	}
	return end, took
}

// settled waits until the device holds no memory.
func settled(t *testing.T, d *memory.Device) {
	t.Helper()
	for range 6000 {
		if d.LiveBytes() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d bytes of the device are not given back", d.LiveBytes())
}

// TestStopInKernel: the end of a context ends a call whose kernel runs on. Nothing that the kernel uses is used by
// others or freed before its end, calls meanwhile give right results, and afterwards nothing is left.
func TestStopInKernel(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	const soon = 100 * time.Millisecond
	gpu, l := fakeGPU(t)
	m, err := Compile(stoppable, Options{Backend: GPU, Device: gpu, System: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	anywhere := strings.NewReplacer(" on device", "", " on unified", "", "to_device", "", "to_unified", "", "to_host",
		"")
	judge, err := Compile(anywhere.Replace(stoppable), Options{Backend: Interp, System: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	grid := func() *tensor.Tensor {
		x, err := vector[int32](40, 90).Reshape(8, 5)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	var given []*tensor.Tensor
	there := func(x *tensor.Tensor, err error) *tensor.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, x)
		return x
	}
	n := func(n int32) *tensor.Tensor { return tensor.Scalar(n) }
	for _, c := range []struct {
		name  string
		after []int // kernels, before the one that does not end
		args  func(on bool) []*tensor.Tensor
	}{
		{"plain", []int{0}, func(bool) []*tensor.Tensor { return []*tensor.Tensor{vector[int32](40, 90)} }},
		{"there", []int{0}, func(on bool) []*tensor.Tensor {
			if !on {
				return []*tensor.Tensor{vector[int32](40, 90)}
			}
			return []*tensor.Tensor{there(vector[int32](40, 90).ToDevice(gpu))}
		}},
		{"shared", []int{0}, func(on bool) []*tensor.Tensor {
			if !on {
				return []*tensor.Tensor{vector[int32](40, 90)}
			}
			return []*tensor.Tensor{there(vector[int32](40, 90).ToUnified(gpu))}
		}},
		{"turned", []int{0, 1, 2}, func(bool) []*tensor.Tensor { return []*tensor.Tensor{grid()} }},
		{"choose", []int{0, 1, 2}, func(bool) []*tensor.Tensor { return []*tensor.Tensor{vector[int32](40, 90)} }},
		{"chain", []int{0, 1, 2}, func(bool) []*tensor.Tensor { return []*tensor.Tensor{vector[int32](40, 90)} }},
		{"loop", []int{0, 5, 17}, func(bool) []*tensor.Tensor {
			return []*tensor.Tensor{vector[int32](40, 90), n(120)}
		}},
		{"until", []int{0, 7, 30}, func(bool) []*tensor.Tensor {
			return []*tensor.Tensor{vector[int32](40, 90), n(1000)}
		}},
		{"block", []int{0}, func(bool) []*tensor.Tensor { return []*tensor.Tensor{vector[int32](4, 9), n(1000)} }},
		{"deep", []int{0, 2, 3}, func(bool) []*tensor.Tensor {
			return []*tensor.Tensor{n(3)}
		}},
		{"talk", []int{0, 1}, func(bool) []*tensor.Tensor { return []*tensor.Tensor{grid()} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := m.Func(c.name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := callFunc(judge, c.name, c.args(false))
			if err != nil {
				t.Fatal(err)
			}
			right := func(ctx context.Context, when string) {
				t.Helper()
				out, err := f.CallAll(ctx, c.args(true)...)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				for i, r := range out {
					h, err := r.ToHost()
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(h.Bits(), want[i]) {
						t.Errorf("%s: %v, want %v", when, h.Bits(), want[i])
					}
					h.Close()
					r.Close()
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for _, after := range c.after {
				least := time.Hour
				for i := 0; i < 5 && least > soon; i++ {
					end, took := stopHeld(t, l, after, func(ctx context.Context) error {
						out, err := f.CallAll(ctx, c.args(true)...)
						for _, r := range out {
							r.Close()
						}
						return err
					})
					least = min(least, took)
					right(ctx, "while the kernel runs")
					right(context.Background(), "while the kernel runs, without a context")
					end()
					right(ctx, "after its end")
				}
				if least > soon {
					t.Errorf("behind %d kernels it ended after %v", after, least)
				}
			}
		})
	}
	if c := l.Conflicts(); len(c) > 0 {
		t.Errorf("in conflict with a kernel that runs: %q", c)
	}
	m.Close()
	for _, x := range given {
		x.Close()
	}
	settled(t, gpu)
}

// quiet is a System for programs that print.
type quiet struct{ System }

func (quiet) Print(string) error { return nil }

// TestStopAndUse: what a kernel that runs on has of the caller's is not used before its end, nor is it free when it is
// closed; what has not begun when the call ends does nothing.
func TestStopAndUse(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	gpu, l := fakeGPU(t)
	m, err := Compile(`
pub fn f(x: i32[40] on device, d: i32) -> i32[40] on device = to_device(sort(to_host(x) / d))
pub fn change(x: &mut i32[40] on device, d: i32) -> i32 = { x = to_device(to_host(x) / d + 1); 1 }
`, Options{Backend: GPU, Device: gpu})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := m.Func("f")
	change, err := m.Func("change")
	if err != nil {
		t.Fatal(err)
	}
	on := func() *tensor.Tensor {
		x, err := vector[int32](40, 90).ToDevice(gpu)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	bits := func(x *tensor.Tensor) []uint64 {
		h, err := x.ToHost()
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		return slices.Clone(h.Bits())
	}
	two := tensor.Scalar(int32(2))
	x, y := on(), on()
	before := bits(x)
	if err := f.CallInto(context.Background(), []*tensor.Tensor{on()}, y, two); err != nil { // it is compiled then
		t.Fatal(err)
	}
	end, _ := stopHeld(t, l, 0, func(ctx context.Context) error {
		_, err := change.CallAll(ctx, x, two)
		return err
	})

	// The tensor is in use: a call that is to read or write it waits, no longer than its context lasts.
	for what, call := range map[string]func(ctx context.Context) error{
		"a call with a tensor that is in use": func(ctx context.Context) error {
			_, err := f.Call(ctx, x, two)
			return err
		},
		"a call into a tensor that is in use": func(ctx context.Context) error {
			return f.CallInto(ctx, []*tensor.Tensor{x}, y, two)
		},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
	copied := make(chan []uint64, 1)
	go func() { copied <- bits(x) }()
	select {
	case <-copied:
		t.Error("a tensor is copied that is in use")
	case <-time.After(30 * time.Millisecond):
	}
	// One that is not is there for everybody.
	if z, err := f.Call(context.Background(), y, two); err != nil {
		t.Error(err)
	} else {
		z.Close()
	}
	end()
	if got := <-copied; !slices.Equal(got, before) {
		t.Errorf("the kernels that had not begun changed %v to %v", before, got)
	}
	if z, err := f.Call(context.Background(), x, two); err != nil {
		t.Error(err)
	} else {
		z.Close()
	}

	// Closed while it is in use, its memory is nobody's before the kernel ends.
	end, _ = stopHeld(t, l, 0, func(ctx context.Context) error {
		_, err := f.Call(ctx, x, two)
		return err
	})
	x.Close()
	for range 3 {
		z, err := f.Call(context.Background(), on(), two)
		if err != nil {
			t.Fatal(err)
		}
		z.Close()
	}
	end()
	y.Close()
	m.Close()
	if c := l.Conflicts(); len(c) > 0 {
		t.Errorf("in conflict with a kernel that runs: %q", c)
	}
}

// TestStopAndClose: a module can be closed while a kernel of it runs on, and waits for nothing; its code and memory go
// when the kernel has ended. So it is in the other order, and nothing is left behind by either.
func TestStopAndClose(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	gpu, l := fakeGPU(t)
	const src = `pub fn f(x: i32[40] on device, u: i32[40] on unified) -> i32[40] = sort(to_host(x) + [` +
		`1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ` +
		`1, 2, 3, 4, 5, 6, 7, 8, 9, 10] + to_host(u))`
	alive := 0
	for round := range 4 {
		m, err := Compile(src, Options{Backend: GPU, Device: gpu})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x, err := vector[int32](40, 90).ToDevice(gpu)
		if err != nil {
			t.Fatal(err)
		}
		u, err := vector[int32](40, 90).ToUnified(gpu)
		if err != nil {
			t.Fatal(err)
		}
		unloaded := l.Calls("cuModuleUnload")
		end, _ := stopHeld(t, l, 0, func(ctx context.Context) error {
			_, err := f.Call(ctx, x, u)
			return err
		})
		if round%2 == 0 {
			m.Close()
			x.Close()
			u.Close()
			if l.Calls("cuModuleUnload") != unloaded || gpu.LiveBytes() == 0 {
				t.Errorf("while the kernel runs its code is unloaded or its memory free")
			}
			end()
		} else {
			end()
			m.Close()
			u.Close()
			x.Close()
		}
		settled(t, gpu)
		for i := 0; l.Calls("cuModuleUnload") == unloaded && i < 1000; i++ {
			time.Sleep(10 * time.Millisecond)
		}
		if err := gpu.ReleaseUnused(); err != nil {
			t.Error(err)
		}
		switch now := l.Alive(); {
		case round == 1:
			alive = now
		case round > 1 && now > alive:
			t.Errorf("round %d leaves %d objects of the driver, round 1 left %d", round, now, alive)
		}
	}
	if c := l.Conflicts(); len(c) > 0 {
		t.Errorf("in conflict with a kernel that runs: %q", c)
	}
}

// TestStopWaitingDriver: calls of the driver that wait for a kernel of others do not keep a call from ending.
func TestStopWaitingDriver(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	gpu, l := fakeGPU(t)
	l.Wait("cuMemAlloc_v2", "cuMemAllocManaged", "cuMemHostAlloc", "cuMemFreeHost", "cuStreamCreate",
		"cuModuleLoadDataEx", "cuModuleGetFunction", "cuCtxSetLimit")
	const src = `pub fn f(n: i32) -> i32[1000000] = sort(tabulate(1000000, |i| (i * 7919 + n) % 1000))
pub fn g[N](x: i32[N]) -> i32[N] = sort(x + 1)
pub fn h[N](x: f32[N, 2]) -> f32[N, 2] on unified = to_unified(transpose(sort(transpose(x))))`
	m, err := Compile(src, Options{Backend: GPU, Device: gpu})
	if err != nil {
		t.Fatal(err)
	}
	slow, _ := m.Func("g")
	x, y := vector[int32](100, 7), vector[float32](1000, 7)
	end, _ := stopHeld(t, l, 0, func(ctx context.Context) error {
		_, err := slow.Call(ctx, x)
		return err
	})
	two, err := y.Reshape(500, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, arg := range map[string]*tensor.Tensor{
		"f": tensor.Scalar(int32(1)), "g": vector[int32](999, 7), "h": two,
	} {
		f, err := m.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // compiling is stopped as well
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			ended := make(chan error, 1)
			go func() { _, err := f.Call(ctx, arg); ended <- err }()
			select {
			case err := <-ended:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", name, err)
				}
			case <-time.After(time.Minute):
				end()
				t.Fatalf("%s waits for a kernel of another call", name)
			}
			cancel()
		}
	}
	end()
	for name, arg := range map[string]*tensor.Tensor{"g": vector[int32](999, 7), "h": two} {
		f, _ := m.Func(name)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		r, err := f.Call(ctx, arg)
		cancel()
		if err != nil {
			t.Fatalf("%s afterwards: %v", name, err)
		}
		r.Close()
	}
	m.Close()
	settled(t, gpu)
	if c := l.Conflicts(); len(c) > 0 {
		t.Errorf("in conflict with a kernel that runs: %q", c)
	}
}
