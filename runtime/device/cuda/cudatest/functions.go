package cudatest

import (
	"errors"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"healc/runtime/device"
)

// functions are the C functions by name. Their parameters are those of cuda.h.
func (l *Library) functions() map[string]any {
	return map[string]any{
		"cuInit": func(flags uint32) uintptr {
			return l.plain("cuInit", func() int32 {
				if flags != 0 {
					return invalidValue
				}
				return ok
			})
		},
		"cuDriverGetVersion": func(version *int32) uintptr {
			return l.plain("cuDriverGetVersion", func() int32 { *version = l.Version; return ok })
		},
		"cuDeviceGetCount": func(count *int32) uintptr {
			return l.plain("cuDeviceGetCount", func() int32 { *count = int32(len(l.Devices)); return ok })
		},
		"cuDeviceGet": func(dev *int32, ordinal int32) uintptr {
			return l.plain("cuDeviceGet", func() int32 {
				if ordinal < 0 || int(ordinal) >= len(l.Devices) {
					return invalidDevice
				}
				*dev = ordinal + 40 // a handle, not the number
				return ok
			})
		},
		"cuDeviceGetName": func(name *byte, size, dev int32) uintptr {
			return l.about("cuDeviceGetName", dev, func(d device.Device) int32 {
				b := unsafe.Slice(name, size)
				n := copy(b[:size-1], d.Info().Name)
				b[n] = 0
				return ok
			})
		},
		"cuDeviceTotalMem_v2": func(bytes *uintptr, dev int32) uintptr {
			return l.about("cuDeviceTotalMem_v2", dev, func(d device.Device) int32 {
				*bytes = uintptr(d.Info().Memory)
				return ok
			})
		},
		"cuDeviceGetAttribute": func(value *int32, attribute, dev int32) uintptr {
			return l.about("cuDeviceGetAttribute", dev, func(d device.Device) int32 {
				info := d.Info()
				known := map[int32]int{75: info.Major, 76: info.Minor, 16: info.Processors, 97: int(info.Shared), 83: 0,
					89: 0}
				if info.Managed {
					known[83], known[89] = 1, 1
				}
				v, is := known[attribute]
				if !is {
					return invalidValue
				}
				*value = int32(v)
				return ok
			})
		},
		"cuDevicePrimaryCtxRetain": func(ctx *uintptr, dev int32) uintptr {
			return l.about("cuDevicePrimaryCtxRetain", dev, func(d device.Device) int32 {
				*ctx = l.add(&context{d})
				return ok
			})
		},
		"cuDevicePrimaryCtxRelease_v2": func(dev int32) uintptr {
			return l.about("cuDevicePrimaryCtxRelease_v2", dev, func(device.Device) int32 { return ok })
		},
		"cuCtxSetCurrent": func(ctx uintptr) uintptr {
			return l.plain("cuCtxSetCurrent", func() int32 {
				if _, is := object[*context](l, ctx); !is {
					return invalidContext
				}
				l.current[syscall.Gettid()] = ctx
				return ok
			})
		},
		"cuCtxSetLimit": func(limit int32, value uintptr) uintptr {
			return l.in("cuCtxSetLimit", func(c *context) int32 {
				l.limits[uintptr(limit)] = value
				return ok
			})
		},
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
				return ok
			})
		},
		"cuMemFree_v2": func(p uint64) uintptr {
			return l.in("cuMemFree_v2", func(c *context) int32 {
				if code := l.drainAll(); code != ok {
					return code
				}
				if c.dev.Free(device.Ptr(p)) != nil {
					return invalidValue
				}
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
				delete(l.host, p)
				return ok
			})
		},
		"cuMemcpyHtoDAsync_v2": func(dst uint64, src *byte, bytes, stream uintptr) uintptr {
			return l.transfer("cuMemcpyHtoDAsync_v2", stream, func(s device.Stream) error {
				return s.Upload(device.Ptr(dst), unsafe.Slice(src, bytes))
			})
		},
		"cuMemcpyDtoHAsync_v2": func(dst *byte, src uint64, bytes, stream uintptr) uintptr {
			return l.transfer("cuMemcpyDtoHAsync_v2", stream, func(s device.Stream) error {
				if err := s.Download(unsafe.Slice(dst, bytes), device.Ptr(src)); err != nil {
					return err
				}
				return s.Sync()
			})
		},
		"cuMemcpyDtoDAsync_v2": func(dst, src uint64, bytes, stream uintptr) uintptr {
			return l.queue("cuMemcpyDtoDAsync_v2", stream, func(s device.Stream) error {
				return s.Copy(device.Ptr(dst), device.Ptr(src), int64(bytes))
			})
		},
		"cuMemsetD32Async": func(dst uint64, word uint32, n, stream uintptr) uintptr {
			return l.queue("cuMemsetD32Async", stream, func(s device.Stream) error {
				return s.Fill(device.Ptr(dst), word, int64(n))
			})
		},
		"cuStreamCreate": func(p *uintptr, flags uint32) uintptr {
			return l.in("cuStreamCreate", func(c *context) int32 {
				work, err := c.dev.NewStream()
				if err != nil || flags > 1 {
					return invalidValue
				}
				*p = l.add(&stream{dev: c.dev, work: work})
				return ok
			})
		},
		"cuStreamDestroy_v2": func(handle uintptr) uintptr {
			return l.with("cuStreamDestroy_v2", handle, func(s *stream) int32 {
				delete(l.objects, handle)
				return s.drain()
			})
		},
		"cuStreamSynchronize": func(handle uintptr) uintptr {
			return l.with("cuStreamSynchronize", handle, func(s *stream) int32 {
				if s.captures {
					return captureUnjoined
				}
				return s.drain()
			})
		},
		"cuEventCreate": func(p *uintptr, flags uint32) uintptr {
			return l.in("cuEventCreate", func(*context) int32 { *p = l.add(&event{}); return ok })
		},
		"cuEventRecord": func(handle, on uintptr) uintptr {
			return l.with("cuEventRecord", on, func(s *stream) int32 {
				e, is := object[*event](l, handle)
				if !is {
					return invalidHandle
				}
				e.stream, e.at = s, nil
				return s.put(func() (err error) { e.at, err = s.work.Record(); return err })
			})
		},
		"cuEventSynchronize": func(handle uintptr) uintptr {
			return l.in("cuEventSynchronize", func(*context) int32 {
				e, is := object[*event](l, handle)
				if !is {
					return invalidHandle
				}
				for e.stream != nil && e.at == nil && len(e.stream.queue) > 0 {
					work := e.stream.queue[0]
					e.stream.queue = e.stream.queue[1:]
					if work() != nil {
						return launchFailed
					}
				}
				return ok
			})
		},
		"cuEventElapsedTime": func(ms *float32, start, end uintptr) uintptr {
			return l.in("cuEventElapsedTime", func(*context) int32 {
				a, is1 := object[*event](l, start)
				b, is2 := object[*event](l, end)
				if !is1 || !is2 || a.at == nil || b.at == nil {
					return invalidHandle
				}
				d, err := b.at.Since(a.at)
				if err != nil {
					return launchFailed
				}
				*ms = float32(d.Seconds() * float64(time.Second/time.Millisecond))
				return ok
			})
		},
		"cuEventDestroy_v2": func(handle uintptr) uintptr {
			return l.in("cuEventDestroy_v2", func(*context) int32 {
				if _, is := object[*event](l, handle); !is {
					return invalidHandle
				}
				delete(l.objects, handle)
				return ok
			})
		},
		"cuModuleLoadDataEx":             l.moduleLoad,
		"cuModuleUnload":                 l.moduleUnload,
		"cuModuleGetFunction":            l.moduleFunction,
		"cuFuncSetAttribute":             l.functionAttribute,
		"cuLaunchKernel":                 l.launchKernel,
		"cuStreamBeginCapture_v2":        l.beginCapture,
		"cuStreamBeginCaptureToGraph":    l.beginCaptureTo,
		"cuStreamEndCapture":             l.endCapture,
		"cuGraphCreate":                  l.graphCreate,
		"cuGraphConditionalHandleCreate": l.conditionCreate,
		"cuGraphAddNode_v2":              l.graphAddNode,
		"cuGraphInstantiateWithFlags":    l.graphInstantiate,
		"cuGraphLaunch":                  l.graphLaunch,
		"cuGraphDestroy": func(handle uintptr) uintptr {
			return l.destroyGraph("cuGraphDestroy", handle, false)
		},
		"cuGraphExecDestroy": func(handle uintptr) uintptr {
			return l.destroyGraph("cuGraphExecDestroy", handle, true)
		},
	}
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
func (l *Library) queue(name string, handle uintptr, work func(s device.Stream) error) uintptr {
	return l.with(name, handle, func(s *stream) int32 { return s.put(func() error { return work(s.work) }) })
}

