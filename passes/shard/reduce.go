package shard

import (
	"math"
	"slices"

	"healc/ir"
	"healc/ir/exchange"
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
	case wide(x.Type.Shape, axes, s): // along the cut axis there is one element
		w.copied(op)
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
	v = w.permuted(v, perm)
	cut := parts.Blocks{Extent: b.Extent, Block: (b.Block + chunk - 1) / chunk * chunk}
	chunks := parts.Blocks{Extent: (cut.Extent + chunk - 1) / chunk, Block: cut.Block / chunk}
	size := elems(rest) * int64(v.Type.Elem.Bytes())
	whole := func(v *ir.Value, along int) *ir.Value {
		return w.b.Emit(op.Def, ir.A{"axes": []int64{int64(along)}}, v)
	}
	n := cut.Len(w.ranks.Rank)
	full := n / chunk * chunk
	apart := b == cut && n == full && n > 0 // there may be more elements than an axis can have
	if most := max(n, b.Len(w.ranks.Rank)); !apart && most > types.MaxExtent {
		w.fail(op, "cut it into more parts, by more ranks",
			"a rank has %d elements of what %s reduces, and can have %d at most: %s", most, op.Def.Quoted(),
			int64(types.MaxExtent), typed(x.Type, s))
		w.copied(op)
		return
	}
	if !apart {
		v = w.reshaped(v, with(b.Len(w.ranks.Rank)))
	}
	moved := w.recutCost(b, cut, size) + min(w.gatherCost(chunks, size), w.scatterCost(chunks, size, rest))
	if b != cut && w.scatterCost(b, size, rest) < moved {
		v = w.reduceScatter(v, along, b, rest, whole)
	} else {
		if !apart {
			v = w.recut(v, along, b, cut)
		}
		var pieces []*ir.Value
		if full > 0 {
			y := v
			if !apart {
				y = w.slice(v, along, 0, full)
			}
			pieces = append(pieces, whole(w.reshaped(y, with(full/chunk, chunk)), along+1))
		}
		if n > full {
			y := w.slice(v, along, full, n-full)
			pieces = append(pieces, w.b.Emit(op.Def, ir.A{"axes": []int64{int64(along)}, "keep": true}, y))
		}
		if n > 0 {
			v = w.concat(pieces, along)
		}
		// The results of chunks are reduced by lanes.
		lanes := func(v *ir.Value, along int) *ir.Value {
			last := v.Type.Rank() - 1
			if along != last {
				perm := []int64{}
				for k := range last {
					perm = append(perm, int64(k+1))
				}
				v = w.permuted(v, append(perm, 0))
			}
			return whole(v, last)
		}
		if w.scatterCost(chunks, size, rest) < w.gatherCost(chunks, size) {
			v = w.reduceScatter(v, along, chunks, rest, lanes)
		} else {
			v = lanes(w.gather(v, along, chunks), along)
		}
	}
	w.becomes(op.Results[0], w.reshaped(w.cast(v, to), op.Type().Shape))
}

// Note [Reduce-scatter]. What is reduced along the axis that is cut, chunks or elements, can be brought together in two
// ways. Either all ranks gather all of it, and each reduces it; or each rank gets all of a part of the other axes,
// reduces that, and the results are gathered (reduce-scatter and all-gather; Rabenseifner, 2004). That moves, for each
// rank, its own part and the result, and not the parts of all, but takes a message for each other rank. Where blocks
// are shorter than chunks, chunks would be brought to few ranks first; the elements can be exchanged so without that.
// What moves least is taken; the order in which each number is reduced is the same.

// latencyBytes is how many bytes a network moves in the time that a message takes anyway. It is one number for all
// networks, since all ranks have to decide alike.
var latencyBytes int64 = 32 << 10

// gatherCost is how many bytes a rank moves for all of an axis that is cut, whose elements have size bytes each.
func (w *rewriter) gatherCost(b parts.Blocks, size int64) int64 {
	return b.Extent*size + latencyBytes*parts.GatherRounds(w.ranks.Size, false)
}

// scatterCost is how many bytes it moves by reduceScatter.
func (w *rewriter) scatterCost(b parts.Blocks, size int64, rest types.Shape) int64 {
	n := elems(rest)
	if n < 2 {
		return math.MaxInt64
	}
	mine := parts.CutFor(n, w.ranks.Size).Block * (size / n) * b.Extent
	return max(min(b.Block, b.Extent)*size, mine) + latencyBytes*int64(w.ranks.Size-1) +
		w.gatherCost(parts.Blocks{Extent: 1}, size)
}

// recutCost is how many bytes it moves where an axis is cut in another way.
func (w *rewriter) recutCost(from, to parts.Blocks, size int64) int64 {
	most := int64(0)
	for r := range w.ranks.Size {
		lo, hi := to.Of(r)
		before, after := from.Halo(r, w.ranks.Size, parts.Window{Lo: lo, Hi: hi})
		if n := before + after; n > 0 {
			most = max(most, n*size+latencyBytes*((n-1)/from.Block+1))
		}
	}
	return most
}

// reduceScatter reduces along an axis that is cut: each rank a part of the other axes, and all get the results.
func (w *rewriter) reduceScatter(v *ir.Value, along int, b parts.Blocks, rest types.Shape,
	reduce func(v *ir.Value, along int) *ir.Value) *ir.Value {
	n, length := elems(rest), literal(v.Type.Shape[along])
	to, flat := 1, lits(length, n)
	if along > 0 {
		along, to, flat = 1, 0, lits(n, length)
	}
	t := parts.CutFor(n, w.ranks.Size)
	v = w.b.Emit(exchange.AllToAll, ir.A{"axis": int64(along), "extent": b.Extent, "block": b.Block, "to": int64(to),
		"to_block": t.Block, "size": t.Len(w.ranks.Rank)}, w.reshaped(v, flat))
	return w.reshaped(w.gather(reduce(v, along), 0, t), rest)
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
