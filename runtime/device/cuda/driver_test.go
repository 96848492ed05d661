package cuda

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"healc/runtime/device"
	"healc/runtime/device/cuda/cudatest"
	"healc/runtime/device/sim"
)

// The tests call every function of the driver in a library of package cudatest, whose devices are simulators: what the
// binding passes has to arrive there.

// twice is a kernel that doubles n words: params out, in, n.
const twice = `
.version 6.0
.target sm_70
.address_size 64

.visible .entry twice(
	.param .u64 twice_param_0,
	.param .u64 twice_param_1,
	.param .u64 twice_param_2
)
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [twice_param_0];
	ld.param.u64 %rd2, [twice_param_1];
	ld.param.u64 %rd3, [twice_param_2];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.s32 %r4, %r1, %r2, %r3;
	cvt.u64.u32 %rd4, %r4;
	setp.ge.u64 %p1, %rd4, %rd3;
	@%p1 bra DONE;
	shl.b64 %rd5, %rd4, 2;
	add.s64 %rd6, %rd2, %rd5;
	ld.global.u32 %r5, [%rd6];
	add.s32 %r5, %r5, %r5;
	add.s64 %rd7, %rd1, %rd5;
	st.global.u32 [%rd7], %r5;
DONE:
	ret;
}
`

func fake(devices int) *cudatest.Library {
	l := &cudatest.Library{}
	for range devices {
		d, _ := (&sim.Driver{Memory: 1 << 30}).Open(0)
		l.Devices = append(l.Devices, d)
	}
	return l
}

