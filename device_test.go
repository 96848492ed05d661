package heal

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/runtime"
	"healc/runtime/device"
	"healc/runtime/device/cuda"
	"healc/runtime/device/cuda/cudatest"
	"healc/runtime/device/sim"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// fakeGPU is a device behind the binding to the driver, with a libcuda of callbacks that runs kernels on a simulator.
// Memory of it is pooled and lies in one arena, as on a real device.
func fakeGPU(t *testing.T) (*memory.Device, *cudatest.Library) {
	t.Helper()
	return behindDriver(t, &sim.Driver{})
}

// behindDriver is fakeGPU with a simulator of its own.
func behindDriver(t *testing.T, s *sim.Driver) (*memory.Device, *cudatest.Library) {
	t.Helper()
	simulated, err := s.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	l := &cudatest.Library{Devices: []device.Device{simulated}}
	driver, err := cuda.OpenSymbols("libtest", l.Symbol)
	if err != nil {
		t.Fatal(err)
	}
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return memory.NewDevice(d), l
}

// onDevices compiles src for a simulated device, and for one behind the driver's binding.
func onDevices(t *testing.T, src string, test func(t *testing.T, m *Module, out *strings.Builder)) {
	t.Helper()
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	gpu, _ := fakeGPU(t)
	ways := map[string]Options{"ptxsim": {Backend: PTXSim}, "driver": {Backend: GPU, Device: gpu}}
	if os.Getenv("HEAL_TEST_DEVICE") == GPU {
		ways["gpu"] = Options{Backend: GPU}
	}
	for name, opts := range ways {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			opts.System = runtime.OS{Out: &out}
			m, err := Compile(src, opts)
			if err != nil {
				t.Fatal(err)
			}
			before := m.Device().LiveBytes()
			t.Run("calls", func(t *testing.T) { test(t, m, &out) }) // with its cleanups
			m.Close()
			if after := m.Device().LiveBytes(); after != before {
				t.Errorf("%d bytes of the device are not given back", after-before)
			}
		})
	}
}

func callOne(t *testing.T, m *Module, name string, args ...*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	f, err := m.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	y, err := f.Call(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(y.Close)
	return y
}

func TestProgramsOnDevices(t *testing.T) {
	src := `
pub fn scaled[M, N](x: f32[M, N]) -> f32[M, N] = x * 2.0 + 1.0
pub fn flipped[N](x: i32[N]) -> i32[N] = flip(x, 0)
pub fn at[N](x: i32[N], i: i32) -> i32 = x[i]
pub fn sums[N](x: f64[N]) -> (f64, f64) = (+/ x, max/ x)
@io pub fn talk[N](x: i32[N], i: i32) -> i32 = { print(x * 2); print("then"); print(x[i]); x[0] }
`
	onDevices(t, src, func(t *testing.T, m *Module, out *strings.Builder) {
		x := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		defer x.Close()
		want := []float32{3, 5, 7, 9, 11, 13}
		for range 3 { // the same memory again
			got, err := tensor.Slice[float32](callOne(t, m, "scaled", x))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("scaled: %v, %v", got, err)
			}
		}
		// Strides, reversed and with gaps.
		xt, err := x.Transpose()
		if err != nil {
			t.Fatal(err)
		}
		defer xt.Close()
		got, err := tensor.Slice[float32](callOne(t, m, "scaled", xt))
		if err != nil || !slices.Equal(got, []float32{3, 9, 5, 11, 7, 13}) {
			t.Errorf("scaled of a transposed tensor: %v, %v", got, err)
		}
		back, err := x.Slice(tensor.Reversed, tensor.Range{Start: 2, Stop: tensor.End, Step: -2})
		if err != nil {
			t.Fatal(err)
		}
		defer back.Close()
		got, err = tensor.Slice[float32](callOne(t, m, "scaled", back))
		if err != nil || !slices.Equal(got, []float32{13, 9, 7, 3}) {
			t.Errorf("scaled of a reversed tensor: %v, %v", got, err)
		}
		empty := tensor.FromSlice([]float32{}, 0, 3)
		defer empty.Close()
		if y := callOne(t, m, "scaled", empty); y.Elems() != 0 || !slices.Equal(y.Shape, []int64{0, 3}) {
			t.Errorf("scaled of nothing is %v", y)
		}

		ints := tensor.FromSlice([]int32{10, 20, 30})
		defer ints.Close()
		if y := callOne(t, m, "flipped", ints); !slices.Equal(y.Bits(), []uint64{30, 20, 10}) || y.Device() != nil {
			t.Errorf("flipped: %v", y.Bits())
		}
		many := make([]int32, 50000)
		for i := range many {
			many[i] = int32(i)
		}
		big := tensor.FromSlice(many, 50, 1000)
		defer big.Close()
		column, err := big.Index(1, 999) // few of the bytes that it is spread over
		if err != nil {
			t.Fatal(err)
		}
		defer column.Close()
		if y := callOne(t, m, "flipped", column); y.Elems() != 50 || y.Bits()[0] != 49999 || y.Bits()[49] != 999 {
			t.Errorf("a flipped column: %v", y.Bits())
		}
		two, seven := tensor.Scalar(int32(2)), tensor.Scalar(int32(7))
		defer two.Close()
		defer seven.Close()
		if y := callOne(t, m, "at", ints, two); y.Bits()[0] != 30 {
			t.Errorf("at 2: %v", y.Bits())
		}
		if y := callOne(t, m, "at", column, two); y.Bits()[0] != 2999 {
			t.Errorf("at 2 of the column: %v", y.Bits())
		}
		f, _ := m.Func("at")
		_, err = f.Call(context.Background(), ints, seven)
		var failed *runtime.RuntimeError
		if !errors.As(err, &failed) || failed.Site.Line != 4 ||
			!strings.Contains(err.Error(), "index 7 is out of range for an axis of extent 3") {
			t.Errorf("at 7: %v", err)
		}
		if y := callOne(t, m, "at", ints, two); y.Bits()[0] != 30 {
			t.Error("after a failure a call gives something else")
		}

		// What is printed before a failure is printed, and nothing after it.
		if y := callOne(t, m, "talk", ints, two); y.Bits()[0] != 10 || out.String() != "[20 40 60]\nthen30\n" &&
			out.String() != "[20 40 60]\nthen\n30\n" {
			t.Errorf("talk: %v, printed %q", y.Bits(), out)
		}
		out.Reset()
		talk, _ := m.Func("talk")
		if _, err = talk.Call(context.Background(), ints, seven); !errors.As(err, &failed) ||
			strings.Contains(out.String(), "30") || !strings.Contains(out.String(), "[20 40 60]") {
			t.Errorf("talk 7: %v, printed %q", err, out)
		}
	})
}