// transfer is queue for what crosses between host and device, which cannot be in the body of a conditional node.
func (l *Library) transfer(name string, handle uintptr, work func(s device.Stream) error) uintptr {
	return l.with(name, handle, func(s *stream) int32 {
		if s.captures && s.into != 0 {
			return captureUnsupported
		}
		return s.put(func() error { return work(s.work) })
	})
}

func cstring(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

func (l *Library) moduleLoad(p *uintptr, image *byte, n uint32, options *int32, values *unsafe.Pointer) uintptr {
	return l.in("cuModuleLoadDataEx", func(c *context) int32 {
		for _, o := range unsafe.Slice(options, n) {
			if !slices.Contains([]int32{3, 4, 5, 6, 13}, o) { // the logs, and CU_JIT_GENERATE_LINE_INFO
				return invalidValue
			}
		}
		m, err := c.dev.Load("image", []byte(cstring(image)))
		if err == nil {
			*p = l.add(m)
			return ok
		}
		text := err.Error()
		var e *device.Error
		if errors.As(err, &e) && e.Log != "" {
			text = e.Log
		}
		opts, vals := unsafe.Slice(options, n), unsafe.Slice(values, n)
		for i, o := range opts {
			if o == 5 { // CU_JIT_ERROR_LOG_BUFFER, whose size is the value of CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
				for k, size := range opts {
					if size == 6 {
						b := unsafe.Slice((*byte)(vals[i]), uintptr(vals[k]))
						b[copy(b[:len(b)-1], text)] = 0
					}
				}
			}
		}
		return invalidPTX
	})
}

func (l *Library) moduleUnload(handle uintptr) uintptr {
	return l.in("cuModuleUnload", func(*context) int32 {
		m, is := object[device.Module](l, handle)
		if !is || l.drainAll() != ok || m.Close() != nil {
			return invalidHandle
		}
		delete(l.objects, handle)
		return ok
	})
}

func (l *Library) moduleFunction(p *uintptr, handle uintptr, name *byte) uintptr {
	return l.in("cuModuleGetFunction", func(*context) int32 {
		m, is := object[device.Module](l, handle)
		if !is {
			return invalidHandle
		}
		f, err := m.Function(cstring(name), 0)
		if err != nil {
			return notFound
		}
		*p = l.add(&function{f, m, cstring(name)})
		return ok
	})
}

func (l *Library) functionAttribute(handle uintptr, attribute, value int32) uintptr {
	return l.in("cuFuncSetAttribute", func(c *context) int32 {
		f, is := object[*function](l, handle)
		if !is || attribute != 8 || int64(value) > c.dev.Info().Shared {
			return invalidValue
		}
		l.shared[f.name] = uintptr(value)
		return ok
	})
}

func (l *Library) launchKernel(handle uintptr, gx, gy, gz, bx, by, bz, shared uint32, on uintptr,
	params *unsafe.Pointer, extra *unsafe.Pointer) uintptr {
	return l.with("cuLaunchKernel", on, func(s *stream) int32 {
		f, is := object[*function](l, handle)
		if !is {
			return invalidHandle
		}
		if gx == 0 || gx > 1<<31-1 || gy != 1 || gz != 1 || bx == 0 || bx > 1024 || by != 1 || bz != 1 ||
			params != nil || extra == nil {
			return invalidValue
		}
		if shared > 48<<10 && uintptr(shared) > l.shared[f.name] {
			return invalidValue
		}
		x := unsafe.Slice(extra, 5)
		if uintptr(x[0]) != 1 || uintptr(x[2]) != 2 || uintptr(x[4]) != 0 {
			return invalidValue
		}
		bytes := *(*uintptr)(x[3])
		words := append([]uint64(nil), unsafe.Slice((*uint64)(x[1]), bytes/8)...)
		return s.put(func() error { return s.work.Launch(f.fn, int64(gx), int(bx), int64(shared), words) })
	})
}
