package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// nested writes the operations of a region into a block of its own; yields gives its results.
func (w *rewriter) nested(params []*ir.Value, local func(v *ir.Value) types.Tensor, region *ir.Block,
	yields func() []*ir.Value) *ir.Block {
	outer := w.b
	defer func() { w.b = outer }()
	w.b = &ir.Builder{Block: &ir.Block{}, Span: outer.Span}
	for _, v := range params {
		w.clone.Values[v] = w.b.Block.Param(v.Name, local(v), v.Span)
	}
	w.ops(region)
	w.b.Block.Yields = yields()
	w.end()
	return w.b.Block
}

// localType is the type of this rank's part of a value.
func (w *rewriter) localType(v *ir.Value) types.Tensor {
	t := v.Type
	t.Shape = w.localShape(t.Shape, w.of(v))
	return t
}

// branch writes a choice; every rank chooses alike.
func (w *rewriter) branch(op *ir.Op) {
	var arms []*ir.Block
	for _, r := range op.Regions {
		arms = append(arms, w.nested(nil, nil, r, func() []*ir.Value {
			out := make([]*ir.Value, len(r.Yields))
			for i, y := range r.Yields {
				out[i] = w.part(y, w.of(op.Results[i]))
			}
			return out
		}))
	}
	w.emit(op, []*ir.Value{w.whole(op.Args[0])}, attrsOf(op), arms)
}

// loop writes a loop, whose state is parts.
func (w *rewriter) loop(op *ir.Op) {
	region := op.Regions[0]
	args := []*ir.Value{w.whole(op.Args[0])}
	for i, v := range op.Args[1:] {
		args = append(args, w.part(v, w.of(op.Results[i])))
	}
	body := w.nested(region.Params, w.localType, region, func() []*ir.Value {
		out := make([]*ir.Value, len(region.Yields))
		for i, y := range region.Yields {
			axis := whole
			if i < len(op.Results) {
				axis = w.of(op.Results[i])
			}
			out[i] = w.part(y, axis)
		}
		return out
	})
	w.emit(op, args, attrsOf(op), []*ir.Block{body})
}

// carry writes what goes strictly in order along the axis that is cut: the state comes from the rank before, goes
// through the elements of this one, and goes to the next.
func (w *rewriter) carry(op *ir.Op) {
	x := op.Args[len(op.Args)-1]
	s := w.of(x)
	if s == whole {
		w.copied(op)
		return
	}
	scan := op.Def.Sharding == ir.ShardScan
	axes := []int64{int64(x.Type.Rank() - 1)}
	if !scan {
		axes = ops.ReducedAxes(op)
	}
	if !slices.Contains(axes, int64(s)) {
		args := append(w.clone.ValueList(op.Args[:len(op.Args)-1]), w.part(x, s))
		w.emit(op, args, attrsOf(op), w.regions(op))
		return
	}
	if empty(x.Type.Shape) { // a scan of nothing has parts all the same
		if !scan {
			w.copied(op)
			return
		}
		args := []*ir.Value{w.part(x, s)}
		if len(op.Args) > 1 {
			args = []*ir.Value{w.whole(op.Args[0]), args[0]}
		}
		w.emit(op, args, attrsOf(op), w.regions(op))
		return
	}
	// What is gone along is one axis, the last.
	perm, rest := []int64{}, types.Shape{}
	for k, d := range x.Type.Shape {
		if !slices.Contains(axes, int64(k)) {
			perm, rest = append(perm, int64(k)), append(rest, d)
		}
	}
	b := scaled(w.blocks(x), elems(x.Type.Shape)/elems(rest)/literal(x.Type.Shape[s]))
	v := w.reshaped(w.permuted(w.part(x, s), slices.Concat(perm, axes)), with(rest, b.Len(w.ranks.Rank)))
	last := int64(len(rest))
	init := len(op.Args) > 1
	none := w.filled(x.Type.Elem, 0, with(rest, 1))
	state := w.b.Emit(exchange.FromPrevious, nil, none)
	n := b.Len(w.ranks.Rank)
	attrs := ir.A{}
	args := []*ir.Value{v}
	first := w.ranks.Rank == 0
	if !first { // the state is an element in front of the others
		args = []*ir.Value{w.concat([]*ir.Value{state, v}, int(last))}
	} else if init {
		attrs["init"], args = true, []*ir.Value{w.whole(op.Args[0]), v}
	}
	var out, next *ir.Value
	if scan {
		out = w.b.EmitOp(op.Def, attrs, args, w.regions(op)).Result()
		next = w.slice(out, int(last), literal(out.Type.Shape[last])-1, 1)
		if !first {
			out = w.slice(out, int(last), 1, n)
		}
	} else {
		attrs["axes"], attrs["keep"] = []int64{last}, true
		next = w.b.EmitOp(op.Def, attrs, args, w.regions(op)).Result()
	}
	w.b.EmitOp(exchange.ToNext, nil, []*ir.Value{next}, nil)
	if scan {
		w.becomes(op.Results[0], out)
		return
	}
	ranks := int64(w.ranks.Size)
	all := w.gather(next, int(last), parts.Blocks{Extent: ranks, Block: 1})
	w.becomes(op.Results[0], w.reshaped(w.slice(all, int(last), ranks-1, 1), op.Type().Shape))
}

func with(rest types.Shape, n int64) types.Shape { return append(slices.Clone(rest), types.Lit(n)) }
