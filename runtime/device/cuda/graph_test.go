package cuda

import (
	"errors"
	"strings"
	"testing"

	"healc/runtime/device"
)

// count adds 1 to a word and goes on while it is below a limit: params handle of the condition, word, limit.
const count = `
.version 6.0
.target sm_70
.address_size 64

.extern .func cudaGraphSetConditional(
	.param .b64 handle,
	.param .b32 value
);

.visible .entry count(
	.param .u64 count_param_0,
	.param .u64 count_param_1,
	.param .u64 count_param_2
)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [count_param_0];
	ld.param.u64 %rd2, [count_param_1];
	ld.param.u64 %rd3, [count_param_2];
	cvt.u32.u64 %r2, %rd3;
	ld.global.u32 %r1, [%rd2];
	add.s32 %r1, %r1, 1;
	st.global.u32 [%rd2], %r1;
	setp.lt.u32 %p1, %r1, %r2;
	selp.b32 %r3, 1, 0, %p1;
	{
	.param .b64 handle;
	st.param.b64 [handle+0], %rd1;
	.param .b32 value;
	st.param.b32 [value+0], %r3;
	call.uni cudaGraphSetConditional, (handle, value);
	}
	ret;
}
`

// TestLoops: a graph that repeats its work runs as long as its kernels say, each time that it is launched.
func TestLoops(t *testing.T) {
	l := fake(1)
	_, v := open1(t, l)
	m, err := v.Load("count.ptx", []byte(count))
	check(t, err)
	f, err := m.Function("count", 0)
	check(t, err)
	s, err := v.NewStream()
	check(t, err)
	p, err := v.Alloc(8)
	check(t, err)
	var handle uint64
	g, err := s.CaptureLoop(func(h uint64) error {
		handle = h
		if err := s.Fill(p+4, 7, 1); err != nil {
			return err
		}
		return s.Launch(f, 1, 1, 0, []uint64{h, uint64(p), 10})
	})
	check(t, err)
	out := make([]byte, 8)
	for _, want := range []byte{10, 11} { // the body runs once before anybody says no
		if want == 10 {
			check(t, s.Fill(p, 0, 1))
		}
		check(t, s.LaunchGraph(g))
		check(t, s.Download(out, p))
		check(t, s.Sync())
		if out[0] != want || out[4] != 7 {
			t.Errorf("the words are %d and %d, want %d and 7", out[0], out[4], want)
		}
	}

	// What cannot be captured, and what fails while it is.
	wrong := errors.New("wrong")
	if _, err := s.CaptureLoop(func(uint64) error { return wrong }); err != wrong {
		t.Errorf("a capture that fails says %v", err)
	}
	if _, err := s.CaptureLoop(func(uint64) error {
		return s.Upload(p, out)
	}); err == nil || !strings.Contains(err.Error(), "cannot be captured") {
		t.Errorf("an upload in a loop: %v", err)
	}
	if _, err := s.CaptureLoop(func(uint64) error { return nil }); err == nil {
		t.Error("a loop without a body is made")
	}
	for _, call := range []string{"cuGraphCreate", "cuGraphConditionalHandleCreate", "cuGraphAddNode_v2",
		"cuStreamBeginCaptureToGraph", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"} {
		l.Fail(call, 801)
		var e *device.Error
		_, err := s.CaptureLoop(func(h uint64) error { return s.Launch(f, 1, 1, 0, []uint64{h, uint64(p), 10}) })
		if !errors.As(err, &e) || e.Call != call || !strings.Contains(err.Error(), "does not support") {
			t.Errorf("%s fails: %v", call, err)
		}
		if call == "cuStreamEndCapture" { // which did not end it
			s.(*stream).captured(func() error { return nil })
		}
	}
	check(t, g.Close())

	// The condition ends with the graph that runs.
	check(t, s.Launch(f, 1, 1, 0, []uint64{handle, uint64(p), 10}))
	if err := s.Sync(); err == nil {
		t.Error("a kernel sets a condition outside of a graph")
	}
}

// TestNoLoops: drivers before CUDA 12.4, or without one of the functions, do everything but loops.
func TestNoLoops(t *testing.T) {
	old, lacking := fake(1), fake(1)
	old.Version = 12030
	lacking.Missing = map[string]bool{"cuGraphAddNode_v2": true}
	for _, l := range []struct {
		name string
		v    func() device.Device
	}{
		{"old", func() device.Device { _, v := open1(t, old); return v }},
		{"lacking", func() device.Device { _, v := open1(t, lacking); return v }},
	} {
		s, err := l.v().NewStream()
		check(t, err)
		if _, err := s.CaptureLoop(func(uint64) error {
			t.Error("it is captured")
			return nil
		}); err != device.ErrNoLoops {
			t.Errorf("%s: %v", l.name, err)
		}
		if _, err := s.Capture(func() error { return nil }); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	}
}
