package cuda

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"healc/runtime/device"
	"healc/runtime/device/cuda/cudatest"
)

// doubling is a kernel and memory for it.
type doubling struct {
	f    device.Function
	s    device.Stream
	x, y device.Ptr
}

func newDoubling(t *testing.T, v device.Device) *doubling {
	t.Helper()
	m, err := v.Load("twice.ptx", []byte(twice))
	check(t, err)
	var d doubling
	d.f, err = m.Function("twice", 0)
	check(t, err)
	d.s, err = v.NewStream()
	check(t, err)
	d.x, err = v.Alloc(64)
	check(t, err)
	d.y, err = v.Alloc(64)
	check(t, err)
	check(t, d.s.Fill(d.x, 7, 16))
	check(t, d.s.Sync())
	return &d
}

func (d *doubling) start() error {
	return d.s.Launch(d.f, 1, 32, 0, []uint64{uint64(d.y), uint64(d.x), 16})
}

// during runs wait while a kernel runs, ends the context when it has begun, and wants the error of that.
func during(t *testing.T, h *cudatest.Held, s device.Stream, wait func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.Until(ctx)
	defer s.Until(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	select {
	case <-h.Begun:
	case err := <-ended:
		t.Fatalf("it ended before the kernel began: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended though the kernel and its context have not: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the kernel")
	}
}

// TestUntil: what waits for a kernel ends with its context, and the kernel goes on.
func TestUntil(t *testing.T) {
	l := fake(1)
	_, v := open1(t, l)
	d := newDoubling(t, v)
	pinned, err := v.AllocHost(64)
	check(t, err)
	large := make([]byte, 20<<20)
	far, err := v.Alloc(int64(len(large)))
	check(t, err)
	x := device.NewTransfer(v, d.s)
	for name, wait := range map[string]func() error{
		"Sync": d.s.Sync,
		"an event": func() error {
			e, err := d.s.Record()
			if err != nil {
				return err
			}
			return errors.Join(e.Wait(), e.Close())
		},
		"a transfer there":    func() error { return x.Upload(far, large) },
		"a transfer back":     func() error { return x.Download(large, far) },
		"more than it queues": func() error { return many(d.start) },
		"many copies":         func() error { return many(func() error { return d.s.Download(pinned, d.y) }) },
		"many fills":          func() error { return many(func() error { return d.s.Fill(d.y, 1, 16) }) },
	} {
		h := l.Hold(0)
		check(t, d.start())
		during(t, h, d.s, wait)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		d.s.Until(ended)
		if err := d.start(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a start under a context that has ended: %v", name, err)
		}
		d.s.Until(context.Background())
		if done, err := d.s.Done(); done || err != nil {
			t.Errorf("%s: while the kernel runs the stream is done: %t, %v", name, done, err)
		}
		h.End()
		check(t, d.s.Sync())
		if done, err := d.s.Done(); !done || err != nil {
			t.Errorf("%s: the stream is done: %t, %v", name, done, err)
		}
		check(t, d.start())
		check(t, d.s.Download(pinned, d.y))
		check(t, d.s.Sync())
		if pinned[0] != 14 || pinned[60] != 14 {
			t.Errorf("%s: afterwards the kernel gives %v", name, pinned)
		}
	}
	if c := l.Conflicts(); len(c) > 0 {
		t.Errorf("one stream alone uses memory in conflict: %v", c)
	}
	check(t, x.Close())
	check(t, d.s.Close())
	for _, p := range []device.Ptr{d.x, d.y, far} {
		check(t, v.Free(p))
	}
	check(t, v.FreeHost(pinned))
	if n := l.Alive(); n != 1 { // the module
		t.Errorf("%d objects of the driver are left", n)
	}
}

func many(start func() error) error {
	for range 5000 {
		if err := start(); err != nil {
			return err
		}
	}
	return errors.New("all of it was started")
}

// TestUntilFails: an error of the driver ends a wait that looks at a context, and says which function it is of.
func TestUntilFails(t *testing.T) {
	l := fake(1)
	_, v := open1(t, l)
	d := newDoubling(t, v)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d.s.Until(ctx)
	var e *device.Error
	l.Fail("cuStreamQuery", 801)
	if err := d.s.Sync(); !errors.As(err, &e) || e.Call != "cuStreamQuery" {
		t.Errorf("Sync: %v", err)
	}
	at, err := d.s.Record()
	check(t, err)
	l.Fail("cuEventQuery", 801)
	if err := at.Wait(); !errors.As(err, &e) || e.Call != "cuEventQuery" {
		t.Errorf("Wait: %v", err)
	}
	l.Fail("cuStreamQuery", 700)
	if done, err := d.s.Done(); done || !errors.As(err, &e) || !e.Lost {
		t.Errorf("a lost device: %t, %v", done, err)
	}
	if err := d.s.Sync(); !errors.As(err, &e) || !e.Lost {
		t.Errorf("after it was lost: %v", err)
	}
}

// TestConflicts: the library notices what a kernel that runs must not meet.
func TestConflicts(t *testing.T) {
	l := fake(1)
	_, v := open1(t, l)
	d := newDoubling(t, v)
	other, err := v.NewStream()
	check(t, err)
	pinned, err := v.AllocHost(64)
	check(t, err)
	h := l.Hold(0)
	check(t, d.start())
	check(t, d.s.Download(pinned, d.y))
	if done, err := d.s.Done(); done || err != nil {
		t.Fatal(done, err)
	}
	if done, err := d.s.Done(); done || err != nil {
		t.Fatal(done, err)
	}
	<-h.Begun
	clean := func(what string, want ...string) {
		t.Helper()
		got := l.Conflicts()
		if len(got) != len(want) || !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check(t, other.Fill(d.x, 1, 16)) // which may be meant
	clean("a fill")
	check(t, other.Copy(d.x+4, d.x+32, 8))
	clean("a copy", "cuMemcpyDtoDAsync_v2 uses memory")
	check(t, other.Upload(d.x, pinned))
	check(t, v.FreeHost(pinned))
	freed := make(chan error, 1)
	go func() { freed <- v.Free(d.y) }()
	select {
	case err := <-freed:
		t.Errorf("memory is freed while the kernel runs: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	h.End()
	check(t, <-freed)
	clean("all", "cuMemcpyDtoDAsync_v2 uses memory", "cuMemcpyHtoDAsync_v2 uses memory",
		"cuMemcpyHtoDAsync_v2 uses memory", "memory of the host is freed", "memory is freed")
}
