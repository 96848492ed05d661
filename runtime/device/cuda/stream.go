package cuda

import (
	"math"
	"time"
	"unsafe"

	"healc/runtime/device"
)

// stream is a CUstream.
type stream struct {
	dev    *dev
	handle uintptr
	launch launch
}

// launch is what cuLaunchKernel reads besides its arguments: extra has the addresses of the others. It is part of the
// stream, which is in Go's heap, where nothing moves, and alive during the call.
type launch struct {
	words []uint64
	bytes uintptr
	extra [5]uintptr
}

func (s *stream) Upload(dst device.Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	f := &s.dev.MemcpyHtoDAsync_v2
	return s.dev.do(f, func() result {
		return f.call(uintptr(dst), uintptr(unsafe.Pointer(&src[0])), uintptr(len(src)), s.handle)
	})
}

func (s *stream) Download(dst []byte, src device.Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	f := &s.dev.MemcpyDtoHAsync_v2
	return s.dev.do(f, func() result {
		return f.call(uintptr(unsafe.Pointer(&dst[0])), uintptr(src), uintptr(len(dst)), s.handle)
	})
}

func (s *stream) Copy(dst, src device.Ptr, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	f := &s.dev.MemcpyDtoDAsync_v2
	return s.dev.do(f, func() result { return f.call(uintptr(dst), uintptr(src), uintptr(bytes), s.handle) })
}

func (s *stream) Fill(dst device.Ptr, word uint32, n int64) error {
	if n == 0 {
		return nil
	}
	f := &s.dev.MemsetD32Async
	return s.dev.do(f, func() result { return f.call(uintptr(dst), uintptr(word), uintptr(n), s.handle) })
}

func (s *stream) Launch(fn device.Function, blocks int64, threads int, shared int64, params []uint64) error {
	if blocks == 0 {
		return nil
	}
	e := fn.(*entry)
	l := &s.launch
	l.words = append(l.words[:0], params...)
	l.bytes = uintptr(len(params)) * 8
	l.extra = [...]uintptr{
		launchParams, uintptr(unsafe.Pointer(unsafe.SliceData(l.words))),
		launchParamsBytes, uintptr(unsafe.Pointer(&l.bytes)),
		launchParamsEnd,
	}
	f := &s.dev.LaunchKernel
	return s.dev.do(f, func() result {
		return f.call(e.handle, uintptr(min(blocks, math.MaxInt32)), 1, 1, uintptr(threads), 1, 1, uintptr(shared),
			s.handle, 0, uintptr(unsafe.Pointer(&l.extra[0])))
	})
}

func (s *stream) Sync() error {
	f := &s.dev.StreamSynchronize
	return s.dev.do(f, func() result { return f.call(s.handle) })
}

func (s *stream) Close() error {
	f := &s.dev.StreamDestroy_v2
	return s.dev.do(f, func() result { return f.call(s.handle) })
}

// event is a CUevent.
type event struct {
	dev    *dev
	handle uintptr
}

func (s *stream) Record() (device.Event, error) {
	e := &event{dev: s.dev}
	create, record := &s.dev.EventCreate, &s.dev.EventRecord
	if err := s.dev.do(create, func() result {
		return create.call(uintptr(unsafe.Pointer(&e.handle)), eventDefault)
	}); err != nil {
		return nil, err
	}
	if err := s.dev.do(record, func() result { return record.call(e.handle, s.handle) }); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *event) Wait() error {
	f := &e.dev.EventSynchronize
	return e.dev.do(f, func() result { return f.call(e.handle) })
}

func (e *event) Since(earlier device.Event) (time.Duration, error) {
	var ms float32
	f := &e.dev.EventElapsedTime
	err := e.dev.do(f, func() result {
		return f.call(uintptr(unsafe.Pointer(&ms)), earlier.(*event).handle, e.handle)
	})
	return time.Duration(float64(ms) * 1e6), err
}

func (e *event) Close() error {
	f := &e.dev.EventDestroy_v2
	return e.dev.do(f, func() result { return f.call(e.handle) })
}
