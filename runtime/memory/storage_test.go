package memory

import (
	"errors"
	goruntime "runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// noLeaks fails the test when memory that it asked for is not released at its end.
func noLeaks(t *testing.T) {
	t.Helper()
	before := LiveBytes()
	t.Cleanup(func() {
		if after := LiveBytes(); after != before && !t.Failed() {
			t.Errorf("%d bytes were not released", after-before)
		}
	})
}

func TestStorageSizes(t *testing.T) {
	noLeaks(t)
	for _, n := range []int64{0, 1, 63, 64, 65, 128, 4095, 65536, 65537, 1 << 20, 1<<22 + 1} {
		s, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		if s.Bytes() < n || s.Bytes() > max(64, 2*n) || uintptr(s.Ptr())%Alignment != 0 {
			t.Errorf("%d bytes: got %d at %p", n, s.Bytes(), s.Ptr())
		}
		clear(unsafe.Slice((*byte)(s.Ptr()), n)) // all of it can be written
		s.Release()
	}
}

func TestStorageIsReused(t *testing.T) {
	noLeaks(t)
	for _, n := range []int64{100, 1 << 20} {
		a, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		p := a.Ptr()
		a.Release()
		b, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		if b.Ptr() != p {
			t.Errorf("%d bytes were not reused", n)
		}
		b.Release()
	}
	mapped := mappedBytes.Load()
	ReleaseUnused()
	if mappedBytes.Load() > mapped-1<<20 {
		t.Errorf("%d bytes are mapped, before it was %d", mappedBytes.Load(), mapped)
	}
	if heap.keptBytes != 0 || len(heap.kept) != 0 {
		t.Errorf("%d bytes kept in %d blocks", heap.keptBytes, len(heap.kept))
	}
}

// TestHugePagesAreAligned: storage from 2 MiB on begins at a huge page, and ends where its own mapping does.
func TestHugePagesAreAligned(t *testing.T) {
	noLeaks(t)
	for _, n := range []int64{hugeBytes, hugeBytes + 1, 3*hugeBytes + 5000} {
		s, err := New(n)
		if err != nil {
			t.Fatal(err)
		}
		if uintptr(s.Ptr())%hugeBytes != 0 {
			t.Errorf("%d bytes lie at %p", n, s.Ptr())
		}
		clear(unsafe.Slice((*byte)(s.Ptr()), s.Bytes()))
		s.Release()
	}
	ReleaseUnused()
}

func TestKeptMemoryIsBounded(t *testing.T) {
	noLeaks(t)
	var all []*Storage
	for i := 0; i < maxKeptBlocks+10; i++ {
		s, err := New(int64(maxSmall + 1 + i*pageBytes))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		s.Release()
	}
	if len(heap.kept) > maxKeptBlocks || heap.keptBytes > maxKept() {
		t.Errorf("%d bytes kept in %d blocks", heap.keptBytes, len(heap.kept))
	}
	ReleaseUnused()
}

// TestManyUntouched asks for memory piece by piece: pages that nobody touched yet count too.
func TestManyUntouched(t *testing.T) {
	noLeaks(t)
	_, total := availableMemory()
	if total == maxInt64 {
		t.Logf("this system does not tell its memory")
		return
	}
	piece := total / 8
	var all []*Storage
	var err error
	for len(all) < 16 && err == nil {
		var s *Storage
		if s, err = New(piece); err == nil {
			all = append(all, s)
		}
	}
	for _, s := range all {
		s.Release()
	}
	var oom *OutOfMemoryError
	if !errors.As(err, &oom) {
		t.Errorf("16 pieces of %d bytes fit into %d", piece, total)
	}
}

func TestAddressLimit(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = 64 << 30 // far above what the test process itself maps
	if old.Max < limit.Cur {
		limit.Cur = old.Max
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_AS, &old)
	got, ok := AddressLimit()
	if !ok || got != int64(limit.Cur) {
		t.Errorf("limit %d, %v", got, ok)
	}
	if available, _ := availableMemory(); available >= got {
		t.Errorf("%d bytes are available under a limit of %d", available, got)
	}
}

// TestPinned: what is pinned and forgotten is left alone.
func TestPinned(t *testing.T) {
	before := LiveBytes()
	b := func() block {
		s, err := New(4000)
		if err != nil {
			t.Fatal(err)
		}
		s.Pin()
		return s.block
	}()
	for range 5 {
		goruntime.GC()
		time.Sleep(time.Millisecond)
	}
	if LiveBytes() == before {
		t.Fatal("pinned memory was reclaimed")
	}
	// Undo the leak that this test is about.
	b.pinned.Store(false)
	reclaim(b)
	if LiveBytes() != before {
		t.Errorf("%d bytes are left", LiveBytes()-before)
	}
}

func TestReleaseTooOften(t *testing.T) {
	for name, f := range map[string]func(*Storage){"Release": (*Storage).Release, "Retain": (*Storage).Retain} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a released storage went unnoticed", name)
				}
			}()
			s := Wrap(nil, 0, nil, nil)
			s.Release()
			f(s)
		}()
	}
}

func TestOutOfMemoryText(t *testing.T) {
	for _, c := range []struct {
		err  OutOfMemoryError
		want string
	}{
		{OutOfMemoryError{Bytes: 4096}, "out of memory: asked for 4096 bytes"},
		{OutOfMemoryError{Bytes: 3 << 20, Available: 20 << 10},
			"out of memory: asked for 3072.0 KiB, available are 20.0 KiB"},
		{OutOfMemoryError{Bytes: 12 << 30, Available: 300 << 20},
			"out of memory: asked for 12.0 GiB, available are 300.0 MiB"},
		{OutOfMemoryError{Bytes: 1 << 20, Err: syscall.ENOMEM},
			"out of memory: asked for 1024.0 KiB: cannot allocate memory"},
		{OutOfMemoryError{Bytes: maxInt64}, "out of memory: a tensor of 2^63 bytes or more"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if !errors.Is(&OutOfMemoryError{Bytes: 1, Err: syscall.ENOMEM}, syscall.ENOMEM) {
		t.Error("the system's error is not unwrapped")
	}
}
