package bufferize_test

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// byPosition adds an operation whose positions are data, or one that computes rows.
func (g *generator) byPosition(s *scopeOf, x *ir.Value) {
	if x.Type.Rank() == 0 {
		return
	}
	axis := g.Intn(x.Type.Rank())
	attrs := ir.A{"axis": int64(axis)}
	along := append(types.Shape{}, x.Type.Shape...)
	along[axis] = g.extent()
	switch g.Intn(5) {
	case 0:
		g.try(s, ops.Sort, attrs, []*ir.Value{x})
	case 1:
		g.try(s, ops.Argsort, attrs, []*ir.Value{x})
	case 2:
		g.try(s, ops.TakeAlongAxis, attrs, []*ir.Value{x, g.positions(s, along, x.Type.Shape[axis])})
	case 3:
		v := g.as(s, g.shaped(s, along), x.Type.Elem)
		g.try(s, ops.ScatterAdd, attrs, []*ir.Value{x, g.positions(s, along, x.Type.Shape[axis]), v})
	default:
		shape := g.shape(g.Intn(3))
		var axes []int64
		args := []*ir.Value{x}
		for k, d := range x.Type.Shape {
			if k == axis || g.Intn(3) == 0 {
				axes, args = append(axes, int64(k)), append(args, g.positions(s, shape, d))
			}
		}
		g.try(s, ops.Gather, ir.A{"axes": axes}, args)
	}
}

// positions makes a tensor of indices for an axis: mostly ones that are in range, by clamping.
func (g *generator) positions(s *scopeOf, shape types.Shape, d types.Dim) *ir.Value {
	t := []types.DType{types.I32, types.I64}[g.Intn(2)]
	v := g.as(s, g.shaped(s, shape), t)
	if g.Intn(8) == 0 {
		return v
	}
	repeat := func(x *ir.Value) *ir.Value { return s.Emit(ops.Broadcast, ir.A{"shape": shape}, x) }
	top := g.as(s, s.Emit(ops.Dim, ir.A{"dim": minus1(d)}), t)
	return s.Emit(ops.Clamp, nil, v, repeat(constant(s.Builder, t, 0)), repeat(top))
}
