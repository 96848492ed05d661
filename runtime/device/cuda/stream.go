package cuda

import (
	"context"
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

	ctx      context.Context // nil: none that ends
	captures bool
	started  int // pieces of work, while there was a context
	marks    [mostMarks]event
}

// The driver takes some thousand pieces of work for a stream, and lets who has more wait where no context is looked at.
// So a stream with a context has fewer: after every markEvery pieces stands one of mostMarks events, and before that is
// recorded again it has to be reached. These are enough that the device is never out of work.
const (
	markEvery = 32
	mostMarks = 8
)

// longestSleep is how long a wait with a context sleeps at most before it looks at the context.
const longestSleep = time.Millisecond

// room is called before a piece of work is put on the stream. Who has much of it finds out there that the context has
// ended, also where the device is faster.
func (s *stream) room() error {
	if s.ctx == nil || s.captures {
		return nil
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.started++; s.started%markEvery != 0 {
		return nil
	}
	m := &s.marks[s.started/markEvery%mostMarks]
	if m.stream == nil {
		if err := m.create(s, eventNoTiming); err != nil {
			return err
		}
	} else if err := m.Wait(); err != nil {
		return err
	}
	return m.record()
}

// Until implements device.Stream. The kernels of a device cannot be ended.
func (s *stream) Until(ctx context.Context) {
	s.ctx = nil
	if ctx.Done() != nil {
		s.ctx = ctx
	}
}

// put starts a piece of work.
func (s *stream) put(f *function, call func() result) error {
	if err := s.room(); err != nil {
		return err
	}
	return s.dev.do(f, call)
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
	return s.put(f, func() result {
		return f.call(uintptr(dst), uintptr(unsafe.Pointer(&src[0])), uintptr(len(src)), s.handle)
	})
}

func (s *stream) Download(dst []byte, src device.Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	f := &s.dev.MemcpyDtoHAsync_v2
	return s.put(f, func() result {
		return f.call(uintptr(unsafe.Pointer(&dst[0])), uintptr(src), uintptr(len(dst)), s.handle)
	})
}

func (s *stream) Copy(dst, src device.Ptr, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	f := &s.dev.MemcpyDtoDAsync_v2
	return s.put(f, func() result { return f.call(uintptr(dst), uintptr(src), uintptr(bytes), s.handle) })
}

func (s *stream) Fill(dst device.Ptr, word uint32, n int64) error {
	if n == 0 {
		return nil
	}
	f := &s.dev.MemsetD32Async
	return s.put(f, func() result { return f.call(uintptr(dst), uintptr(word), uintptr(n), s.handle) })
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
	return s.put(f, func() result {
		return f.call(e.handle, uintptr(min(blocks, math.MaxInt32)), 1, 1, uintptr(threads), 1, 1, uintptr(shared),
			s.handle, 0, uintptr(unsafe.Pointer(&l.extra[0])))
	})
}

func (s *stream) Sync() error {
	if s.ctx != nil {
		return device.Poll(s.ctx, longestSleep, s.Done)
	}
	f := &s.dev.StreamSynchronize
	return s.dev.do(f, func() result { return f.call(s.handle) })
}

func (s *stream) Done() (bool, error) { return s.dev.query(&s.dev.StreamQuery, s.handle) }

func (s *stream) Close() error {
	var first error
	for i := range s.marks {
		if m := &s.marks[i]; m.stream != nil {
			if err := m.Close(); first == nil {
				first = err
			}
		}
	}
	f := &s.dev.StreamDestroy_v2
	if err := s.dev.do(f, func() result { return f.call(s.handle) }); first == nil {
		first = err
	}
	return first
}

// event is a CUevent.
type event struct {
	stream *stream
	handle uintptr
}

// create makes e an event that is not recorded yet.
func (e *event) create(s *stream, flags uintptr) error {
	f := &s.dev.EventCreate
	if err := s.dev.do(f, func() result {
		return f.call(uintptr(unsafe.Pointer(&e.handle)), flags)
	}); err != nil {
		return err
	}
	e.stream = s
	return nil
}

// record makes the event the end of what was started until now.
func (e *event) record() error {
	f := &e.stream.dev.EventRecord
	return e.stream.dev.do(f, func() result { return f.call(e.handle, e.stream.handle) })
}

func (s *stream) Record() (device.Event, error) {
	e := &event{}
	if err := e.create(s, eventDefault); err != nil {
		return nil, err
	}
	if err := e.record(); err != nil {
		_ = e.Close() // the error that is returned tells more
		return nil, err
	}
	return e, nil
}

func (e *event) Wait() error {
	dev := e.stream.dev
	if ctx := e.stream.ctx; ctx != nil {
		return device.Poll(ctx, longestSleep, func() (bool, error) { return dev.query(&dev.EventQuery, e.handle) })
	}
	f := &dev.EventSynchronize
	return dev.do(f, func() result { return f.call(e.handle) })
}

func (e *event) Since(earlier device.Event) (time.Duration, error) {
	var ms float32
	f := &e.stream.dev.EventElapsedTime
	err := e.stream.dev.do(f, func() result {
		return f.call(uintptr(unsafe.Pointer(&ms)), earlier.(*event).handle, e.handle)
	})
	return time.Duration(float64(ms) * 1e6), err
}

func (e *event) Close() error {
	f := &e.stream.dev.EventDestroy_v2
	return e.stream.dev.do(f, func() result { return f.call(e.handle) })
}
