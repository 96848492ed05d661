package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// reduce writes a reduction along the axis that is cut: each rank reduces whole chunks, their results are gathered, and
// every rank reduces these.
func (w *rewriter) reduce(op *ir.Op) {
	x := op.Args[0]
	s, axes := w.of(x), op.Ints("axes")
	switch {
	case !slices.Contains(axes, int64(s)):
		w.along(op, s, attrsOf(op))
	case empty(x.Type.Shape):
		w.copied(op)
	case anyOrder(op):
		w.reduceParts(op)
	case slices.Contains(axes, int64(x.Type.Rank()-1)):
		w.reduceChunks(op, ops.LaneChunk)
	default:
		w.reduceChunks(op, ops.ColumnChunk)
	}
}

func empty(s types.Shape) bool {
	return slices.ContainsFunc(s, func(d types.Dim) bool { return d.IsConst(0) })
}

// filledRanks is how an axis is cut that has one element for each rank with a part that is not empty: the first ones.
func (w *rewriter) filledRanks(b parts.Blocks) parts.Blocks {
	return parts.Blocks{Extent: (b.Extent + b.Block - 1) / b.Block, Block: 1}
}

// reduceParts is a reduction that has the same bits in any order.
func (w *rewriter) reduceParts(op *ir.Op) {
	x := op.Args[0]
	s, axes := w.of(x), op.Ints("axes")
	v, b := w.part(x, s), w.blocks(x)
	local := axes
	if b.Len(w.ranks.Rank) == 0 { // the axis stays, without elements
		local = slices.DeleteFunc(slices.Clone(axes), func(a int64) bool { return int(a) == s })
	}
	if len(local) > 0 {
		v = w.b.Emit(op.Def, ir.A{"axes": local, "keep": true}, v)
	}
	v = w.gather(v, s, w.filledRanks(b))
	w.emit(op, []*ir.Value{v}, attrsOf(op), nil)
}

// reduceChunks is a reduction whose order is prescribed. What is reduced is one axis, the last one for chunks of lanes
// and else the first.
func (w *rewriter) reduceChunks(op *ir.Op, chunk int64) {
	x := op.Args[0]
	s, axes := w.of(x), op.Ints("axes")
	v := w.part(x, s)
	to := v.Type.Elem
	if to.IsFloat() && to.Bytes() < types.F32.Bytes() {
		v = w.cast(v, types.F32)
	}
	var kept []int64
	rest := types.Shape{}
	for k, d := range x.Type.Shape {
		if !slices.Contains(axes, int64(k)) {
			kept, rest = append(kept, int64(k)), append(rest, d)
		}
	}
	along := 0
	perm := slices.Concat(axes, kept)
	if chunk == ops.LaneChunk {
		along, perm = len(rest), slices.Concat(kept, axes)
	}
	// with is the shape of the rest with axes where the reduced ones are.
	with := func(ns ...int64) types.Shape {
		return slices.Concat(rest[:along:along], lits(ns...), rest[along:])
	}
	inner := int64(1)
	for _, a := range axes {
		if int(a) != s {
			inner *= literal(x.Type.Shape[a])
		}
	}
	b := scaled(w.blocks(x), inner)
	v = w.reshaped(w.permuted(v, perm), with(b.Len(w.ranks.Rank)))
	cut := parts.Blocks{Extent: b.Extent, Block: (b.Block + chunk - 1) / chunk * chunk}
	v = w.recut(v, along, b, cut)
	n := cut.Len(w.ranks.Rank)
	full := n / chunk * chunk
	var pieces []*ir.Value
	if full > 0 {
		y := w.reshaped(w.slice(v, along, 0, full), with(full/chunk, chunk))
		pieces = append(pieces, w.b.Emit(op.Def, ir.A{"axes": []int64{int64(along + 1)}}, y))
	}
	if n > full {
		y := w.slice(v, along, full, n-full)
		pieces = append(pieces, w.b.Emit(op.Def, ir.A{"axes": []int64{int64(along)}, "keep": true}, y))
	}
	if n > 0 {
		v = w.concat(pieces, along)
	}
	chunks := parts.Blocks{Extent: (cut.Extent + chunk - 1) / chunk, Block: cut.Block / chunk}
	v = w.gather(v, along, chunks)
	if along != len(rest) { // the results of chunks are reduced by lanes
		last := []int64{}
		for k := range rest {
			last = append(last, int64(k+1))
		}
		v = w.permuted(v, append(last, 0))
	}
	v = w.b.Emit(op.Def, ir.A{"axes": []int64{int64(len(rest))}}, v)
	w.becomes(op.Results[0], w.reshaped(w.cast(v, to), op.Type().Shape))
}

// extreme writes the position of an extreme along the axis that is cut: the first of the extremes of the parts.
func (w *rewriter) extreme(op *ir.Op) {
	x := op.Args[0]
	s, axes := w.of(x), ops.ReducedAxes(op)
	if !slices.Contains(axes, int64(s)) {
		w.along(op, s, attrsOf(op))
		return
	}
	if empty(x.Type.Shape) {
		w.copied(op)
		return
	}
	v, b := w.part(x, s), w.blocks(x)
	axis := int64(s)
	if op.Attr("axis") == nil { // along all elements, of which a rank has a run
		b = scaled(b, elems(x.Type.Shape)/b.Extent)
		v, axis = w.reshaped(v, lits(b.Len(w.ranks.Rank))), 0
	}
	at := w.cast(v, types.I32) // of an empty part: no positions
	if b.Len(w.ranks.Rank) > 0 {
		at = w.b.Emit(op.Def, ir.A{"axis": axis, "keep": true}, v)
		v = w.b.Emit(ops.TakeAlongAxis, ir.A{"axis": axis, "within": true}, v, at)
		at = w.b.Emit(ops.Add, nil, at, w.spread(w.cast(w.start(b), types.I32), at.Type.Shape))
	}
	ranks := w.filledRanks(b)
	v, at = w.gather(v, int(axis), ranks), w.gather(at, int(axis), ranks)
	which := w.b.Emit(op.Def, ir.A{"axis": axis, "keep": true}, v)
	at = w.b.Emit(ops.TakeAlongAxis, ir.A{"axis": axis, "within": true}, at, which)
	w.becomes(op.Results[0], w.reshaped(at, op.Type().Shape))
}
