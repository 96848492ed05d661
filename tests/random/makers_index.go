package random

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

func init() {
	makers["gather"] = makeGather
	makers["position"] = makePosition
	makers["stop"] = makeStop
	makers["take_along_axis"] = makeTakeAlongAxis
	makers["sort"], makers["argsort"] = makeSort, makeSort
	makers["scatter_add"] = makeScatterAdd
}

// positions returns a tensor of indices for an axis of extent n: a constant, an input that is clamped into the
// range, so that nothing is known of it when the program is compiled, or a value that may be out of range.
func (g *Gen) positions(shape types.Shape, n int64) *ir.Value {
	t := []types.DType{types.I32, types.I64}[g.r.IntN(2)]
	if v := g.pickIf(func(v *ir.Value) bool {
		return v.Type.Elem == t && v.Type.Shape.Equal(shape)
	}); v != nil && g.r.IntN(4) == 0 {
		return v
	}
	literal := true
	sizes := make([]int64, len(shape))
	for i, d := range shape {
		_, ok := d.Const()
		literal = literal && ok
		sizes[i] = g.size(d)
	}
	n = max(n, 1)
	if literal && (g.deep > 0 || g.r.IntN(3) == 0) {
		a := ir.NewArray(t, sizes...)
		for i := range a.Bits {
			a.Bits[i] = uint64(g.r.Int64N(n))
		}
		return g.b.Emit(ops.Const, ir.A{"value": a})
	}
	var v *ir.Value
	if g.deep > 0 {
		v = g.pick()
		if v = g.as(v, types.Tensor{Elem: t, Shape: v.Type.Shape}); !v.Type.Shape.Equal(shape) {
			return nil
		}
	} else {
		g.param(types.Tensor{Elem: t, Shape: shape})
		v = g.vals[len(g.vals)-1]
	}
	bound := func(k int64) *ir.Value {
		return g.as(g.b.Emit(ops.Const, ir.A{"value": clampTo(t, k)}), v.Type)
	}
	return g.b.Emit(ops.Clamp, nil, v, bound(0), bound(n-1))
}

func (g *Gen) tensorValue() *ir.Value {
	return g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
}

func makePosition(g *Gen, d *ir.OpDef) bool {
	n := g.dim()
	p := g.positions(g.shape(), g.size(n))
	size := []types.Dim{types.Lit(1), types.Lit(0), types.Lit(2)}[g.r.IntN(3)]
	return p != nil && g.emit(d, ir.A{"extent": n, "size": size}, nil, p)
}

// makeStop stops where an extent is larger than most are.
func makeStop(g *Gen, d *ir.OpDef) bool {
	n := g.dim()
	over, err := n.Sub(types.Lit(int64(2 + g.r.IntN(40))))
	attrs := ir.A{"where": types.Shape{over}, "says": "an extent of {}", "shows": types.Shape{n}}
	return err == nil && g.emit(d, attrs, nil)
}

func makeGather(g *Gen, d *ir.OpDef) bool {
	v := g.tensorValue()
	if v == nil {
		return false
	}
	shape := g.shape()
	if len(shape) > 2 {
		shape = shape[:2]
	}
	axes := g.axes(v.Type.Rank())
	args := []*ir.Value{v}
	for _, a := range axes {
		p := g.positions(shape, g.size(v.Type.Shape[a]))
		if p == nil {
			return false
		}
		args = append(args, p)
	}
	return g.emit(d, ir.A{"axes": axes}, nil, args...)
}

// along draws a value, one of its axes, and positions along it.
func (g *Gen) along(number bool) (v *ir.Value, axis int, idx *ir.Value) {
	v = g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() > 0 && (!number || v.Type.Elem.IsNumber()) })
	if v == nil {
		return nil, 0, nil
	}
	axis = g.r.IntN(v.Type.Rank())
	shape := append(types.Shape{}, v.Type.Shape...)
	if shape[axis] = g.dim(); g.elems(shape) > maxElems {
		return nil, 0, nil
	}
	return v, axis, g.positions(shape, g.size(v.Type.Shape[axis]))
}

func makeTakeAlongAxis(g *Gen, d *ir.OpDef) bool {
	v, axis, idx := g.along(false)
	return idx != nil && g.emit(d, ir.A{"axis": int64(axis)}, nil, v, idx)
}

func makeSort(g *Gen, d *ir.OpDef) bool {
	v := g.tensorValue()
	if v == nil {
		return false
	}
	axis := g.r.IntN(v.Type.Rank())
	if n := g.size(v.Type.Shape[axis]); g.deep > 0 && n > 20 { // an element alone costs n*n there
		return false
	}
	if !g.emit(d, ir.A{"axis": int64(axis)}, nil, v) {
		return false
	}
	if last := len(g.vals) - 1; g.r.IntN(2) == 0 {
		sorted := g.vals[last]
		g.vals = g.vals[:last]
		g.readsOf(sorted, axis)
	}
	return true
}

// readsOf reads elements of a few ranks of what is sorted along an axis, of which nothing else is read.
func (g *Gen) readsOf(sorted *ir.Value, axis int) {
	s := sorted.Type.Shape
	for range 1 + g.r.IntN(3) {
		n := g.size(s[axis])
		k := min(int64(g.r.IntN(3)), n)
		size := types.Lit(k)
		if g.r.IntN(3) == 0 {
			starts, steps, shape := make(types.Shape, len(s)), make([]int64, len(s)), append(types.Shape{}, s...)
			for i := range steps {
				steps[i] = 1
			}
			starts[axis], shape[axis] = types.Lit(min(int64(g.r.IntN(4)), n-k)), size
			if far, err := s[axis].Sub(types.Lit(1)); err == nil && n > 0 && g.r.IntN(2) == 0 {
				starts[axis], steps[axis] = far, -1
			}
			g.emit(ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, nil, sorted)
			continue
		}
		at := g.positions(types.Shape{}, n)
		if at == nil {
			continue
		}
		axes := []int64{int64(axis)}
		if g.r.IntN(2) == 0 {
			g.emit(ops.Index, ir.A{"axes": axes}, nil, sorted, at)
			continue
		}
		g.emit(ops.DynamicSlice, ir.A{"axes": axes, "sizes": types.Shape{size}}, nil, sorted, at)
	}
}

func makeScatterAdd(g *Gen, d *ir.OpDef) bool {
	v, axis, idx := g.along(true)
	if idx == nil {
		return false
	}
	w := g.pickIf(func(w *ir.Value) bool { return w.Type.Shape.Equal(idx.Type.Shape) })
	if w == nil {
		w = g.scalarOf(v.Type.Elem)
	}
	if w == nil {
		return false
	}
	return g.emit(d, ir.A{"axis": int64(axis)}, nil, v, idx,
		g.as(w, types.Tensor{Elem: v.Type.Elem, Shape: idx.Type.Shape}))
}
