package cudatest

import (
	"errors"
	"slices"
	"unsafe"

	"healc/runtime/device"
)

// moduleFunctions are the functions about modules and their kernels.
func (l *Library) moduleFunctions() map[string]any {
	return map[string]any{
		"cuModuleLoadDataEx":  l.moduleLoad,
		"cuModuleUnload":      l.moduleUnload,
		"cuModuleGetFunction": l.moduleFunction,
		"cuFuncSetAttribute":  l.functionAttribute,
		"cuLaunchKernel":      l.launchKernel,
	}
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
		l.freed(m, "code is unloaded")
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
		return l.put("cuLaunchKernel", s, work{kernels: 1, module: f.module, device: words, do: func() error {
			return s.work.Launch(f.fn, int64(gx), int(bx), int64(shared), words)
		}})
	})
}
