package cudatest

import (
	"unsafe"

	"healc/runtime/device"
)

// deviceFunctions are the functions about the library and its devices.
func (l *Library) deviceFunctions() map[string]any {
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
				known := map[int32]int{75: info.Major, 76: info.Minor, 16: info.Processors, 39: info.Threads,
					97: int(info.Shared), 83: 0, 89: 0}
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
	}
}

// defaultStack is the stack of a thread before cuCtxSetLimit.
const defaultStack = 1024

// contextFunctions are the functions about contexts.
func (l *Library) contextFunctions() map[string]any {
	return map[string]any{
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
				l.current[thread()] = ctx
				return ok
			})
		},
		"cuCtxSetLimit": func(limit int32, value uintptr) uintptr {
			return l.in("cuCtxSetLimit", func(c *context) int32 {
				info := c.dev.Info()
				free, err := c.dev.Available()
				if stacks := int64(value) * int64(info.Processors*info.Threads); err != nil || stacks > free {
					return outOfMemory
				}
				if c.dev.SetStack(int64(value)) != nil {
					return invalidValue
				}
				l.limits[uintptr(limit)] = value
				return ok
			})
		},
		"cuCtxGetLimit": func(value *uintptr, limit int32) uintptr {
			return l.in("cuCtxGetLimit", func(*context) int32 {
				*value = defaultStack
				if set, there := l.limits[uintptr(limit)]; there {
					*value = set
				}
				return ok
			})
		},
	}
}
