package heal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/runtime"
	"healc/runtime/device"
	"healc/runtime/device/cuda"
	"healc/runtime/device/cuda/cudatest"
	"healc/runtime/device/sim"
)

// fakeGPU is a device behind the binding to the driver, with a libcuda of callbacks that runs kernels on a simulator. Memory
// of it is pooled and lies in one arena, as on a real device.
func fakeGPU(t *testing.T) (*runtime.Device, *cudatest.Library) {
	t.Helper()
	simulated, err := (&sim.Driver{}).Open(0)
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
	return runtime.NewDevice(d), l
}

// onDevices compiles src for a simulated device, and for one behind the driver's binding.
func onDevices(t *testing.T, src string, test func(t *testing.T, m *Module, out *strings.Builder)) {
	t.Helper()
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	gpu, _ := fakeGPU(t)
	for name, opts := range map[string]Options{"ptxsim": {Backend: PTXSim}, "driver": {Backend: GPU, Device: gpu}} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			opts.System = runtime.OS{Out: &out}
			m, err := Compile(src, opts)
			if err != nil {
				t.Fatal(err)
			}
			before := m.Device().LiveBytes()
			test(t, m, &out)
			m.Close()
			if after := m.Device().LiveBytes(); after != before {
				t.Errorf("%d bytes of the device are not given back", after-before)
			}
		})
	}
}

func callOne(t *testing.T, m *Module, name string, args ...*runtime.Tensor) *runtime.Tensor {
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
		x := runtime.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		defer x.Close()
		want := []float32{3, 5, 7, 9, 11, 13}
		for range 3 { // the same memory again
			got, err := runtime.Slice[float32](callOne(t, m, "scaled", x))
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
		got, err := runtime.Slice[float32](callOne(t, m, "scaled", xt))
		if err != nil || !slices.Equal(got, []float32{3, 9, 5, 11, 7, 13}) {
			t.Errorf("scaled of a transposed tensor: %v, %v", got, err)
		}
		back, err := x.Slice(runtime.Reversed, runtime.Range{Start: 2, Stop: runtime.End, Step: -2})
		if err != nil {
			t.Fatal(err)
		}
		defer back.Close()
		got, err = runtime.Slice[float32](callOne(t, m, "scaled", back))
		if err != nil || !slices.Equal(got, []float32{13, 9, 7, 3}) {
			t.Errorf("scaled of a reversed tensor: %v, %v", got, err)
		}
		empty := runtime.FromSlice([]float32{}, 0, 3)
		defer empty.Close()
		if y := callOne(t, m, "scaled", empty); y.Elems() != 0 || !slices.Equal(y.Shape, []int64{0, 3}) {
			t.Errorf("scaled of nothing is %v", y)
		}

		ints := runtime.FromSlice([]int32{10, 20, 30})
		defer ints.Close()
		if y := callOne(t, m, "flipped", ints); !slices.Equal(y.Bits(), []uint64{30, 20, 10}) || y.Device() != nil {
			t.Errorf("flipped: %v", y.Bits())
		}
		two, seven := runtime.Scalar(int32(2)), runtime.Scalar(int32(7))
		defer two.Close()
		defer seven.Close()
		if y := callOne(t, m, "at", ints, two); y.Bits()[0] != 30 {
			t.Errorf("at 2: %v", y.Bits())
		}
		f, _ := m.Func("at")
		_, err = f.Call(context.Background(), ints, seven)
		var failed *runtime.RuntimeError
		if !errors.As(err, &failed) || failed.Site.Line != 4 || !strings.Contains(err.Error(), "index 7 is out of range for an axis of extent 3") {
			t.Errorf("at 7: %v", err)
		}
		if y := callOne(t, m, "at", ints, two); y.Bits()[0] != 30 {
			t.Error("after a failure a call gives something else")
		}

		// What is printed before a failure is printed, and nothing after it.
		if y := callOne(t, m, "talk", ints, two); y.Bits()[0] != 10 || out.String() != "[20 40 60]\nthen30\n" && out.String() != "[20 40 60]\nthen\n30\n" {
			t.Errorf("talk: %v, printed %q", y.Bits(), out)
		}
		out.Reset()
		talk, _ := m.Func("talk")
		if _, err = talk.Call(context.Background(), ints, seven); !errors.As(err, &failed) || strings.Contains(out.String(), "30") || !strings.Contains(out.String(), "[20 40 60]") {
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
			x     *runtime.Tensor
		}{
			{"u8", runtime.FromSlice([]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2)},
			{"i16", runtime.FromSlice([]int16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12}, 2, 3, 2)},
			{"f32", runtime.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2)},
			{"f64", runtime.FromSlice([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3, 2)},
		} {
			x := c.x
			on, err := x.ToDevice(d)
			if err != nil {
				t.Fatal(err)
			}
			if on.Device() != d || on.Ptr() != nil || on.DeviceAddr() == 0 || on.Bits() != nil {
				t.Errorf("%s: a tensor on the device can be read", c.dtype)
			}
			if _, err := on.At(0, 0, 0); !errors.Is(err, runtime.ErrOnDevice) {
				t.Errorf("%s: At: %v", c.dtype, err)
			}
			if err := runtime.Format(&strings.Builder{}, on); !errors.Is(err, runtime.ErrOnDevice) {
				t.Errorf("%s: Format: %v", c.dtype, err)
			}
			view := func(x *runtime.Tensor) *runtime.Tensor {
				y, err := x.MoveAxis(2, 0)
				if err != nil {
					t.Fatal(err)
				}
				z, err := y.Slice(runtime.All, runtime.Reversed, runtime.Range{Start: 0, Stop: 3, Step: 2})
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
			flip := func(x *runtime.Tensor) *runtime.Tensor {
				y, err := x.Slice(runtime.Reversed)
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
			for _, y := range []*runtime.Tensor{x, on, vh, vd, host, clone, cloned, fh, fd, all} {
				y.Close()
			}
			if err := on.CopyTo(x); !errors.Is(err, runtime.ErrClosed) {
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
