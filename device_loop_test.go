package heal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"healc/codegen/llvm/libllvm"
	"healc/runtime"
	"healc/runtime/device"
	"healc/runtime/device/cuda"
	"healc/runtime/device/cuda/cudatest"
	"healc/runtime/device/sim"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// endless are loops that end by a condition and are no kernels, since their states are large: with a state that changes
// places, one that is changed where it is, several that are exchanged, the number of the step, copies, and checks that
// fail.
const endless = `
pub fn decay(x: f32[80], n: i32) -> f32[80] = iterate_until(x, |y| sort(flip(sort(y * 0.5), 0)), |y| max/(y) < 1.0, n)
pub fn counted(x: i32[70], n: i32) -> (i32[70], i32) = iterate_until((x, 0), |(y, k)| (sort(flip(y, 0) + k), k + 1), |(y, k)| +/(y) > 3000, n)
pub fn turned(x: i32[60], y: i32[60], n: i32) -> (i32[60], i32[60], i32) =
    iterate_until((x, y, 0), |(a, b, k)| (b, sort(a + 1), k + 1), |(a, b, k)| max/(b) + k > 60, n)
pub fn here(x: i32[40, 40], n: i32) -> i32[40, 40] = {
    iterate_until(x, |a| { let mut b = a; b[3] = sort(b[3]) + b[4] + 1; b[4] = sort(b[4] - b[3]); b }, |a| max/(a[3]) > 900, n)
}
pub fn fails(x: i32[80], n: i32, d: i32) -> (i32[80], i32) =
    iterate_until((x, d), |(y, k)| (sort(y / k + sort(y)), k - 1), |(y, k)| max/(y) < 0, n)
pub fn nested(x: i32[60], n: i32) -> i32[60] =
    iterate(n, x, |z| iterate_until(z, |y| sort(flip(sort(y), 0) - 1), |y| max/(y) % 5 == 0, 30) * 2)
pub fn after(x: i32[60], n: i32) -> i32[60] = sort(flip(iterate_until(x, |y| sort(flip(sort(y), 0) - 7), |y| max/(y) < 3, n), 0) * 3)
`