// TestTensorsOnDevices: copies there and back, views, copies within, errors where the host would read.
func TestTensorsOnDevices(t *testing.T) {
	onDevices(t, "pub fn id(x: f32) -> f32 = x", func(t *testing.T, m *Module, _ *strings.Builder) {
		d := m.Device()
		for _, c := range []struct {
			dtype any
			x     *tensor.Tensor
		}{
			{"u8", tensor.FromSlice([]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2)},
			{"i16", tensor.FromSlice([]int16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12}, 2, 3, 2)},
			{"f32", tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2)},
			{"f64", tensor.FromSlice([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2)},
		} {
			x := c.x
			on, err := x.ToDevice(d)
			if err != nil {
				t.Fatal(err)
			}
			if on.Device() != d || on.Ptr() != nil || on.DeviceAddr() == 0 || on.Bits() != nil {
				t.Errorf("%s: a tensor on the device can be read", c.dtype)
			}
			if _, err := on.At(0, 0, 0); !errors.Is(err, tensor.ErrOnDevice) {
				t.Errorf("%s: At: %v", c.dtype, err)
			}
			if err := tensor.Format(&strings.Builder{}, on); !errors.Is(err, tensor.ErrOnDevice) {
				t.Errorf("%s: Format: %v", c.dtype, err)
			}
			view := func(x *tensor.Tensor) *tensor.Tensor {
				y, err := x.MoveAxis(2, 0)
				if err != nil {
					t.Fatal(err)
				}
				z, err := y.Slice(tensor.All, tensor.Reversed, tensor.Range{Start: 0, Stop: 3, Step: 2})
				if err != nil {
					t.Fatal(err)
				}
				y.Close()
				return z
			}
			vh, vd := view(x), view(on)
			host, err := vd.ToHost()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(host.Bits(), vh.Bits()) || host.Device() != nil {
				t.Errorf("%s: a view came back as %v, not %v", c.dtype, host.Bits(), vh.Bits())
			}
			clone, err := vd.Clone()
			if err != nil {
				t.Fatal(err)
			}
			cloned, err := clone.ToHost()
			if err != nil || clone.Device() != d || !clone.IsContiguous() || !slices.Equal(cloned.Bits(), vh.Bits()) {
				t.Errorf("%s: a clone: %v, %v", c.dtype, cloned.Bits(), err)
			}
			// From the host into a view on the device, and from one view to another that shares its memory.
			if err := vh.CopyTo(vd); err != nil {
				t.Error(err)
			}
			flip := func(x *tensor.Tensor) *tensor.Tensor {
				y, err := x.Slice(tensor.Reversed)
				if err != nil {
					t.Fatal(err)
				}
				return y
			}
			fh, fd := flip(x), flip(on)
			if err := errors.Join(x.CopyTo(fh), on.CopyTo(fd)); err != nil {
				t.Error(err)
			}
			all, err := on.ToHost()
			if err != nil || !slices.Equal(all.Bits(), x.Bits()) {
				t.Errorf("%s: after copies within: %v, want %v, %v", c.dtype, all.Bits(), x.Bits(), err)
			}
			for _, y := range []*tensor.Tensor{x, on, vh, vd, host, clone, cloned, fh, fd, all} {
				y.Close()
			}
			if err := on.CopyTo(x); !errors.Is(err, tensor.ErrClosed) {
				t.Errorf("a closed tensor: %v", err)
			}
		}
	})
}

