package cuda

import (
	"unsafe"

	"healc/runtime/device"
)

// graph is a CUgraphExec.
type graph struct {
	dev    *dev
	handle uintptr
}

func (s *stream) Capture(record func() error) (device.Graph, error) {
	v := s.dev
	if err := v.do(&v.StreamBeginCapture_v2, func() result {
		return v.StreamBeginCapture_v2.call(s.handle, captureRelaxed)
	}); err != nil {
		return nil, err
	}
	captured, err := s.captured(record)
	if captured != 0 {
		defer v.destroyGraph(captured)
	}
	if err != nil {
		return nil, err
	}
	return v.instantiate(captured)
}

// captured is the graph of what record does, after the begin of a capture.
func (s *stream) captured(record func() error) (graph uintptr, err error) {
	v := s.dev
	s.captures = true
	failed := record()
	s.captures = false
	err = v.do(&v.StreamEndCapture, func() result {
		return v.StreamEndCapture.call(s.handle, uintptr(unsafe.Pointer(&graph)))
	})
	if failed != nil { // the reason, where the end of the capture only says that there was one
		err = failed
	}
	return graph, err
}

// CaptureLoop makes a graph of one node, a conditional one of the kind while, and captures its body. The body belongs
// to the node, and is destroyed with the graph.
func (s *stream) CaptureLoop(record func(handle uint64) error) (device.Graph, error) {
	v, api := s.dev, s.dev.loops
	if api == nil {
		return nil, device.ErrNoLoops
	}
	var whole, node uintptr
	if err := v.do(&api.GraphCreate, func() result {
		return api.GraphCreate.call(uintptr(unsafe.Pointer(&whole)), 0)
	}); err != nil {
		return nil, err
	}
	defer v.destroyGraph(whole)
	p := &nodeParams{kind: nodeConditional, form: conditionWhile, size: 1, context: v.ctx}
	err := v.do(&api.GraphConditionalHandleCreate, func() result {
		return api.GraphConditionalHandleCreate.call(uintptr(unsafe.Pointer(&p.handle)), whole, v.ctx, 1,
			conditionAssign)
	})
	if err != nil {
		return nil, err
	}
	err = v.do(&api.GraphAddNode_v2, func() result {
		return api.GraphAddNode_v2.call(uintptr(unsafe.Pointer(&node)), whole, 0, 0, 0, uintptr(unsafe.Pointer(p)))
	})
	if err != nil {
		return nil, err
	}
	body := *p.bodies
	err = v.do(&api.StreamBeginCaptureToGraph, func() result {
		return api.StreamBeginCaptureToGraph.call(s.handle, body, 0, 0, 0, captureRelaxed)
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.captured(func() error { return record(p.handle) }); err != nil {
		return nil, err
	}
	return v.instantiate(whole)
}

// instantiate makes a graph one that can be launched.
func (v *dev) instantiate(captured uintptr) (device.Graph, error) {
	g := &graph{dev: v}
	err := v.do(&v.GraphInstantiateWithFlags, func() result {
		return v.GraphInstantiateWithFlags.call(uintptr(unsafe.Pointer(&g.handle)), captured, 0)
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// destroyGraph destroys a CUgraph, of which nothing is needed any more.
func (v *dev) destroyGraph(handle uintptr) {
	_ = v.do(&v.GraphDestroy, func() result { return v.GraphDestroy.call(handle) })
}

func (s *stream) LaunchGraph(g device.Graph) error {
	f := &s.dev.GraphLaunch
	return s.put(f, func() result { return f.call(g.(*graph).handle, s.handle) })
}

func (g *graph) Close() error {
	f := &g.dev.GraphExecDestroy
	return g.dev.do(f, func() result { return f.call(g.handle) })
}
