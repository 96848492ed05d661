package cudatest

import (
	"maps"

	"healc/runtime/device"
)

// functions are the C functions by name. Their parameters are those of cuda.h.
func (l *Library) functions() map[string]any {
	all := map[string]any{}
	for _, some := range []map[string]any{l.deviceFunctions(), l.contextFunctions(), l.memoryFunctions(),
		l.transferFunctions(), l.streamFunctions(), l.eventFunctions(), l.moduleFunctions(), l.graphFunctions()} {
		maps.Copy(all, some)
	}
	return all
}

// about runs a call about a device.
func (l *Library) about(name string, dev int32, call func(d device.Device) int32) uintptr {
	return l.plain(name, func() int32 {
		if i := int(dev) - 40; i >= 0 && i < len(l.Devices) {
			return call(l.Devices[i])
		}
		return invalidDevice
	})
}

// with runs a call about a stream.
func (l *Library) with(name string, handle uintptr, call func(s *stream) int32) uintptr {
	return l.in(name, func(c *context) int32 {
		s, is := object[*stream](l, handle)
		if !is || s.dev != c.dev {
			return invalidHandle
		}
		return call(s)
	})
}

// queue puts work on a stream.
func (l *Library) queue(name string, handle uintptr, w work, do func(s device.Stream) error) uintptr {
	return l.with(name, handle, func(s *stream) int32 {
		w.do = func() error { return do(s.work) }
		return l.put(name, s, w)
	})
}

// transfer is queue for what crosses between host and device, which cannot be in the body of a conditional node.
func (l *Library) transfer(name string, handle uintptr, w work, do func(s device.Stream) error) uintptr {
	return l.with(name, handle, func(s *stream) int32 {
		if s.captures && s.into != 0 {
			return captureUnsupported
		}
		w.do = func() error { return do(s.work) }
		return l.put(name, s, w)
	})
}
