package random

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

func init() {
	makers["vjp"], makers["checkpoint"], makers["custom_vjp"] = makeGradient, makeRule, makeRule
}

// makeRule makes a function with a rule of its own: one that is computed again, or one with a derivative that is drawn,
// which is a sum of products of the cotangents.
func makeRule(g *Gen, d *ir.OpDef) bool {
	if g.deep > 2 {
		return false
	}
	var args []*ir.Value
	var params []types.Tensor
	for range 1 + g.r.IntN(2) {
		v := g.pickIf(func(v *ir.Value) bool { return v.Type.Elem.IsFloat() && g.elems(v.Type.Shape) <= 300 })
		if v == nil {
			return false
		}
		args, params = append(args, v), append(params, v.Type)
	}
	f := g.stateful(params, func(in []*ir.Value) []*ir.Value {
		for range 1 + g.r.IntN(3) {
			g.op()
		}
		p := in[g.r.IntN(len(in))]
		v := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(p.Type.Shape) })
		return []*ir.Value{g.b.Emit([]*ir.OpDef{ops.Add, ops.Mul}[g.r.IntN(2)], nil, p, g.as(v, p.Type))}
	})
	if f == nil {
		return false
	}
	if d == ops.Checkpoint {
		return g.emit(d, nil, []*ir.Block{f}, args...)
	}
	yield := f.Yields[0].Type
	rule := g.stateful(append(params[:len(params):len(params)], yield), func(in []*ir.Value) []*ir.Value {
		out := make([]*ir.Value, len(params))
		for i, t := range params {
			c := in[len(params)] // the rule is linear in it
			if !t.Shape.Equal(yield.Shape) {
				axes := make([]int64, yield.Rank())
				for k := range axes {
					axes[k] = int64(k)
				}
				c = g.b.Emit(ops.ReduceSum, ir.A{"axes": axes}, c)
				c = g.b.Emit(ops.Broadcast, ir.A{"shape": t.Shape}, c)
			}
			out[i] = g.b.Emit(ops.Mul, nil, g.b.Emit(ops.Mul, nil, in[i], in[i]), g.as(c, t))
		}
		return out
	})
	return rule != nil && g.emit(d, nil, []*ir.Block{f, rule}, args...)
}

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
			out = append(out, g.b.Emit([]*ir.OpDef{ops.Add, ops.Mul, ops.Max}[g.r.IntN(3)], nil, p, g.as(v, p.Type)))
		}
		return out
	})
	if blk == nil {
		return false
	}
	calls := false
	ir.Walk(blk, func(op *ir.Op) { calls = calls || op.Def == ops.Call })
	if calls {
		return false // whether it has a derivative depends on functions that are not there yet
	}
	mode, more := ops.Vjp, ir.ArgTypes(blk.Yields)
	if g.r.IntN(3) == 0 {
		mode, more = ops.Jvp, nil
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
	if len(ops.CheckGradients(&ir.Module{Funcs: []*ir.Func{{Body: trial.Block}}})) > 0 {
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
