package cudatest

import (
	"slices"
	"unsafe"
)

// graphFunctions are the functions about graphs.
func (l *Library) graphFunctions() map[string]any {
	return map[string]any{
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

// A graph is the work that was captured, in order. That of a conditional node is done again and again by the simulated
// device, whose kernels set the condition.

// conditions is a device that has conditions: handles for its kernels, and what repeats a body as long as one is not 0.
type conditions interface {
	NewCondition() (handle uint64, while func(body func() error) error)
}

func (l *Library) beginCapture(handle uintptr, mode int32) uintptr {
	return l.with("cuStreamBeginCapture_v2", handle, func(s *stream) int32 {
		if s.captures || mode < 0 || mode > 2 {
			return invalidValue
		}
		s.captures, s.capturing, s.into = true, nil, 0
		return ok
	})
}

// beginCaptureTo adds what is captured to a graph that there is.
func (l *Library) beginCaptureTo(handle, into uintptr, after, edges unsafe.Pointer, n uintptr, mode int32) uintptr {
	return l.with("cuStreamBeginCaptureToGraph", handle, func(s *stream) int32 {
		g, is := object[*graph](l, into)
		if !is || g.exec {
			return invalidHandle
		}
		// A node to come after is not supported, since the work of a graph is a list.
		if s.captures || mode < 0 || mode > 2 || n != 0 || after != nil || edges != nil || len(g.work) > 0 {
			return invalidValue
		}
		s.captures, s.capturing, s.into = true, nil, into
		return ok
	})
}

// endCapture ends a capture also where it fails.
func (l *Library) endCapture(handle uintptr, p *uintptr) uintptr {
	l.mu.Lock()
	if s, is := object[*stream](l, handle); is && len(l.fail["cuStreamEndCapture"]) > 0 {
		s.captures = false
	}
	l.mu.Unlock()
	return l.with("cuStreamEndCapture", handle, func(s *stream) int32 {
		if !s.captures {
			return captureUnmatched
		}
		s.captures = false
		if s.into == 0 {
			*p = l.add(&graph{work: s.capturing, dev: s.dev})
			return ok
		}
		g, is := object[*graph](l, s.into)
		if !is {
			return invalidHandle
		}
		g.work, *p = s.capturing, s.into
		return ok
	})
}

func (l *Library) graphCreate(p *uintptr, flags uint32) uintptr {
	return l.in("cuGraphCreate", func(c *context) int32 {
		if flags != 0 {
			return invalidValue
		}
		*p = l.add(&graph{dev: c.dev})
		return ok
	})
}

func (l *Library) conditionCreate(p *uint64, handle, ctx uintptr, initial, flags uint32) uintptr {
	return l.in("cuGraphConditionalHandleCreate", func(c *context) int32 {
		g, is := object[*graph](l, handle)
		if _, known := object[*context](l, ctx); !is || !known || g.exec {
			return invalidHandle
		}
		if initial != 1 || flags != 1 { // what a node needs that is to run its body at each launch
			return invalidValue
		}
		dev, can := c.dev.(conditions)
		if !can {
			return notSupported
		}
		made, while := dev.NewCondition()
		g.loops = append(g.loops, loop{handle: made, while: while})
		*p = made
		return ok
	})
}

// nodeParams is a CUgraphNodeParams whose union has the parameters of a conditional node.
type nodeParams struct {
	kind    int32
	zero    [3]int32
	handle  uint64
	form    int32
	size    uint32
	bodies  *uintptr
	context uintptr
	rest    [25]int64
	last    int64
}

func (l *Library) graphAddNode(out *uintptr, handle uintptr, after, edges unsafe.Pointer, n uintptr,
	p *nodeParams) uintptr {
	return l.in("cuGraphAddNode_v2", func(c *context) int32 {
		g, is := object[*graph](l, handle)
		if _, known := object[*context](l, p.context); !is || g.exec || !known {
			return invalidHandle
		}
		const conditional, while = 13, 1
		if p.kind != conditional || p.zero != [3]int32{} || p.rest != [25]int64{} || p.last != 0 ||
			unsafe.Sizeof(*p) != 256 {
			return invalidValue
		}
		if p.form != while || p.size != 1 || p.bodies != nil || n != 0 || after != nil || edges != nil ||
			len(g.work) > 0 {
			return invalidValue
		}
		for i := range g.loops {
			on := &g.loops[i]
			if on.handle != p.handle || on.used { // a handle is for one node
				continue
			}
			on.used = true
			body := &graph{dev: c.dev, owned: true}
			array := []uintptr{l.add(body)}
			p.bodies = &array[0]
			l.arrays = append(l.arrays, array) // the driver's own memory
			g.bodies = append(g.bodies, array[0])
			g.work = append(g.work, work{do: func() error { return on.while(body.run) }})
			g.node = body
			*out = l.add(new(node))
			return ok
		}
		return invalidValue
	})
}

// node is a node of a graph, which goes with it.
type node struct{}

func (g *graph) run() error {
	for _, w := range g.work {
		if err := w.do(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Library) graphInstantiate(p *uintptr, handle uintptr, flags uint64) uintptr {
	return l.in("cuGraphInstantiateWithFlags", func(*context) int32 {
		g, is := object[*graph](l, handle)
		if !is || flags != 0 || g.exec || g.owned {
			return invalidHandle
		}
		for _, body := range g.bodies {
			if b, is := object[*graph](l, body); !is || len(b.work) == 0 {
				return invalidValue // a loop without a body does not end
			}
		}
		work := g.work
		if g.node != nil { // what the kernels of the body use, the node uses
			work = slices.Clone(work)
			for _, w := range g.node.work {
				work[0].kernels += w.kernels
				work[0].module = w.module
				work[0].device = append(work[0].device, w.device...)
			}
		}
		*p = l.add(&graph{work: work, dev: g.dev, exec: true})
		return ok
	})
}

func (l *Library) graphLaunch(handle, on uintptr) uintptr {
	return l.with("cuGraphLaunch", on, func(s *stream) int32 {
		g, is := object[*graph](l, handle)
		if !is || !g.exec || g.dev != s.dev {
			return invalidHandle
		}
		for _, w := range g.work {
			if code := l.put("cuGraphLaunch", s, w); code != ok {
				return code
			}
		}
		return ok
	})
}

func (l *Library) destroyGraph(name string, handle uintptr, exec bool) uintptr {
	return l.in(name, func(*context) int32 {
		g, is := object[*graph](l, handle)
		if !is || g.exec != exec || g.owned {
			return invalidHandle
		}
		for _, body := range g.bodies {
			delete(l.objects, body)
		}
		delete(l.objects, handle)
		return ok
	})
}