func TestNoDevice(t *testing.T) {
	if _, err := OpenDevice("cpu", 0); err == nil {
		t.Error("the CPU is a device")
	}
	var missing *device.MissingError
	if _, err := OpenDevice(PTXSim, 1); !errors.As(err, &missing) {
		t.Errorf("a second simulator: %v", err)
	}
	if a, err := OpenDevice(PTXSim, 0); err != nil {
		t.Error(err)
	} else if b, _ := OpenDevice(PTXSim, 0); a != b {
		t.Error("a device is opened twice")
	}
}

// TestPlaces: what is declared on the device is there before and after a call, and nothing else is.
func TestPlaces(t *testing.T) {
	src := `
pub fn twice[N](x: f32[N] on device) -> f32[N] on device = x * 2.0
pub fn both[N](x: f32[N] on device, y: f32[N]) -> (f32[N], f32[N] on device, f32) = (y + to_host(x), flip(x, 0), +/(y))
pub fn change[N](x: &mut f32[N] on device, by: f32) -> f32[N] on device = { x = x + by; x }
pub fn turned[M, N](x: f32[M, N] in col_major on device) -> f32[M, N] in col_major on device = x + 1.0
pub fn constant() -> f32[3] on device = [1.0, 2.0, 3.0]
`
	onDevices(t, src, func(t *testing.T, m *Module, _ *strings.Builder) {
		ctx, d := context.Background(), m.Device()
		one := func(name string) *Func {
			f, err := m.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		x := tensor.FromSlice([]float32{1, 2, 3})
		defer x.Close()
		on, err := x.ToDevice(d)
		if err != nil {
			t.Fatal(err)
		}
		defer on.Close()
		values := func(y *tensor.Tensor) []float32 {
			h, err := y.ToHost()
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			dense, err := h.Contiguous()
			if err != nil {
				t.Fatal(err)
			}
			defer dense.Close()
			v, err := tensor.Slice[float32](dense)
			if err != nil {
				t.Fatal(err)
			}
			return slices.Clone(v)
		}
		want := func(what string, y *tensor.Tensor, there bool, v ...float32) {
			t.Helper()
			if (y.Device() != nil) != there || !slices.Equal(values(y), v) {
				t.Errorf("%s: %v, on the device: %t", what, values(y), y.Device() != nil)
			}
		}
		y := callOne(t, m, "twice", on)
		want("twice", y, true, 2, 4, 6)
		want("twice of it", callOne(t, m, "twice", y), true, 4, 8, 12)
		part, err := on.Slice(tensor.Range{Start: 1, Stop: 3, Step: 1}) // not aligned to what kernels read at once
		if err != nil {
			t.Fatal(err)
		}
		defer part.Close()
		want("twice of a part", callOne(t, m, "twice", part), true, 4, 6)

		out, err := one("both").CallAll(ctx, on, x)
		if err != nil {
			t.Fatal(err)
		}
		want("the sum", out[0], false, 2, 4, 6)
		want("the flipped", out[1], true, 3, 2, 1)
		want("the total", out[2], false, 6)
		for _, r := range out {
			r.Close()
		}
		want("constant", callOne(t, m, "constant"), true, 1, 2, 3)

		by := tensor.Scalar(float32(10))
		defer by.Close()
		want("the changed one", callOne(t, m, "change", on, by), true, 11, 12, 13)
		want("the argument", on, true, 11, 12, 13)
		want("a changed part", callOne(t, m, "change", part, by), true, 22, 23)
		want("all of it", on, true, 11, 22, 23)

		grid := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		defer grid.Close()
		cols, err := grid.ColumnMajor()
		if err != nil {
			t.Fatal(err)
		}
		defer cols.Close()
		there, err := cols.ToDevice(d)
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		if _, err := one("turned").Call(ctx, there); err == nil || !strings.Contains(err.Error(), "col_major") {
			t.Errorf("a row-major argument: %v", err)
		}
		turned, err := there.ColumnMajor()
		if err != nil {
			t.Fatal(err)
		}
		defer turned.Close()
		if r := callOne(t, m, "turned", turned); !r.IsColumnMajor() || r.IsContiguous() {
			t.Errorf("the result has the strides %d", r.Strides)
		} else {
			want("turned", r, true, 2, 3, 4, 5, 6, 7)
		}

		// Places for results: where they are declared, and there only.
		room, err := tensor.NewOn(d, x.DType, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer room.Close()
		if err := one("twice").CallInto(ctx, []*tensor.Tensor{room}, on); err != nil {
			t.Error(err)
		}
		want("into", room, true, 22, 44, 46)

		var bad *ArgumentError
		for name, err := range map[string]error{
			"argument `x` is on the host, and is declared `on device`": one("twice").CallInto(ctx,
				[]*tensor.Tensor{room}, x),
			"the tensor for result 0 is on the host, and is declared `on device`": one("twice").CallInto(ctx,
				[]*tensor.Tensor{x}, on),
			"argument `y` is on a device, and is declared to be on the host": func() error {
				_, err := one("both").CallAll(ctx, on, on)
				return err
			}(),
			"argument `by` is on a device, and is declared to be on the host; (*Tensor).T": func() error {
				s, _ := by.ToDevice(d)
				defer s.Close()
				_, err := one("change").CallAll(ctx, on, s)
				return err
			}(),
		} {
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), name) {
				t.Errorf("want %q: %v", name, err)
			}
		}

		// The host does not read what is on a device.
		cpu, err := Compile("pub fn f[N](x: f32[N]) -> f32[N] = x + 1.0", Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer cpu.Close()
		f, _ := cpu.Func("f")
		if _, err := f.Call(ctx, on); !errors.As(err, &bad) || !strings.Contains(err.Error(), "the backend is cpu") {
			t.Errorf("on the CPU: %v", err)
		}
	})
}

// TestGraphs: many kernels in a row become a graph, in later calls and in loops, with the same results and errors.
func TestGraphs(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	// Sorting makes a kernel of its own each time; the loop's state is too large for one kernel.
	src := `
pub fn chain(x: i32[100] on device) -> i32[100] on device = sort(flip(sort(flip(sort(x * 3 - 7), 0) * 5), 0) - 1)
pub fn loop(x: i32[100] on device, n: i32) -> i32[100] on device = iterate(n, x, |y| sort(flip(sort(flip(sort(y * 3), 0) * 7), 0) - x))
pub fn fails(x: i32[100] on device, i: i32) -> i32[100] on device = sort(flip(sort(tabulate(100, |k| x[k + i])), 0) - sort(x + 1))
`
	gpu, l := fakeGPU(t)
	v := make([]int32, 100)
	for i := range v {
		v[i] = int32(i * 7919 % 101)
	}
	x, one := tensor.FromSlice(v), tensor.Scalar(int32(1))
	ctx := context.Background()
	for _, graphs := range []bool{false, true} {
		gpu.UseGraphs(graphs)
		before := l.Calls("cuGraphLaunch")
		m, err := Compile(src, Options{Backend: GPU, Device: gpu})
		if err != nil {
			t.Fatal(err)
		}
		judge, err := Compile(strings.ReplaceAll(src, " on device", ""), Options{Backend: Interp})
		if err != nil {
			t.Fatal(err)
		}
		on, err := x.ToDevice(gpu)
		if err != nil {
			t.Fatal(err)
		}
		for call := range 4 {
			for name, n := range map[string][]*tensor.Tensor{"chain": nil, "loop": {tensor.Scalar(int32(5 + call))}} {
				f, err := m.Func(name)
				if err != nil {
					t.Fatal(err)
				}
				y, err := f.Call(ctx, append([]*tensor.Tensor{on}, n...)...)
				if err != nil {
					t.Fatal(err)
				}
				h, err := y.ToHost()
				if err != nil {
					t.Fatal(err)
				}
				if want := callOne(t, judge, name, append([]*tensor.Tensor{x}, n...)...); !slices.Equal(h.Bits(),
					want.Bits()) {
					t.Errorf("%s, call %d, graphs %t: %v, want %v", name, call, graphs, h.Bits()[:5], want.Bits()[:5])
				}
				h.Close()
				y.Close()
			}
			f, err := m.Func("fails")
			if err != nil {
				t.Fatal(err)
			}
			var failed *runtime.RuntimeError
			if _, err := f.Call(ctx, on, one); !errors.As(err, &failed) || failed.Site.Line != 4 {
				t.Errorf("graphs %t: %v", graphs, err)
			}
		}
		if n := l.Calls("cuGraphLaunch") - before; graphs != (n > 8) {
			t.Errorf("with graphs %t, %d were started", graphs, n)
		}
		on.Close()
		m.Close()
		judge.Close()
		if gpu.LiveBytes() != 0 {
			t.Errorf("%d bytes of the device are not given back", gpu.LiveBytes())
		}
	}
}
