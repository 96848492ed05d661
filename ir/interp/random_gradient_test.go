package interp

import (
	"healc/ir"
	"healc/lang/diag"
	"healc/lang/types"
)

// derivative is one of a function of two floats of any shape, of which the first is captured too.
func (g *gen) derivative(forward bool) (ir.A, []*ir.Value, []*ir.Block) {
	t := types.Tensor{Elem: []types.DType{types.F32, types.F64}[g.Intn(2)], Shape: g.shape(g.Intn(3))}
	x, y := g.param(t), g.param(t)
	body := &ir.Block{}
	b := &ir.Builder{Block: body}
	p, q := body.Param("", t, diag.Span{}), body.Param("", t, diag.Span{})
	d := []*ir.OpDef{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMax, ir.OpDiv}[g.Intn(5)]
	v := b.Emit(d, nil, b.Emit(ir.OpMul, nil, p, x), b.Emit(ir.OpSin, nil, q))
	body.Yields = []*ir.Value{v, b.Emit(ir.OpGt, nil, v, p)}
	wrt := [][]int64{{0}, {1}, {0, 1}}[g.Intn(3)]
	args := []*ir.Value{x, y}
	n := 1 // the cotangent
	if forward {
		n = len(wrt)
	}
	for range n {
		args = append(args, g.param(t))
	}
	return ir.A{"wrt": wrt}, args, []*ir.Block{body}
}

func init() {
	generators["vjp"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.derivative(false) }
	generators["jvp"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.derivative(true) }
}