func open1(t *testing.T, l *cudatest.Library) (*Driver, device.Device) {
	t.Helper()
	d, err := OpenSymbols("libtest", l.Symbol)
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return d, v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDriverDescribesDevices(t *testing.T) {
	l := fake(2)
	d, _ := open1(t, l)
	if v := d.Version(); v != "CUDA 12.4" {
		t.Errorf("the version is %s", v)
	}
	infos, err := d.Devices()
	check(t, err)
	want := l.Devices[0].Info()
	want.Checked = false
	if len(infos) != 2 || infos[1] != want {
		t.Errorf("devices: %+v, want two of %+v", infos, want)
	}
	a, _ := d.Open(1)
	if b, _ := d.Open(1); a != b {
		t.Error("a device is opened twice")
	}
}

// TestStackOfRecursion asks for more stack than the memory of the device has for all threads that run at once.
func TestStackOfRecursion(t *testing.T) {
	l := fake(1)
	_, v := open1(t, l)
	for range 2 {
		check(t, v.SetStack(511<<10))
		if got, threads := l.Limit(0), uintptr(v.Info().Processors*v.Info().Threads); got*threads != 1<<29 {
			t.Errorf("%d threads have a stack of %d bytes, where 1 GiB is free", threads, got)
		}
	}
}

// TestEverything runs each function of the interface: memory, copies both ways and within, launches, events, graphs.
func TestEverything(t *testing.T) {
	l := fake(1)
	_, v := open1(t, l)
	const n = 1000
	check(t, v.SetStack(4096))
	if got := l.Limit(0); got != 4096 {
		t.Errorf("the stack is %d bytes", got)
	}
	m, err := v.Load("twice.ptx", []byte(twice))
	check(t, err)
	f, err := m.Function("twice", 100<<10)
	check(t, err)
	if got := l.Shared("twice"); got != 100<<10 {
		t.Errorf("the kernel may have %d bytes of shared memory", got)
	}
	s, err := v.NewStream()
	check(t, err)
	in, err := v.AllocHost(4 * n)
	check(t, err)
	out, err := v.AllocHost(4 * n)
	check(t, err)
	for i := range in {
		in[i] = byte(i % 4 / 3) // words 1 << 24
	}
	x, err := v.Alloc(4 * n)
	check(t, err)
	y, err := v.Alloc(4 * n)
	check(t, err)
	z, err := v.Alloc(4 * n)
	check(t, err)
	free, err := v.Available()
	check(t, err)
	if free != 1<<30-3*4*n {
		t.Errorf("%d bytes are free", free)
	}
	before, err := s.Record()
	check(t, err)
	check(t, s.Upload(x, in))
	check(t, s.Launch(f, (n+127)/128, 128, 60<<10, []uint64{uint64(y), uint64(x), n}))
	check(t, s.Copy(z, y, 4*n))
	check(t, s.Fill(z+4, 0x01020304, 2))
	check(t, s.Download(out, z))
	after, err := s.Record()
	check(t, err)
	if bytes.Contains(out, []byte{2}) {
		t.Error("the copy was done before anybody waited for it: the library does not test what it should")
	}
	check(t, after.Wait())
	want := bytes.Repeat([]byte{0, 0, 0, 2}, n)
	copy(want[4:], []byte{4, 3, 2, 1, 4, 3, 2, 1})
	if !bytes.Equal(out, want) {
		t.Errorf("got % x ..., want % x ...", out[:24], want[:24])
	}
	if took, err := after.Since(before); err != nil || took < 0 {
		t.Errorf("the time between events is %v, %v", took, err)
	}
	check(t, before.Close())
	check(t, after.Close())

	// Managed memory: the host's bytes are the device's.
	shared, both, err := v.AllocManaged(4 * n)
	check(t, err)
	copy(both, in)
	check(t, s.Launch(f, (n+127)/128, 128, 0, []uint64{uint64(shared), uint64(shared), n}))
	check(t, s.Sync())
	if want := bytes.Repeat([]byte{0, 0, 0, 2}, n); !bytes.Equal(both, want) {
		t.Errorf("managed memory: % x ..., want % x ...", both[:8], want[:8])
	}
	check(t, v.Free(shared))

	// y = 2x, x = 2y in a graph: each launch of it makes x four times as large.
	g, err := s.Capture(func() error {
		if err := s.Launch(f, (n+127)/128, 128, 0, []uint64{uint64(y), uint64(x), n}); err != nil {
			return err
		}
		return s.Launch(f, (n+127)/128, 128, 0, []uint64{uint64(x), uint64(y), n})
	})
	check(t, err)
	for range 3 {
		check(t, s.LaunchGraph(g))
	}
	check(t, s.Download(out, x))
	check(t, s.Sync())
	if want := bytes.Repeat([]byte{0, 0, 0, 64}, n); !bytes.Equal(out, want) {
		t.Errorf("after the graph: % x ..., want % x ...", out[:8], want[:8])
	}
	check(t, g.Close())
	wrong := errors.New("wrong")
	if _, err := s.Capture(func() error { return wrong }); err != wrong {
		t.Errorf("a capture that fails says %v", err)
	}

	for _, p := range []device.Ptr{x, y, z} {
		check(t, v.Free(p))
	}
	check(t, v.FreeHost(in))
	check(t, v.FreeHost(out))
	check(t, s.Close())
	check(t, m.Close())
	if n := l.Alive(); n != 0 {
		t.Errorf("%d objects of the driver are left", n)
	}
}

func TestThreads(t *testing.T) {
	_, v := open1(t, fake(1))
	done := make(chan error)
	for range 8 {
		go func() {
			s, err := v.NewStream()
			for i := 0; err == nil && i < 50; i++ {
				var p device.Ptr
				if p, err = v.Alloc(64); err == nil {
					if err = s.Fill(p, 7, 16); err == nil {
						if err = s.Sync(); err == nil {
							err = v.Free(p)
						}
					}
				}
			}
			done <- err
		}()
	}
	for range 8 {
		check(t, <-done)
	}
}

// TestMissing: whatever is not there is a MissingError that says so and what to do.
func TestMissing(t *testing.T) {
	none := func(string) (uintptr, error) { return 0, errors.New("undefined symbol") }
	failing := func(function string, code int32) *cudatest.Library {
		l := fake(1)
		l.Fail(function, code)
		return l
	}
	old := fake(1)
	old.Version = 11030
	lacking := fake(1)
	lacking.Missing = map[string]bool{"cuGraphLaunch": true}
	for _, c := range []struct {
		name   string
		symbol func(string) (uintptr, error)
		want   []string
	}{
		{"another library", none, []string{"libtest is no driver of NVIDIA", "install the driver"}},
		{"an old driver", old.Symbol, []string{"supports CUDA 11.3, and 11.4 is needed", "470"}},
		{"a function", lacking.Symbol, []string{"no function cuGraphLaunch", "newer driver"}},
		{"no device", failing("cuInit", 100).Symbol, []string{"finds no device", "CUDA_VISIBLE_DEVICES"}},
		{"the stub", failing("cuInit", 34).Symbol, []string{"stub", "LD_LIBRARY_PATH"}},
		{"the kernel module", failing("cuInit", 803).Symbol, []string{"different versions", "restart"}},
		{"the fabric", failing("cuInit", 802).Symbol, []string{"fabricmanager"}},
	} {
		_, err := OpenSymbols("libtest", c.symbol)
		var missing *device.MissingError
		if !errors.As(err, &missing) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", c.name, err, w)
			}
		}
	}
	var missing *device.MissingError
	if _, err := openLibrary("libnot-there.so.1"); !errors.As(err, &missing) ||
		!strings.Contains(err.Error(), "libnot-there.so.1 is not there") {
		t.Errorf("no library: %v", err)
	}
	d, err := OpenSymbols("libtest", fake(0).Symbol)
	check(t, err)
	if _, err := d.Devices(); !errors.As(err, &missing) {
		t.Errorf("no device: %v", err)
	}
	d, _ = open1(t, fake(1))
	if _, err := d.Open(3); !errors.As(err, &missing) || !strings.Contains(err.Error(),
		"there is no device 3; the driver finds 1") {
		t.Errorf("device 3 of 1: %v", err)
	}
}

