package runtime

import (
	"slices"

	"healc/runtime/checkpoint"
	"healc/runtime/exchange"
	"healc/runtime/memory"
)

// The operations by which a loop goes on where another run has come to (ir/exchange).

// state is what a step says of the values of a loop, of which the first is view `first`.
func (fr *frame) state(s *boundStep, first int) []checkpoint.Value {
	h := s.def.Host
	axes, extents, blocks := h.Ints("axes"), h.Ints("extents"), h.Ints("blocks")
	var out []checkpoint.Value
	for i := range s.views[first:] {
		view := &s.views[first+i]
		v := checkpoint.Value{DType: fr.f.bufs[view.buf].dtype, Shape: slices.Clone(view.shape), Axis: -1}
		if len(axes) > 0 && axes[i] >= 0 {
			v.Axis, v.Blocks = axes[i], exchange.Blocks{Extent: extents[i], Block: blocks[i]}
			v.Shape[v.Axis] = v.Extent
		}
		out = append(out, v)
	}
	return out
}

func hostResume(r *run, fr *frame, s *boundStep) error {
	step, values, err := r.env.Checkpoint.Start(s.attr("loop"), fr.state(s, 0))
	if err != nil {
		return err
	}
	out := s.def.Host.Out
	*(*int32)(fr.ptrs[out[0]]) = int32(step)
	for i := range s.views {
		if values == nil {
			err = memory.Move(fr.buffer(out[i+1]), fr.elements(&s.views[i]))
		} else {
			err = fr.fill(out[i+1], values[i])
			values[i].Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func hostCheckpoint(r *run, fr *frame, s *boundStep) error {
	if r.env.Checkpoint == nil {
		return nil
	}
	var parts [][]byte
	for i := range s.views[1:] {
		part, err := fr.packed(&s.views[i+1])
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	step := int32(memory.LoadBits(fr.scalar(&s.views[0]), 4))
	return r.env.Checkpoint.Keep(s.attr("loop"), int64(step), fr.state(s, 1), parts)
}
