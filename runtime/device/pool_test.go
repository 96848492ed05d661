package device_test

import (
	"errors"
	"testing"

	"healc/runtime/device"
	"healc/runtime/device/cuda"
	"healc/runtime/device/cuda/cudatest"
	"healc/runtime/device/sim"
)

// open returns a device whose accesses are not checked, so that memory is pooled, and the library behind it.
func open(t *testing.T, memory int64) (device.Device, *cudatest.Library) {
	t.Helper()
	simulated, err := (&sim.Driver{Memory: memory}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	l := &cudatest.Library{Devices: []device.Device{simulated}}
	d, err := cuda.OpenSymbols("libtest", l.Symbol)
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return v, l
}

func TestPoolReusesMemory(t *testing.T) {
	v, l := open(t, 64<<20)
	p := device.NewPool(v)
	get := func(bytes int64) device.Ptr {
		t.Helper()
		at, err := p.Get(bytes)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	a, b := get(1000), get(5<<20)
	if p.Live() != 1024+6<<20 {
		t.Errorf("%d bytes are live", p.Live())
	}
	for _, at := range []device.Ptr{a, b} {
		if err := p.Put(at); err != nil {
			t.Fatal(err)
		}
	}
	if get(700) != a || get(5<<20) != b || l.Calls("cuMemAlloc_v2") != 2 {
		t.Error("memory that was given back is not used again")
	}
	if get(0) == get(1) {
		t.Error("nothing and a byte share an address")
	}
	if err := p.Put(b); err != nil {
		t.Fatal(err)
	}
	if at := get(1 << 20); at == b {
		t.Error("a block of 6 MiB is given for 1 MiB")
	}
	// 6 MiB are kept, and so much is free that only with them there is room.
	get(60 << 20)
	if p.Kept() != 0 {
		t.Errorf("%d bytes are kept where the device had no more", p.Kept())
	}
	var full *device.OutOfMemoryError
	if _, err := p.Get(60 << 20); !errors.As(err, &full) {
		t.Errorf("more than there is: %v", err)
	}
	if _, err := p.Get(1 << 62 * 1); !errors.As(err, &full) {
		t.Errorf("2^62 bytes: %v", err)
	}
}

// TestTransfer copies more than fits into the pieces, both ways, while what was copied from changes at once.
func TestTransfer(t *testing.T) {
	v, l := open(t, 1<<30)
	s, err := v.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	x := device.NewTransfer(v, s)
	for _, n := range []int{0, 1, 100, 64 << 10, 64<<10 + 1, 4 << 20, 4<<20 + 3, 17<<20 + 5} {
		at, err := v.Alloc(int64(n))
		if err != nil {
			t.Fatal(err)
		}
		src, got := make([]byte, n), make([]byte, n)
		for i := range src {
			src[i] = byte(i*7 + i>>12)
		}
		if err := x.Upload(at, src); err != nil {
			t.Fatal(err)
		}
		clear(src)
		if err := x.Download(got, at); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != byte(i*7+i>>12) {
				t.Fatalf("of %d bytes, number %d is wrong", n, i)
			}
		}
		if err := v.Free(at); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if l.Alive() != 0 {
		t.Errorf("%d objects of the driver are left", l.Alive())
	}
}
