package interp

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// arithmetic combines two scalars of one type into another of that type.
func (g *gen) arithmetic(b *ir.Builder, x, y *ir.Value) *ir.Value {
	if !x.Type.Elem.Computes() {
		return y
	}
	if x.Type.Elem == types.Bool {
		return b.Emit(ops.Ne, nil, x, y)
	}
	op := []*ir.OpDef{ops.Sub, ops.Mul, ops.Max, ops.Add}[g.Intn(4)]
	return b.Emit(ops.Sub, nil, b.Emit(op, nil, x, y), x)
}

// loop is a loop over scalars: each next value is made of its own, of another one and of the number of the
// step; what ends it, a comparison.
func (g *gen) loop(until bool) (ir.A, []*ir.Value, []*ir.Block) {
	args := []*ir.Value{g.param(types.Scalar(types.I32))}
	g.args[0].Bits[0] = scalar.IntBits(types.I32, int64(g.Intn(9)-2))
	body := &ir.Block{}
	b := &ir.Builder{Block: body}
	i := body.Param("", types.Scalar(types.I32), diag.Span{})
	for range 1 + g.Intn(3) {
		t := types.Scalar(g.dtype())
		args = append(args, g.param(t))
		body.Param("", t, diag.Span{})
	}
	state := body.Params[1:]
	for k, p := range state {
		other := b.Emit(ops.Cast, ir.A{"to": p.Type.Elem}, state[(k+1)%len(state)])
		step := b.Emit(ops.Cast, ir.A{"to": p.Type.Elem}, i)
		body.Yields = append(body.Yields, g.arithmetic(b, g.arithmetic(b, p, other), step))
	}
	if until {
		y := b.Emit(ops.Cast, ir.A{"to": types.F64}, body.Yields[0])
		x := b.Emit(ops.Cast, ir.A{"to": types.F64}, state[0])
		body.Yields = append(body.Yields, b.Emit(ops.Gt, nil, y, x))
	}
	return nil, args, []*ir.Block{body}
}

func init() {
	generators["iterate"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.loop(false) }
	generators["iterate_until"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) { return g.loop(true) }
	generators["scan"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := types.Tensor{Elem: g.dtype(), Shape: g.shape(1 + g.Intn(3))}
		accs := []types.Tensor{types.Scalar(x.Elem)}
		var args []*ir.Value
		init := g.Intn(3) > 0
		if init {
			accs = nil
			for range 1 + g.Intn(2) {
				start := types.Scalar(g.dtype())
				accs = append(accs, start)
				if g.Intn(3) == 0 {
					start.Shape = x.Shape[:len(x.Shape)-1]
				}
				args = append(args, g.param(start))
			}
		}
		body := &ir.Block{}
		b := &ir.Builder{Block: body}
		for _, t := range accs {
			body.Param("", t, diag.Span{})
		}
		args = append(args, g.param(x))
		elem := body.Param("", types.Scalar(x.Elem), diag.Span{})
		if init && g.Intn(3) == 0 {
			args = append(args, g.param(x))
			elem = body.Param("", types.Scalar(x.Elem), diag.Span{})
		}
		for k, t := range accs {
			e := b.Emit(ops.Cast, ir.A{"to": t.Elem}, elem)
			other := b.Emit(ops.Cast, ir.A{"to": t.Elem}, body.Params[len(accs)-1-k])
			body.Yields = append(body.Yields, g.arithmetic(b, g.arithmetic(b, body.Params[k], e), other))
		}
		return ir.A{"init": init}, args, []*ir.Block{body}
	}
}
