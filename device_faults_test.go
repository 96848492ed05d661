package heal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/runtime/device"
	"healc/runtime/device/cuda"
	"healc/runtime/device/cuda/cudatest"
	"healc/runtime/device/sim"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// TestFaults: whatever function of the driver fails, at the first use of a device and later, the program stops with an
// error that names it and says what it means; what is not lost works again afterwards, and a device that is lost says
// so from then on.
func TestFaults(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	const src = `pub fn f(x: i32[20], y: f32[20, 50] on device, u: f32[50] on unified, n: i32) -> (i32[20], f32[20, 50] on device, f32[50] on unified, f32) = {
    let a = iterate_until(x, |v| sort(flip(sort(v), 0) - 1), |v| max/(v) < 80, n);
    let b = iterate(n, to_host(y), |v| v ./ (1.0 + max/(v)));
    (a, to_device(transpose(transpose(b) .+ 1.0)), u * 2.0, +/(b))
}`
	simulated, err := (&sim.Driver{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	l := &cudatest.Library{Devices: []device.Device{simulated}}
	cache := &Cache{Dir: t.TempDir()}
	type use struct {
		d *memory.Device
		m *Module
	}
	begin := func() (u use, err error) {
		driver, err := cuda.OpenSymbols("libtest", l.Symbol)
		if err != nil {
			return u, err
		}
		dev, err := driver.Open(0)
		if err != nil {
			return u, err
		}
		u.d = memory.NewDevice(dev)
		u.m, err = Compile(src, Options{Backend: GPU, Device: u.d, Cache: cache})
		return u, err
	}
	run := func(u use) (bits [][]uint64, err error) {
		y, err := mustGrid(t).ToDevice(u.d)
		if err != nil {
			return nil, err
		}
		defer y.Close()
		unified, err := vector[float32](50, 5).ToUnified(u.d)
		if err != nil {
			return nil, err
		}
		defer unified.Close()
		f, err := u.m.Func("f")
		if err != nil {
			return nil, err
		}
		// Of a context that can end, waits ask the driver; the others, for tensors, leave that to it.
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		out, err := f.CallAll(ctx, vector[int32](20, 100), y, unified, tensor.Scalar(int32(50)))
		if err != nil {
			return nil, err
		}
		for _, r := range out {
			h, herr := r.ToHost()
			if herr != nil {
				err = herr
			} else {
				bits = append(bits, slices.Clone(h.Bits()))
				h.Close()
			}
			r.Close()
		}
		return bits, err
	}
	end := func(u use) {
		if u.m != nil {
			u.m.Close()
		}
	}
	clean, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	want, err := run(clean)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(clean); err != nil {
		t.Fatal(err)
	}
	end(clean)

	// Without these a program does something else, or is done.
	tolerated := map[string]bool{
		// other loops
		"cuGraphCreate": true, "cuGraphConditionalHandleCreate": true, "cuGraphAddNode_v2": true,
		"cuStreamBeginCaptureToGraph": true,
		"cuGraphInstantiateWithFlags": true, "cuStreamEndCapture": true,
		"cuGraphDestroy": true, "cuGraphExecDestroy": true, "cuModuleUnload": true, "cuMemFree_v2": true,
		"cuStreamDestroy_v2": true, "cuMemFreeHost": true,
	}
	const memory, unsupported, lost = 2, 801, 700
	failed := 0
	for _, name := range l.Called() {
		for _, code := range []int32{memory, unsupported, lost} {
			if code == memory != strings.HasPrefix(name, "cuMem") && code != lost || testing.Short() &&
				code == unsupported {
				continue
			}
			for _, warm := range []bool{false, true} {
				u, err := use{}, error(nil)
				before := 0
				if warm {
					if u, err = begin(); err == nil {
						_, err = run(u)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				before = l.Calls(name)
				l.Fail(name, code)
				if !warm {
					u, err = begin()
				}
				var got [][]uint64
				if err == nil {
					got, err = run(u)
				}
				if l.Calls(name) == before { // not used in a call
					l.Unfail()
					end(u)
					continue
				}
				failed++
				what := name + " fails"
				var e *device.Error
				var full *device.OutOfMemoryError
				var missing *device.MissingError
				switch {
				// which is asked again
				case err == nil && !tolerated[name] && !(code == memory && strings.HasPrefix(name, "cuMemAlloc")):
					t.Errorf("%s with %d, warm %t, and nobody says so", what, code, warm)
				case err == nil && !slices.EqualFunc(got, want, slices.Equal):
					t.Errorf("%s with %d, warm %t: other results", what, code, warm)
				case err == nil || errors.As(err, &missing):
				case errors.As(err, &full):
					if code != memory || !strings.Contains(err.Error(), "available are") {
						t.Errorf("%s with %d: %v", what, code, err)
					}
				case !errors.As(err, &e) || e.Call != name || e.Code != int(code) || e.Text == "" ||
					e.Lost != (code == lost):
					t.Errorf("%s with %d, warm %t: %v", what, code, warm, err)
				}
				if u.m == nil {
					continue
				}
				got, again := run(u)
				switch {
				case e != nil && e.Lost:
					var e2 *device.Error
					if !errors.As(again, &e2) || !e2.Lost || e2.Call != name {
						t.Errorf("%s with %d: after the device was lost: %v", what, code, again)
					}
				// by what tells nobody
				case code == lost && again != nil && strings.Contains(again.Error(), "the device is lost"):
				case again != nil || !slices.EqualFunc(got, want, slices.Equal):
					t.Errorf("%s with %d, warm %t: the next run says %v", what, code, warm, again)
				}
				end(u)
				if n := u.d.LiveBytes(); n != 0 {
					t.Errorf("%s with %d, warm %t: %d bytes of the device are not given back", what, code, warm, n)
				}
			}
		}
	}
	// Memory that is not there when it is asked for a second time, after all that was kept went back.
	u, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cuMemAlloc_v2", "cuMemAllocManaged"} {
		l.Fail(name, memory, memory)
		var full *device.OutOfMemoryError
		if _, err := run(u); !errors.As(err, &full) || full.Bytes == 0 || full.Available < 1<<20 ||
			!strings.Contains(err.Error(), "out of memory on PTX simulator: asked for") {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := run(u); err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("after %s: %v", name, err)
		}
	}
	end(u)
	if failed < 40 {
		t.Errorf("only %d failures were tried", failed)
	}
	t.Logf("%d failures", failed)
}

func mustGrid(t *testing.T) *tensor.Tensor {
	g, err := vector[float32](1000, 7).Reshape(20, 50)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
