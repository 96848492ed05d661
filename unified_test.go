package heal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/device"
	"healc/runtime/device/sim"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

const unified = `
pub fn twice[N](x: f32[N] on unified) -> f32[N] on unified = x * 2.0
pub fn shared[N](x: f32[N] on unified) -> f32[N] = to_host(x) + 1.0
pub fn calls[N](x: f32[N]) -> f32[N] = shared(to_unified(x)) + x
pub fn across[N](x: f32[N] on unified, y: f32[N] on device) -> (f32[N] on device, f32[N] on unified, f32[N] on unified, f32[N]) =
    (to_device(x), to_unified(y), x, to_host(flip(y, 0)))
pub fn change[N](x: &mut f32[N] on unified, by: f32) -> f32[N] on unified = { x = x + by; x }
pub fn rows[M, N](x: f32[M, N] in col_major on unified) -> f32[N] on unified = +/[axis=0](x)
pub fn constant() -> f32[3] on unified = [1.0, 2.0, 3.0]
pub fn scalar(x: f32[4] on unified) -> f32 = +/(x)
`

// TestUnified: what is declared to be in unified memory is there, the host reads and writes it there, and nothing else
// is there.
func TestUnified(t *testing.T) {
	onDevices(t, unified, func(t *testing.T, m *Module, _ *strings.Builder) {
		ctx, d := context.Background(), m.Device()
		x := tensor.FromSlice([]float32{1, 2, 3, 4})
		defer x.Close()
		u, err := x.ToUnified(d)
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		on, err := x.ToDevice(d)
		if err != nil {
			t.Fatal(err)
		}
		defer on.Close()
		// The elements as the host sees them, without a copy where it can.
		values := func(y *tensor.Tensor) []float32 {
			if y.Place() == types.OnDevice {
				h, err := y.ToHost()
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close()
				y = h
			}
			var out []float32
			dense, err := y.Contiguous()
			if err != nil {
				t.Fatal(err)
			}
			defer dense.Close()
			v, err := tensor.Slice[float32](dense)
			if err != nil {
				t.Fatal(err)
			}
			return append(out, v...)
		}
		want := func(what string, y *tensor.Tensor, at types.Place, v ...float32) {
			t.Helper()
			if y.Place() != at || (y.Device() == d) != (at != types.OnHost) || !slices.Equal(values(y), v) {
				t.Errorf("%s: %v on %s, want %v on %s", what, values(y), y.Place(), v, at)
			}
		}
		want("the argument", u, types.OnUnified, 1, 2, 3, 4)
		y := callOne(t, m, "twice", u)
		want("twice", y, types.OnUnified, 2, 4, 6, 8)
		want("twice of it", callOne(t, m, "twice", y), types.OnUnified, 4, 8, 12, 16)
		want("shared", callOne(t, m, "shared", u), types.OnHost, 2, 3, 4, 5)
		want("calls", callOne(t, m, "calls", x), types.OnHost, 3, 5, 7, 9)
		want("constant", callOne(t, m, "constant"), types.OnUnified, 1, 2, 3)
		want("scalar", callOne(t, m, "scalar", u), types.OnHost, 10)

		// The host writes, and the program sees it; the program changes it, and the host sees that.
		v, err := tensor.Slice[float32](u)
		if err != nil {
			t.Fatal(err)
		}
		v[1] = 20
		by := tensor.Scalar(float32(10))
		defer by.Close()
		want("after the host wrote", callOne(t, m, "twice", u), types.OnUnified, 2, 40, 6, 8)
		want("change", callOne(t, m, "change", u, by), types.OnUnified, 11, 30, 13, 14)
		if !slices.Equal(v, []float32{11, 30, 13, 14}) {
			t.Errorf("the host sees %v", v)
		}
		var text strings.Builder
		if err := tensor.Format(&text, u); err != nil || !slices.Equal(u.Bits(), tensor.FromSlice(v).Bits()) {
			t.Errorf("the tensor is %s, %v", text.String(), err)
		}
		part, err := u.Slice(tensor.Range{Start: 1, Stop: 4, Step: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer part.Close()
		want("twice of a part", callOne(t, m, "twice", part), types.OnUnified, 60, 26, 28)

		f, err := m.Func("across")
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.CallAll(ctx, u, on)
		if err != nil {
			t.Fatal(err)
		}
		want("to_device", out[0], types.OnDevice, 11, 30, 13, 14)
		want("to_unified", out[1], types.OnUnified, 1, 2, 3, 4)
		want("as it is", out[2], types.OnUnified, 11, 30, 13, 14)
		want("the flipped", out[3], types.OnHost, 4, 3, 2, 1)
		for _, r := range out {
			r.Close()
		}

		// Conversions between the three, and copies in all directions.
		for _, to := range []func(*tensor.Tensor) (*tensor.Tensor, error){
			func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.ToHost() },
			func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.ToDevice(d) },
			func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.ToUnified(d) },
			func(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Clone() },
		} {
			for _, from := range []*tensor.Tensor{x, on, u, part} {
				c, err := to(from)
				if err != nil {
					t.Fatal(err)
				}
				want("a copy", c, c.Place(), values(from)...)
				for _, other := range []func() (*tensor.Tensor, error){
					func() (*tensor.Tensor, error) { return tensor.New(types.F32, from.Shape...) },
					func() (*tensor.Tensor, error) { return tensor.NewOn(d, types.F32, from.Shape...) },
					func() (*tensor.Tensor, error) { return tensor.NewUnified(d, types.F32, from.Shape...) },
				} {
					o, err := other()
					if err != nil {
						t.Fatal(err)
					}
					if err := c.CopyTo(o); err != nil {
						t.Error(err)
					}
					want("a copy into", o, o.Place(), values(from)...)
					o.Close()
				}
				c.Close()
			}
		}
		grid := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		defer grid.Close()
		cols, err := grid.ColumnMajor()
		if err != nil {
			t.Fatal(err)
		}
		defer cols.Close()
		there, err := cols.ToUnified(d)
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		turned, err := there.ColumnMajor()
		if err != nil {
			t.Fatal(err)
		}
		defer turned.Close()
		want("rows", callOne(t, m, "rows", turned), types.OnUnified, 5, 7, 9)
		empty, err := tensor.NewUnified(d, types.F32, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer empty.Close()
		want("nothing", callOne(t, m, "twice", empty), types.OnUnified)

		// Places for results, and the errors of what is elsewhere.
		twice, _ := m.Func("twice")
		room, err := tensor.NewUnified(d, types.F32, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer room.Close()
		if err := twice.CallInto(ctx, []*tensor.Tensor{room}, u); err != nil {
			t.Error(err)
		}
		want("into", room, types.OnUnified, 22, 60, 26, 28)
		var bad *ArgumentError
		for message, err := range map[string]error{
			"argument `x` is on the host, and is declared `on unified`; ToUnified": twice.CallInto(ctx,
				[]*tensor.Tensor{room}, x),
			"argument `x` is on a device, and is declared `on unified`; ToUnified": twice.CallInto(ctx,
				[]*tensor.Tensor{room}, on),
			"result 0 is on a device, and is declared `on unified`; ToUnified": twice.CallInto(ctx,
				[]*tensor.Tensor{on}, u),
			"argument `y` is in unified memory, and is declared `on device`; ToDevice": func() error {
				_, err := f.CallAll(ctx, u, u)
				return err
			}(),
		} {
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), message) {
				t.Errorf("want %q: %v", message, err)
			}
		}
	})
}

