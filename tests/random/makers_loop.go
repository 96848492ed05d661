package random

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

func init() {
	makers["iterate"], makers["iterate_until"], makers["scan"] = makeLoop, makeLoop, makeScan
}

// stateful runs body in a region with the given parameters and makes it yield the values that body gives.
func (g *Gen) stateful(params []types.Tensor, body func(params []*ir.Value) []*ir.Value) *ir.Block {
	var yields []*ir.Value
	blk := g.region(params, func() *ir.Value {
		if yields = body(g.vals[len(g.vals)-len(params):]); len(yields) == 0 {
			return nil
		}
		return yields[0]
	})
	if blk != nil {
		blk.Yields = yields
	}
	return blk
}

// count is the number of steps of a loop: few, sometimes none, and at times not known before the program runs.
func (g *Gen) count() *ir.Value {
	a := ir.NewArray(types.I32)
	a.Bits[0] = uint64(uint32(int32(g.r.IntN(7) - 1)))
	if g.deep > 0 || g.r.IntN(2) == 0 {
		return g.b.Emit(ops.Const, ir.A{"value": a})
	}
	g.param(types.Scalar(types.I32))
	p := g.vals[len(g.vals)-1]
	least := g.b.Emit(ops.Const, ir.A{"value": clampTo(types.I32, 0)})
	most := g.b.Emit(ops.Const, ir.A{"value": clampTo(types.I32, 6)})
	return g.b.Emit(ops.Clamp, nil, p, least, most)
}

// makeLoop carries one to three values: scalars, which make a loop in a kernel, or any.
func makeLoop(g *Gen, d *ir.OpDef) bool {
	if g.deep > 1 {
		return false
	}
	args := []*ir.Value{g.count()}
	params := []types.Tensor{types.Scalar(types.I32)}
	scalars := g.r.IntN(2) == 0
	large := g.r.IntN(4) == 0
	for range 1 + g.r.IntN(3) {
		v := g.pickIf(func(v *ir.Value) bool { return g.elems(v.Type.Shape) <= 300 && (!scalars || v.Type.IsScalar()) })
		if v == nil {
			v = g.pickIf(func(v *ir.Value) bool { return v.Type.IsScalar() })
		}
		if v == nil {
			return false
		}
		if _, fixed := v.Type.Shape.Ints(); g.deep > 0 && (!fixed || g.elems(v.Type.Shape) > ir.MaxSmallState/4) &&
			!large {
			return false // a small state keeps the function around it in a kernel
		}
		args, params = append(args, v), append(params, v.Type)
	}
	blk := g.stateful(params, func(in []*ir.Value) []*ir.Value {
		var out []*ir.Value
		for range g.r.IntN(3) {
			g.op()
		}
		for _, p := range in[1:] {
			// A value of the same shape, perhaps the one of another part of the state, or the state itself.
			v := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(p.Type.Shape) })
			if g.r.IntN(4) > 0 && p.Type.Elem.IsNumber() {
				v = g.b.Emit([]*ir.OpDef{ops.Add, ops.Sub, ops.Max}[g.r.IntN(3)], nil, p, g.as(v, p.Type))
			}
			out = append(out, g.as(v, p.Type))
		}
		twin := func(t types.Tensor) *ir.Value { // one of the values that the loop yields already
			for _, v := range out {
				if types.Equal(v.Type, t) {
					return v
				}
			}
			return nil
		}
		for i, p := range in[1:] {
			if v := twin(p.Type); v != nil && g.r.IntN(4) == 0 {
				out[i] = v
			}
		}
		if d == ops.IterateUntil {
			stop := g.scalarOf(types.Bool)
			if v := twin(types.Scalar(types.Bool)); v != nil && g.r.IntN(2) == 0 {
				stop = v // a part of the state is the condition
			} else if g.r.IntN(2) == 0 || stop == nil {
				third := g.b.Emit(ops.Const, ir.A{"value": clampTo(types.I32, 2)})
				stop = g.b.Emit(ops.Ge, nil, in[0], third)
			}
			out = append(out, stop)
		}
		return out
	})
	return blk != nil && g.emit(d, nil, []*ir.Block{blk}, args...)
}

// makeScan carries one or two values along one tensor or two, from scalars or from a start for each row.
func makeScan(g *Gen, d *ir.OpDef) bool {
	x := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
	if x == nil || g.deep > 0 && g.elems(x.Type.Shape) > 60 {
		return false
	}
	elem := types.Scalar(x.Type.Elem)
	params := []types.Tensor{elem, elem}
	args := []*ir.Value{x}
	init := g.r.IntN(3) > 0
	accs := 1
	if init {
		args, params = nil, nil
		rows := x.Type.Shape[:x.Type.Rank()-1]
		for accs = 1 + g.r.IntN(2); len(args) < accs; {
			v := g.scalarOf(g.dtype())
			if len(rows) > 0 && g.r.IntN(3) == 0 {
				v = g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(rows) })
			}
			if v == nil {
				return false
			}
			args, params = append(args, v), append(params, types.Scalar(v.Type.Elem))
		}
		args, params = append(args, x), append(params, elem)
		if g.r.IntN(3) == 0 {
			y := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(x.Type.Shape) })
			args, params = append(args, y), append(params, types.Scalar(y.Type.Elem))
		}
	}
	blk := g.stateful(params, func(in []*ir.Value) []*ir.Value {
		var out []*ir.Value
		for k, a := range in[:accs] {
			v := g.as([]*ir.Value{in[accs+k%(len(in)-accs)], in[(k+1)%accs]}[g.r.IntN(2)], a.Type)
			if a.Type.Elem.IsStored() {
				out = append(out, v)
			} else if a.Type.Elem.IsNumber() {
				out = append(out, g.b.Emit([]*ir.OpDef{ops.Add, ops.Mul, ops.Sub, ops.Min}[g.r.IntN(4)], nil, a, v))
			} else {
				out = append(out, g.b.Emit([]*ir.OpDef{ops.And, ops.Eq, ops.Or}[g.r.IntN(3)], nil, a, v))
			}
		}
		return out
	})
	return blk != nil && g.emit(d, ir.A{"init": init}, []*ir.Block{blk}, args...)
}
