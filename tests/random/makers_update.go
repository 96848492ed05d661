package random

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

func init() { makers["update"] = makeUpdate }

// makeUpdate replaces a random part of a value: on each axis a position at run time, a run at run time, one
// fixed index, a slice with a step, or all of it.
func makeUpdate(g *Gen, d *ir.OpDef) bool {
	x := g.pick()
	attrs := ir.A{}
	var axes []int64
	var starts, sizes, shape types.Shape
	var steps []int64
	var positions []*ir.Value
	for k, extent := range x.Type.Shape {
		n := g.size(extent)
		run := n
		switch kind := g.r.IntN(5); {
		case kind == 0 && n > 0:
			run = 1 + g.r.Int64N(n)
			axes, sizes = append(axes, int64(k)), append(sizes, types.Lit(run))
			positions = append(positions, g.position(n-run+1))
		case kind == 1:
			starts, steps, shape = append(starts, types.Lit(0)), append(steps, 1), append(shape, extent)
			continue
		}
		step, lo, count := int64(1+g.r.IntN(3)), int64(0), int64(0)
		if run > 0 {
			lo = g.r.Int64N(run)
			count = g.r.Int64N((run-lo+step-1)/step + 1)
		}
		if g.r.IntN(3) == 0 && count > 0 {
			lo, step = lo+(count-1)*step, -step
		}
		starts, steps, shape = append(starts, types.Lit(lo)), append(steps, step), append(shape, types.Lit(count))
	}
	t := types.Tensor{Elem: x.Type.Elem, Shape: shape}
	v := g.pickIf(func(v *ir.Value) bool {
		s, err := types.Broadcast(v.Type.Shape, shape)
		return err == nil && s.Equal(shape)
	})
	switch {
	case v != nil:
	case x.Type.IsScalar():
		v = x
	default: // one of its own elements
		zero := g.position(1)
		args := []*ir.Value{x}
		var all []int64
		for k, extent := range x.Type.Shape {
			if g.size(extent) == 0 {
				return false
			}
			args, all = append(args, zero), append(all, int64(k))
		}
		if !g.emit(ops.Index, ir.A{"axes": all}, nil, args...) {
			return false
		}
		v = g.vals[len(g.vals)-1]
	}
	attrs["axes"], attrs["sizes"], attrs["starts"], attrs["steps"], attrs["shape"] = axes, sizes, starts, steps, shape
	return g.emit(d, attrs, nil, append([]*ir.Value{x, g.as(v, t)}, positions...)...)
}

// updates lets the program change some of its parameters, as `&mut` ones, to values of their types.
func (g *Gen) updates() {
	if g.r.IntN(3) > 0 {
		return
	}
	for i, p := range g.f.Params() {
		v := g.pickIf(func(v *ir.Value) bool { return types.Equal(v.Type, p.Type) })
		if last := g.vals[len(g.vals)-1]; types.Equal(last.Type, p.Type) {
			v = last
		}
		if g.r.IntN(2) == 0 {
			g.f.Updates = append(g.f.Updates, int64(i))
			g.f.Body.Yields = append(g.f.Body.Yields, v)
			g.f.Results = append(g.f.Results, v.Type)
		}
	}
}
