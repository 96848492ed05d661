package cudatest

import (
	"time"
)

// streamFunctions are the functions about streams.
func (l *Library) streamFunctions() map[string]any {
	return map[string]any{
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
				code := l.drain(s)
				delete(l.objects, handle)
				return code
			})
		},
		"cuStreamSynchronize": func(handle uintptr) uintptr {
			return l.with("cuStreamSynchronize", handle, func(s *stream) int32 {
				if s.captures {
					return captureUnjoined
				}
				return l.drain(s)
			})
		},
		"cuStreamQuery": func(handle uintptr) uintptr {
			return l.with("cuStreamQuery", handle, func(s *stream) int32 {
				if s.captures {
					return captureUnsupported
				}
				if code := l.ask(s); code != ok {
					return code
				}
				if s.work.Sync() != nil {
					return launchFailed
				}
				return ok
			})
		},
	}
}

// eventFunctions are the functions about events.
func (l *Library) eventFunctions() map[string]any {
	return map[string]any{
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
				return l.put("cuEventRecord", s, work{do: func() (err error) {
					e.at, err = s.work.Record()
					return err
				}})
			})
		},
		"cuEventSynchronize": func(handle uintptr) uintptr {
			return l.in("cuEventSynchronize", func(*context) int32 {
				e, is := object[*event](l, handle)
				if !is {
					return invalidHandle
				}
				for e.stream != nil && e.at == nil && len(e.stream.queue) > 0 {
					if blocked, code := l.advance(e.stream); code != ok {
						return code
					} else if blocked && e.at == nil {
						l.turn.Wait()
					}
				}
				return ok
			})
		},
		"cuEventQuery": func(handle uintptr) uintptr {
			return l.in("cuEventQuery", func(*context) int32 {
				e, is := object[*event](l, handle)
				if !is {
					return invalidHandle
				}
				if e.stream == nil || e.at != nil {
					return ok
				}
				if code := l.ask(e.stream); code != notReady {
					return code
				}
				if e.at == nil {
					return notReady
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
	}
}