// TestLoopsThere: a loop that the device ends gives what the interpreter gives, with no more stops than its length has
// digits, whatever the driver can do.
func TestLoopsThere(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	judge, err := Compile(endless, Options{Backend: Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	ways := map[string]func(l *cudatest.Library, d *memory.Device){
		"conditional nodes": func(l *cudatest.Library, d *memory.Device) {},
		"graphs":            func(l *cudatest.Library, d *memory.Device) { l.Version = 12030 },
		"refused":           func(l *cudatest.Library, d *memory.Device) { l.Fail("cuGraphAddNode_v2", 801) },
		"launches":          func(l *cudatest.Library, d *memory.Device) { d.UseGraphs(false) },
	}
	for name, prepare := range ways {
		t.Run(name, func(t *testing.T) {
			simulated, err := (&sim.Driver{}).Open(0)
			if err != nil {
				t.Fatal(err)
			}
			l := &cudatest.Library{Devices: []device.Device{simulated}}
			if name == "graphs" {
				prepare(l, nil)
			}
			driver, err := cuda.OpenSymbols("libtest", l.Symbol)
			if err != nil {
				t.Fatal(err)
			}
			opened, err := driver.Open(0)
			if err != nil {
				t.Fatal(err)
			}
			d := memory.NewDevice(opened)
			if name != "graphs" {
				prepare(l, d)
			}
			testEndless(t, judge, Options{Backend: GPU, Device: d})
			if loops := l.Calls("cuStreamBeginCaptureToGraph"); (loops > 0) != (name == "conditional nodes") {
				t.Errorf("%d loops were made", loops)
			}
			if graphs := l.Calls("cuGraphLaunch"); (graphs > 0) != (name != "launches") {
				t.Errorf("%d graphs were launched", graphs)
			}
			if d.LiveBytes() != 0 {
				t.Errorf("%d bytes of the device are not given back", d.LiveBytes())
			}
			// 200 steps, and the host asks for them after 2, 6, 14, ... 254.
			m, err := Compile(endless, Options{Backend: GPU, Device: d})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f, _ := m.Func("decay")
			before := l.Calls("cuStreamSynchronize")
			y, err := f.Call(context.Background(), vector[float32](80, 1e38), tensor.Scalar(int32(200)))
			if err != nil {
				t.Fatal(err)
			}
			y.Close()
			if n := l.Calls("cuStreamSynchronize") - before; n > 16 {
				t.Errorf("the host waited %d times for a loop", n)
			}
		})
	}
	t.Run("ptxsim", func(t *testing.T) { testEndless(t, judge, Options{Backend: PTXSim}) })
}

// vector is 0, s, 2s, ... in another order.
func vector[T int32 | float32](n int, scale T) *tensor.Tensor {
	v := make([]T, n)
	for i := range v {
		v[i] = T(i*7919%n) * scale / T(n)
	}
	return tensor.FromSlice(v)
}

func testEndless(t *testing.T, judge *Module, opts Options) {
	t.Helper()
	m, err := Compile(endless, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	small := func(v ...int32) (out []*tensor.Tensor) {
		for _, n := range v {
			out = append(out, tensor.Scalar(n))
		}
		return out
	}
	square, err := vector[int32](1600, 1600).Reshape(40, 40)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []*tensor.Tensor
		last [][]int32
	}{
		{"decay", []*tensor.Tensor{vector[float32](80, 1e6)}, [][]int32{{-1}, {0}, {1}, {2}, {7}, {60}}},
		{"counted", []*tensor.Tensor{vector[int32](70, 7)}, [][]int32{{1}, {5}, {100}}},
		{"turned", []*tensor.Tensor{vector[int32](60, 20), vector[int32](60, 5)}, [][]int32{{1}, {2}, {3}, {100}}},
		{"here", []*tensor.Tensor{square}, [][]int32{{1}, {4}, {40}}},
		{"fails", []*tensor.Tensor{vector[int32](80, 900)}, [][]int32{{20, 0}, {20, 2}, {20, 9}, {3, 3}}},
		{"nested", []*tensor.Tensor{vector[int32](60, 77)}, [][]int32{{1}, {3}}},
		{"after", []*tensor.Tensor{vector[int32](60, 500)}, [][]int32{{3}, {100}}},
	} {
		for _, last := range c.last {
			args := append(slices.Clone(c.args), small(last...)...)
			want, failed := callFunc(judge, c.name, args)
			for range 2 {
				got, err := callFunc(m, c.name, args)
				if !sameFailure(err, failed) {
					t.Fatalf("%s %v: %v, the interpreter says %v", c.name, last, err, failed)
				}
				if failed == nil && !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("%s %v: %v, want %v", c.name, last, got[0][:5], want[0][:5])
				}
			}
		}
	}
}

// sameFailure reports whether both are no error, or one of the program with the same message and position.
func sameFailure(err, want error) bool {
	var a, b *runtime.RuntimeError
	if errors.As(err, &a) && errors.As(want, &b) {
		return a.Message == b.Message && a.Site.Line == b.Site.Line && a.Site.Col == b.Site.Col
	}
	return err == nil && want == nil
}

// callFunc are the bits of the results of a function.
func callFunc(m *Module, name string, args []*tensor.Tensor) ([][]uint64, error) {
	f, err := m.Func(name)
	if err != nil {
		return nil, err
	}
	results, err := f.CallAll(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	var out [][]uint64
	for _, r := range results {
		out = append(out, slices.Clone(r.Bits()))
		r.Close()
	}
	return out, nil
}

// TestLoopCancelled: a loop without an end stops when its context does.
func TestLoopCancelled(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	gpu, _ := fakeGPU(t)
	m,
		err := Compile(
		`pub fn f(x: i32[60]) -> i32[60] = iterate_until(x, |y| sort(flip(sort(y), 0)), |y| max/(y) < 0, 1000000000)`,
		Options{Backend: GPU, Device: gpu})
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Call(ctx, vector[int32](60, 100)); !errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "BUG") {
		t.Errorf("the loop says %v", err)
	}
	if m.Close(); gpu.LiveBytes() != 0 {
		t.Errorf("%d bytes of the device are not given back", gpu.LiveBytes())
	}
}