func TestErrors(t *testing.T) {
	l := fake(1)
	_, v := open1(t, l)
	var full *device.OutOfMemoryError
	if _, err := v.Alloc(1 << 40); !errors.As(err, &full) || full.Bytes != 1<<40 || full.Available != 1<<30 {
		t.Errorf("a TiB: %v", err)
	}
	if _, _, err := v.AllocManaged(1 << 40); !errors.As(err, &full) || full.Bytes != 1<<40 || full.Available != 1<<30 {
		t.Errorf("a managed TiB: %v", err)
	}
	var e *device.Error
	l.Fail("cuMemAllocManaged", 801)
	if _, _, err := v.AllocManaged(8); !errors.As(err, &e) || e.Call != "cuMemAllocManaged" {
		t.Errorf("no managed memory: %v", err)
	}
	if _, err := v.Load("bad.ptx", []byte(strings.Replace(twice, "shl.b64", "frobnicate", 1))); !errors.As(err, &e) ||
		e.Name != "CUDA_ERROR_INVALID_PTX" || !strings.Contains(e.Log, "frobnicate") ||
		!strings.Contains(e.Text, "bad.ptx") {
		t.Errorf("wrong PTX: %v", err)
	}
	l.Fail("cuModuleLoadDataEx", 222)
	if _, err := v.Load("new.ptx", []byte(twice)); !errors.As(err, &e) ||
		!strings.Contains(err.Error(), "the driver is too old for this version of PTX") ||
		!strings.Contains(e.Help, "--gpu-arch") {
		t.Errorf("PTX that is too new: %v", err)
	}
	m, err := v.Load("twice.ptx", []byte(twice))
	check(t, err)
	if _, err := m.Function("thrice", 0); !errors.As(err, &e) || e.Name != "CUDA_ERROR_NOT_FOUND" ||
		!strings.Contains(err.Error(), "thrice") {
		t.Errorf("no such entry: %v", err)
	}
	if _, err := m.Function("twice", 1<<20); !errors.As(err, &e) || e.Call != "cuFuncSetAttribute" {
		t.Errorf("too much shared memory: %v", err)
	}
	l.Fail("cuStreamCreate", 12345)
	if _, err := v.NewStream(); !errors.As(err, &e) || e.Code != 12345 || !strings.Contains(err.Error(), "12345") {
		t.Errorf("an unknown code: %v", err)
	}
	s, err := v.NewStream()
	check(t, err)
	l.Fail("cuStreamSynchronize", 700)
	first := s.Sync()
	if !errors.As(first, &e) || !e.Lost || !strings.Contains(first.Error(), "has to be started again") {
		t.Errorf("a lost device: %v", first)
	}
	calls := l.Calls("cuMemAlloc_v2")
	if _, err := v.Alloc(8); err != first || l.Calls("cuMemAlloc_v2") != calls {
		t.Errorf("after the device was lost: %v", err)
	}
}

// TestMeanings: every code has a name and a text, and what is lost says so by a help or by itself.
func TestMeanings(t *testing.T) {
	seen := map[string]result{}
	for r, m := range meanings {
		if m.text == "" || strings.TrimPrefix(m.name, "ERROR_") == "" {
			t.Errorf("%d has no name or text", r)
		}
		if o, twice := seen[m.name]; twice {
			t.Errorf("%d and %d are both %s", r, o, m.name)
		}
		seen[m.name] = r
	}
	if len(meanings) < 95 {
		t.Errorf("there are %d codes", len(meanings))
	}
}