// TestNoUnified: where the host and the device do not share memory, what needs it is refused, and says so.
func TestNoUnified(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	d, l := behindDriver(t, &sim.Driver{Unmanaged: true})
	m, err := Compile(unified, Options{Backend: GPU, Device: d})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x := tensor.FromSlice([]float32{1, 2})
	var none *memory.NoUnifiedError
	if _, err := x.ToUnified(d); !errors.As(err, &none) || !strings.Contains(err.Error(),
		"PTX simulator has no unified memory") || !strings.Contains(err.Error(), "use `on device`") {
		t.Errorf("a tensor: %v", err)
	}
	f, _ := m.Func("calls")
	var failed *runtime.RuntimeError
	if _, err := f.Call(context.Background(), x); !errors.As(err, &failed) || failed.Site.Line != 4 ||
		!strings.Contains(err.Error(), "`on unified`: PTX simulator has no unified memory") {
		t.Errorf("a program: %v", err)
	}
	if l.Calls("cuMemAllocManaged") != 0 {
		t.Error("managed memory is asked for")
	}
}

// TestPlainMemory: no managed memory is used by programs that do not ask for it.
func TestPlainMemory(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	gpu, l := fakeGPU(t)
	m, err := Compile(`pub fn f[N](x: f32[N] on device, y: f32[N]) -> f32[N] = sort(to_host(x) + y)`,
		Options{Backend: GPU, Device: gpu})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x := tensor.FromSlice([]float32{3, 1})
	on, err := x.ToDevice(gpu)
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close()
	callOne(t, m, "f", on, x)
	if l.Calls("cuMemAllocManaged") != 0 || l.Calls("cuMemAlloc_v2") == 0 {
		t.Error("managed memory is used")
	}
	// Out of memory names both sizes, for managed memory as well.
	var full *device.OutOfMemoryError
	if _, err := tensor.NewUnified(gpu, types.F64, 1<<30); !errors.As(err, &full) || full.Bytes != 8<<30 ||
		!strings.Contains(err.Error(), "available are") {
		t.Errorf("8 GiB: %v", err)
	}
}
