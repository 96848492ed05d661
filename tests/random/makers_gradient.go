package random

import (
	"healc/ir"
	"healc/lang/types"
)

func init() { makers["vjp"] = makeGradient }

// makeGradient differentiates a function of one to three floats whose body is drawn like any other, reverse mode or
// forward mode. A body without a derivative is given up.
func makeGradient(g *Gen, d *ir.OpDef) bool {
	if g.deep > 1 {
		return false
	}
	var args []*ir.Value
	var params []types.Tensor
	var wrt []int64
	for range 1 + g.r.IntN(3) {
		v := g.pickIf(func(v *ir.Value) bool { return v.Type.Elem.IsFloat() && g.elems(v.Type.Shape) <= 300 })
		if v == nil {
			return false
		}
		if len(wrt) == 0 || g.r.IntN(3) > 0 {
			wrt = append(wrt, int64(len(args)))
		}
		args, params = append(args, v), append(params, v.Type)
	}
	blk := g.stateful(params, func(in []*ir.Value) []*ir.Value {
		for range 1 + g.r.IntN(4) {
			g.op()
		}
		var out []*ir.Value
		for range 1 + g.r.IntN(2) {
			p := in[g.r.IntN(len(in))]
			v := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(p.Type.Shape) })
			out = append(out, g.b.Emit([]*ir.OpDef{ir.OpAdd, ir.OpMul, ir.OpMax}[g.r.IntN(3)], nil, p, g.as(v, p.Type)))
		}
		return out
	})
	if blk == nil {
		return false
	}
	calls := false
	ir.Walk(blk, func(op *ir.Op) { calls = calls || op.Def == ir.OpCall })
	if calls {
		return false // whether it has a derivative depends on functions that are not there yet
	}
	mode, more := ir.OpVjp, ir.ArgTypes(blk.Yields)
	if g.r.IntN(3) == 0 {
		mode, more = ir.OpJvp, nil
		for _, w := range wrt {
			more = append(more, params[w])
		}
	}
	trial := &ir.Builder{Block: &ir.Block{}}
	dry := append([]*ir.Value{}, args...)
	for _, t := range more {
		dry = append(dry, &ir.Value{Type: t})
	}
	trial.EmitOp(mode, ir.A{"wrt": wrt}, dry, []*ir.Block{blk})
	if len(ir.CheckGradients(&ir.Module{Funcs: []*ir.Func{{Body: trial.Block}}})) > 0 {
		return false
	}
	for _, t := range more {
		v := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(t.Shape) })
		if v == nil {
			return false
		}
		args = append(args, g.as(v, t))
	}
	return g.emit(mode, ir.A{"wrt": wrt}, []*ir.Block{blk}, args...)
}
