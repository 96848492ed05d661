package runtime

import (
	"encoding/binary"

	"healc/runtime/abi"
	"healc/runtime/device"
)

// Note [Graphs]
//
// Starting a kernel costs the host some microseconds, a graph of many little more. So kernels that follow each other in
// a plan, with nothing between them that the host has to know, become a graph when they are started for the second time
// with the same addresses: in the second step of a loop and, since the state of a loop alternates between two places,
// the fourth; or in a later call, since the pool gives tensors of the same sizes the memory of those that were closed.
// The addresses are the key: with others the kernels are started one by one.

const (
	minGraph  = 3  // launches from which on a graph pays
	maxGraphs = 64 // of a frame
)

// graphs are those of a frame, by what they start and with which addresses.
type graphs struct {
	made map[string]device.Graph // nil: seen once
	key  []byte
}

// segments finds the steps that can be one graph: the first of them is told how many there are.
func (f *boundFunc) segments(steps []boundStep) {
	for i := 0; i < len(steps); {
		n, launches := 0, 0
		for i+n < len(steps) && f.capturable(&steps[i+n]) {
			launches += len(steps[i+n].launches)
			n++
		}
		if launches >= minGraph {
			steps[i].segment = n
		}
		i += max(n, 1)
	}
}

// capturable reports whether a step starts work on the device and does nothing else.
func (f *boundFunc) capturable(s *boundStep) bool {
	switch {
	case s.def.Launch != nil:
		return true
	case s.def.Copy != nil:
		// A copy within a buffer, or of arguments, which may share memory, waits for the device.
		from, to := s.views[0].buf, s.def.Copy.To
		return from != to && f.bufs[from].dtype.Bytes() > 0 && f.bufs[from].kind != abi.Input &&
			f.bufs[to].kind != abi.Input
	}
	return false
}

// segment runs the steps of a segment, as a graph where they ran before with these addresses.
func (r *deviceRun) segment(fr *deviceFrame, steps []boundStep) error {
	g := &fr.graphs
	g.key = g.key[:0]
	word := func(w uint64) { g.key = binary.LittleEndian.AppendUint64(g.key, w) }
	word(uint64(steps[0].number))
	word(uint64(r.cell))
	for i := range steps {
		switch s := &steps[i]; {
		case s.def.Launch != nil:
			for _, b := range s.def.Launch.Args {
				word(uint64(fr.addrs[b]))
			}
		default:
			word(uint64(fr.addrs[s.views[0].buf]))
			word(uint64(fr.addrs[s.def.Copy.To]))
		}
	}
	made, seen := g.made[string(g.key)]
	if made == nil && !seen {
		if err := g.note(r, nil); err != nil {
			return err
		}
		return r.plain(fr, steps)
	}
	if made == nil {
		var err error
		if made, err = r.q.Capture(func() error { return r.plain(fr, steps) }); err != nil {
			return err
		}
		g.made[string(g.key)] = made
	}
	r.unsettled = true
	return r.q.LaunchGraph(made)
}

// note keeps a graph, or nil for none yet, under the key.
func (g *graphs) note(r *deviceRun, made device.Graph) error {
	if g.made == nil {
		g.made = map[string]device.Graph{}
	}
	if len(g.made) >= maxGraphs {
		if err := r.q.Sync(); err != nil { // one of them may be running
			return err
		}
		g.close()
	}
	g.made[string(g.key)] = made
	return nil
}

// plain starts the steps of a segment one by one.
func (r *deviceRun) plain(fr *deviceFrame, steps []boundStep) error {
	for i := range steps {
		s := &steps[i]
		start := r.launch
		if s.def.Copy != nil {
			start = r.copy
		}
		if err := start(fr, s); err != nil {
			return err
		}
	}
	return nil
}

// close ends all graphs.
func (g *graphs) close() {
	for key, made := range g.made {
		if made != nil {
			_ = made.Close() // what a lost device does not take back is gone with it
		}
		delete(g.made, key)
	}
}
