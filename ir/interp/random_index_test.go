package interp

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// positions adds a tensor of the given shape whose elements are mostly valid indices of an axis.
func (g *gen) positions(shape types.Shape, d types.Dim) *ir.Value {
	t := []types.DType{types.I32, types.I64}[g.Intn(2)]
	v := g.param(types.Tensor{Elem: t, Shape: shape})
	n := g.value(d)
	a := g.args[len(g.args)-1]
	for i := range a.Bits {
		a.Bits[i] = scalar.IntBits(t, int64(g.Intn(int(max(n, 1)))))
		if g.Intn(40) == 0 {
			a.Bits[i] = scalar.IntBits(t, int64(g.Intn(5)-2))
		}
	}
	return v
}

// along draws a tensor with an axis, and a shape that differs from it on that axis alone.
func (g *gen) along() (types.Tensor, int, types.Shape) {
	x := types.Tensor{Elem: g.dtype(), Shape: g.shape(1 + g.Intn(3))}
	axis := g.Intn(x.Rank())
	other := append(types.Shape{}, x.Shape...)
	other[axis] = g.extent()
	return x, axis, other
}

func init() {
	generators["gather"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := types.Tensor{Elem: g.dtype(), Shape: g.shape(1 + g.Intn(3))}
		axes := g.axes(x.Rank())
		shape := g.shape(g.Intn(3))
		args := []*ir.Value{g.param(x)}
		for _, a := range axes {
			args = append(args, g.positions(shape, x.Shape[a]))
		}
		return ir.A{"axes": axes}, args, nil
	}
	generators["position"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		n := g.extent()
		size := []types.Dim{types.Lit(1), types.Lit(0), g.sum(n, int64(-g.Intn(2)))}[g.Intn(3)]
		return ir.A{"extent": n, "size": size}, []*ir.Value{g.positions(g.shape(g.Intn(3)), n)}, nil
	}
	generators["stop"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		where := types.Shape{g.sum(g.extent(), int64(-g.Intn(4)))}
		if g.Intn(2) == 0 {
			where = append(where, g.extent())
		}
		return ir.A{"where": where, "says": "no {}", "shows": where[:1]}, nil, nil
	}
	generators["take_along_axis"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x, axis, shape := g.along()
		v := g.param(x)
		return ir.A{"axis": int64(axis)}, []*ir.Value{v, g.positions(shape, x.Shape[axis])}, nil
	}
	for _, name := range []string{"sort", "argsort"} {
		generators[name] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
			x, axis, _ := g.along()
			return ir.A{"axis": int64(axis)}, []*ir.Value{g.param(x)}, nil
		}
	}
	for _, name := range []string{"partial_sort", "partial_argsort"} {
		generators[name] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
			x, axis, _ := g.along()
			args := []*ir.Value{g.param(x)}
			starts, sizes := types.Shape{}, types.Shape{}
			for range g.Intn(3) {
				starts, sizes = append(starts, types.Lit(int64(g.Intn(4)))), append(sizes, types.Lit(int64(g.Intn(3))))
			}
			for range g.Intn(3) {
				args, sizes = append(args, g.positions(types.Shape{}, x.Shape[axis])), append(sizes, types.Lit(1))
			}
			return ir.A{"axis": int64(axis), "starts": starts, "sizes": sizes}, args, nil
		}
	}
	generators["scatter_add"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x, axis, shape := g.along()
		v := g.param(x)
		idx := g.positions(shape, x.Shape[axis])
		return ir.A{"axis": int64(axis)}, []*ir.Value{v, idx, g.param(types.Tensor{Elem: x.Elem, Shape: shape})}, nil
	}
}
