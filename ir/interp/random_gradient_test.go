package interp

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
)

// derivative is one of a function of two floats of any shape, of which the first is captured too.
func (g *gen) derivative(forward bool) (ir.A, []*ir.Value, []*ir.Block) {
	t := types.Tensor{Elem: g.dtypeOf(types.F32, types.F64), Shape: g.shape(g.Intn(3))}
	x, y := g.param(t), g.param(t)
	body := &ir.Block{}
	b := &ir.Builder{Block: body}
	p, q := body.Param("", t, diag.Span{}), body.Param("", t, diag.Span{})
	d := []*ir.OpDef{ops.Add, ops.Sub, ops.Mul, ops.Max, ops.Div}[g.Intn(5)]
	v := b.Emit(d, nil, b.Emit(ops.Mul, nil, p, x), b.Emit(ops.Sin, nil, q))
	body.Yields = []*ir.Value{v, b.Emit(ops.Gt, nil, v, p)}
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

// ruled is a function of an integer and a float with a rule of its own, or one that is computed again.
func (g *gen) ruled(custom bool) (ir.A, []*ir.Value, []*ir.Block) {
	t := types.Tensor{Elem: g.dtypeOf(types.F32, types.F64), Shape: g.shape(g.Intn(3))}
	n := types.Tensor{Elem: types.I32, Shape: t.Shape}
	f, rule := &ir.Block{}, &ir.Block{}
	block := func(b *ir.Block, params ...types.Tensor) {
		for _, p := range params {
			b.Param("", p, diag.Span{})
		}
		in := &ir.Builder{Block: b}
		b.Yields = []*ir.Value{in.Emit(ops.Mul, nil, b.Params[len(params)-1],
			in.Emit(ops.Cast, ir.A{"to": t.Elem}, b.Params[0]))}
	}
	block(f, n, t)
	block(rule, n, t, t)
	if !custom {
		f.Yields = append(f.Yields, f.Params[0])
		return nil, []*ir.Value{g.param(n), g.param(t)}, []*ir.Block{f}
	}
	return nil, []*ir.Value{g.param(n), g.param(t)}, []*ir.Block{f, rule}
}

func init() {
	generators["custom_vjp"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.ruled(true) }
	generators["checkpoint"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.ruled(false) }
	generators["vjp"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.derivative(false) }
	generators["jvp"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.derivative(true) }
}
