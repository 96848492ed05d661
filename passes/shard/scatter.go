package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// scatter writes additions at positions.
func (w *rewriter) scatter(op *ir.Op) {
	axis, to := int(op.Int("axis")), w.of(op.Results[0])
	from := w.added(op)
	switch {
	case to == whole && (from == whole || empty(op.Args[1].Type.Shape) || empty(op.Type().Shape)):
		w.copied(op)
	case to == whole:
		w.scatterToAll(op, from)
	case to != axis:
		w.emit(op, []*ir.Value{w.part(op.Args[0], to), w.brought(op.Args[1], to), w.brought(op.Args[2], to)},
			attrsOf(op), nil)
	case from == whole:
		w.scatterMine(op)
	default:
		w.scatterToOwners(op, from)
	}
}

// scatterMine writes additions that every rank has: each makes those to its own part. What falls elsewhere is added to
// an element behind it, which is dropped.
func (w *rewriter) scatterMine(op *ir.Op) {
	axis := int(op.Int("axis"))
	x := w.part(op.Args[0], axis)
	n := literal(x.Type.Shape[axis])
	at := w.checked(op, w.whole(op.Args[1]))
	shape := at.Type.Shape
	local := w.b.Emit(ops.Sub, nil, at, w.spread(w.start(w.blocksOf(op.Type().Shape[axis])), shape))
	behind := w.filled(types.I64, n, shape)
	mine := w.b.Emit(ops.And, nil, w.b.Emit(ops.Le, nil, w.filled(types.I64, 0, shape), local),
		w.b.Emit(ops.Lt, nil, local, behind))
	local = w.b.Emit(ops.Select, nil, mine, local, behind)
	extra := slices.Clone(x.Type.Shape)
	extra[axis] = types.Lit(1)
	x = w.concat([]*ir.Value{x, w.filled(x.Type.Elem, 0, extra)}, axis)
	out := w.b.Emit(ops.ScatterAdd, ir.A{"axis": int64(axis)}, x, local, w.whole(op.Args[2]))
	w.becomes(op.Results[0], w.slice(out, axis, 0, n))
}

// checked is the positions of a scatter, which are on its axis.
func (w *rewriter) checked(op *ir.Op, at *ir.Value) *ir.Value {
	extent := op.Type().Shape[op.Int("axis")]
	return w.cast(w.b.Emit(ops.Position, ir.A{"extent": extent, "size": types.Lit(1)}, at), types.I64)
}

// scatterToOwners writes additions that are cut to what is cut along their axis: they are sent to the ranks that have
// the elements (Note [Updates in rounds] in runtime/exchange), which add them in the order in which they come.
func (w *rewriter) scatterToOwners(op *ir.Op, from int) {
	axis, shape := int(op.Int("axis")), op.Type().Shape
	updates := op.Args[1].Type.Shape
	x := w.part(op.Args[0], axis)
	axes, at := w.counted(shape, axis, w.checked(op, w.brought(op.Args[1], from)), from)
	at = w.reshaped(at, lits(elems(at.Type.Shape)))
	v := w.reshaped(w.brought(op.Args[2], from), at.Type.Shape)
	all := elems(updates)
	b := scaled(w.blocksOf(shape[axis]), elems(shape)/max(literal(shape[axis]), 1))
	size := w.blocksOf(updates[from]).Block * (all / max(literal(updates[from]), 1))
	size = max(min(size+size/4+16, all), 1) // one round does if positions are spread
	attrs := ir.A{"extent": b.Extent, "block": b.Block, "size": size}
	x = w.permuted(x, axes)
	n := elems(x.Type.Shape)
	sum := w.concat([]*ir.Value{w.reshaped(x, lits(n)), w.filled(x.Type.Elem, 0, lits(1))}, 0)
	rounds := w.b.Emit(exchange.UpdateRounds, attrs, at)
	step := &ir.Block{}
	in := &ir.Builder{Block: step, Span: op.Span}
	round := step.Param("", types.Scalar(types.I32), op.Span)
	state := step.Param("", sum.Type, op.Span)
	got := in.EmitOp(exchange.Updates, attrs, []*ir.Value{at, v, round}, nil).Results
	step.Yields = []*ir.Value{in.Emit(ops.ScatterAdd, ir.A{"axis": int64(0)}, state, got[0], got[1])}
	sum = w.b.EmitOp(ops.Iterate, nil, []*ir.Value{rounds, sum}, []*ir.Block{step}).Result()
	out := w.reshaped(w.slice(sum, 0, 0, n), x.Type.Shape)
	w.becomes(op.Results[0], w.permuted(out, inverse(axes)))
}

// scatterToAll writes additions that are cut to what every rank has. Sums that are the same in any order are made of
// those of all ranks, if these are not more than what is added; others go from rank to rank.
func (w *rewriter) scatterToAll(op *ir.Op, from int) {
	x := w.whole(op.Args[0])
	at, v := w.brought(op.Args[1], from), w.brought(op.Args[2], from)
	attrs := ir.A{"axis": op.Int("axis")}
	shape, ranks := x.Type.Shape, int64(w.ranks.Size)
	one := func(y *ir.Value) *ir.Value { return w.reshaped(y, slices.Concat(lits(1), shape)) }
	if !x.Type.Elem.IsFloat() && ranks*elems(shape) <= elems(op.Args[1].Type.Shape) {
		mine := w.b.Emit(ops.ScatterAdd, attrs, w.filled(x.Type.Elem, 0, shape), at, v)
		sums := w.gather(one(mine), 0, parts.Blocks{Extent: ranks, Block: 1})
		sum := w.b.Emit(ops.ReduceSum, ir.A{"axes": []int64{0}}, sums)
		w.becomes(op.Results[0], w.b.Emit(ops.Add, nil, x, sum))
		return
	}
	sum := w.b.Emit(ops.ScatterAdd, attrs, w.b.Emit(exchange.FromPrevious, nil, x), at, v)
	w.b.EmitOp(exchange.ToNext, nil, []*ir.Value{sum}, nil)
	last := w.b.Emit(exchange.Fetch, ir.A{"axis": int64(0), "extent": ranks, "block": int64(1), "size": int64(1)},
		one(sum), w.filled(types.I64, ranks-1, nil))
	w.becomes(op.Results[0], w.reshaped(last, shape))
}
