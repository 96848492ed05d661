package shard

import (
	"slices"

	"healc/ir"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// Note [Sums at indices]: a histogram is a tabulate whose function adds up what it makes of all elements of a tensor,
// such as 1 where they are equal to the index. Where that is the same in any order, each rank adds up what it makes of
// its part, for all indices, and the sums of all ranks are gathered.

// sumAt is the sum that the function of a tabulate gives, if it is one of integers that are made, element by element,
// of what is cut, and the function does nothing else with it. How what the function makes is cut is known then.
func (p *placement) sumAt(region *ir.Block) *ir.Op {
	sum := p.sumOf(region)
	if sum == nil {
		for _, op := range region.Ops {
			p.results(op, whole)
		}
	}
	return sum
}

func (p *placement) sumOf(region *ir.Block) *ir.Op {
	if len(region.Yields) != 1 || region.Yields[0].Def == nil {
		return nil
	}
	sum := region.Yields[0].Def
	if sum.Def.Sharding != ir.ShardReduce || sum.Args[0].Type.Elem.IsFloat() || !slices.Contains(region.Ops, sum) {
		return nil
	}
	for _, op := range region.Ops {
		if op == sum {
			continue
		}
		axis := whole
		for _, a := range op.Args {
			if s := p.of(a); s != whole && axis != whole && s != axis {
				return nil
			} else if s != whole {
				axis = s
			}
		}
		for _, r := range op.Regions {
			if slices.ContainsFunc(p.captured.Of(r), func(v *ir.Value) bool { return p.of(v) != whole }) {
				return nil
			}
		}
		p.results(op, axis)
		differs := func(a *ir.Value) bool { return p.of(a) == whole && !repeats(a, axis) }
		if axis != whole && (op.Def.Sharding != ir.ShardElements || slices.ContainsFunc(op.Args, differs)) {
			return nil
		}
	}
	if p.of(sum.Args[0]) == whole {
		return nil
	}
	p.results(sum, whole)
	return sum
}

// repeats reports that all elements of a value along an axis are one, of which a part is made without knowing where it
// begins.
func repeats(v *ir.Value, axis int) bool {
	if v.Def == nil || v.Def.Def.Sharding != ir.ShardBroadcast {
		return false
	}
	from := v.Def.Args[0].Type.Shape
	k := axis - (v.Type.Rank() - len(from))
	return k < 0 || from[k].IsConst(1)
}

// sumsAt writes a tabulate of sums: see Note [Sums at indices].
func (w *rewriter) sumsAt(op *ir.Op) {
	region := op.Regions[0]
	sum := region.Yields[0].Def
	inner := map[*ir.Value]parts.Blocks{}
	old := map[*ir.Value]*ir.Value{}
	for _, v := range w.captured.Of(region) { // nothing is exchanged in a function
		if b, ok := w.inner[v]; ok {
			inner[v], old[v] = b, w.clone.Values[v]
			w.clone.Values[v] = w.asUsual(v)
			delete(w.inner, v)
		}
	}
	outer := w.b
	w.b = &ir.Builder{Block: &ir.Block{}, Span: outer.Span}
	for _, v := range region.Params {
		w.clone.Values[v] = w.b.Block.Param(v.Name, v.Type, v.Span)
	}
	for _, in := range region.Ops {
		if in != sum {
			w.op(in)
		}
	}
	mine := w.b.EmitOp(sum.Def, attrsOf(sum), []*ir.Value{w.clone.Value(sum.Args[0])}, nil)
	w.b.Block.Yields = mine.Results
	body := w.b.Block
	w.b = outer
	for v, b := range inner {
		w.inner[v], w.clone.Values[v] = b, old[v]
	}
	y := w.b.EmitOp(op.Def, attrsOf(op), nil, []*ir.Block{body}).Result()
	y = w.reshaped(y, append(types.Shape{types.Lit(1)}, y.Type.Shape...))
	all := w.gather(y, 0, parts.Blocks{Extent: int64(w.ranks.Size), Block: 1})
	w.becomes(op.Results[0], w.b.Emit(sum.Def, ir.A{"axes": []int64{0}}, all))
}
