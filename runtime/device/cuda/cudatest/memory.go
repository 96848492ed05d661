package cudatest

import (
	"unsafe"

	"healc/runtime/device"
)

// memoryFunctions are the functions that allocate and free memory.
func (l *Library) memoryFunctions() map[string]any {
	return map[string]any{
		"cuMemGetInfo_v2": func(free, total *uintptr) uintptr {
			return l.in("cuMemGetInfo_v2", func(c *context) int32 {
				n, err := c.dev.Available()
				if err != nil {
					return launchFailed
				}
				*free, *total = uintptr(n), uintptr(c.dev.Info().Memory)
				return ok
			})
		},
		"cuMemAlloc_v2": func(p *uint64, bytes uintptr) uintptr {
			return l.in("cuMemAlloc_v2", func(c *context) int32 {
				if bytes == 0 {
					return invalidValue
				}
				at, err := c.dev.Alloc(int64(bytes))
				if err != nil {
					return outOfMemory
				}
				*p = uint64(at)
				l.allocated(*p, uint64(bytes))
				return ok
			})
		},
		"cuMemAllocManaged": func(p *uint64, bytes uintptr, flags uint32) uintptr {
			return l.in("cuMemAllocManaged", func(c *context) int32 {
				if bytes == 0 || flags != 1 {
					return invalidValue
				}
				if !c.dev.Info().Managed {
					return notSupported
				}
				at, b, err := c.dev.AllocManaged(int64(bytes))
				if err != nil {
					return outOfMemory
				}
				if uint64(at) != uint64(uintptr(unsafe.Pointer(&b[0]))) {
					return invalidValue // the address is one for the host and the device
				}
				*p = uint64(at)
				l.allocated(*p, uint64(bytes))
				return ok
			})
		},
		"cuMemFree_v2": func(p uint64) uintptr {
			return l.in("cuMemFree_v2", func(c *context) int32 {
				l.freed(p, "memory is freed")
				if code := l.drainAll(); code != ok {
					return code
				}
				if c.dev.Free(device.Ptr(p)) != nil {
					return invalidValue
				}
				l.unallocated(p)
				return ok
			})
		},
		"cuMemHostAlloc": func(p **byte, bytes uintptr, flags uint32) uintptr {
			return l.in("cuMemHostAlloc", func(*context) int32 {
				if bytes == 0 || flags&^7 != 0 {
					return invalidValue
				}
				mem := make([]byte, bytes)
				l.host[&mem[0]] = mem
				*p = &mem[0]
				return ok
			})
		},
		"cuMemFreeHost": func(p *byte) uintptr {
			return l.in("cuMemFreeHost", func(*context) int32 {
				if _, is := l.host[p]; !is {
					return invalidValue
				}
				l.freed(p, "memory of the host is freed")
				delete(l.host, p)
				return ok
			})
		},
	}
}

// copying is work that uses memory of the host, if it is not nil, and of the device.
func copying(host *byte, device ...uint64) work {
	w := work{device: device}
	if host != nil {
		w.host = []unsafe.Pointer{unsafe.Pointer(host)}
	}
	return w
}

// transferFunctions are the functions that copy and fill memory.
func (l *Library) transferFunctions() map[string]any {
	return map[string]any{
		"cuMemcpyHtoDAsync_v2": func(dst uint64, src *byte, bytes, stream uintptr) uintptr {
			return l.transfer("cuMemcpyHtoDAsync_v2", stream, copying(src, dst), func(s device.Stream) error {
				return s.Upload(device.Ptr(dst), unsafe.Slice(src, bytes))
			})
		},
		"cuMemcpyDtoHAsync_v2": func(dst *byte, src uint64, bytes, stream uintptr) uintptr {
			return l.transfer("cuMemcpyDtoHAsync_v2", stream, copying(dst, src), func(s device.Stream) error {
				if err := s.Download(unsafe.Slice(dst, bytes), device.Ptr(src)); err != nil {
					return err
				}
				return s.Sync()
			})
		},
		"cuMemcpyDtoDAsync_v2": func(dst, src uint64, bytes, stream uintptr) uintptr {
			return l.queue("cuMemcpyDtoDAsync_v2", stream, copying(nil, dst, src), func(s device.Stream) error {
				return s.Copy(device.Ptr(dst), device.Ptr(src), int64(bytes))
			})
		},
		"cuMemsetD32Async": func(dst uint64, word uint32, n, stream uintptr) uintptr {
			return l.queue("cuMemsetD32Async", stream, copying(nil, dst), func(s device.Stream) error {
				return s.Fill(device.Ptr(dst), word, int64(n))
			})
		},
	}
}
