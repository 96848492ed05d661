package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// broadcast writes the repetition of a part.
func (w *rewriter) broadcast(op *ir.Op) {
	to := w.of(op.Results[0])
	if to == whole {
		w.copied(op)
		return
	}
	x := op.Args[0]
	w.becomes(op.Results[0], w.b.Emit(ops.Broadcast, ir.A{"shape": w.localShape(op.Type().Shape, to)},
		w.part(x, w.of(x))))
}

// read writes a read at positions of axes.
func (w *rewriter) read(op *ir.Op) {
	if w.readEnds(op) {
		return
	}
	if w.of(op.Results[0]) == whole {
		w.fetched(op)
		return
	}
	x := op.Args[0]
	w.emit(op, w.withPositions(w.part(x, w.of(x)), op.Args[1:]), attrsOf(op), nil)
}

func (w *rewriter) withPositions(x *ir.Value, at []*ir.Value) []*ir.Value {
	return append([]*ir.Value{x}, w.clone.ValueList(at)...)
}

// localShape is the shape of this rank's part of a tensor.
func (w *rewriter) localShape(s types.Shape, axis int) types.Shape {
	if axis == whole {
		return s
	}
	out := slices.Clone(s)
	out[axis] = types.Lit(w.mine(s[axis]))
	return out
}

// reshape writes a reshape: the elements from the axis on that is cut are one run, of which a rank has a part, and the
// axis of the result begins there.
func (w *rewriter) reshape(op *ir.Op) {
	x := op.Args[0]
	s, t := w.of(x), w.of(op.Results[0])
	if t == whole {
		w.copied(op)
		return
	}
	shape := op.Type().Shape
	outer, inner, width := elems(x.Type.Shape[:s]), elems(x.Type.Shape[s+1:]), elems(shape[t+1:])
	from, to := scaled(w.blocks(x), inner), scaled(w.blocksOf(shape[t]), width)
	v := w.part(x, s)
	if from != to {
		v = w.reshaped(v, lits(outer, from.Len(w.ranks.Rank)))
		v = w.recut(v, 1, from, to)
	}
	w.becomes(op.Results[0], w.reshaped(v, w.localShape(shape, t)))
}

// scaled is how an axis is cut each of whose elements is n.
func scaled(b parts.Blocks, n int64) parts.Blocks {
	return parts.Blocks{Extent: b.Extent * n, Block: max(b.Block*n, 1), Origin: b.Origin * n}
}

func elems(s types.Shape) int64 {
	n := int64(1)
	for _, d := range s {
		n *= literal(d)
	}
	return n
}

func lits(ns ...int64) types.Shape {
	out := make(types.Shape, len(ns))
	for i, n := range ns {
		out[i] = types.Lit(n)
	}
	return out
}

// sliced writes a slice: what a rank has of the result may lie with its neighbours.
func (w *rewriter) sliced(op *ir.Op) {
	if w.readEnds(op) {
		return
	}
	x := op.Args[0]
	s := w.of(x)
	starts, steps, shape := slices.Clone(op.Dims("starts")), slices.Clone(op.Ints("steps")),
		slices.Clone(op.Dims("shape"))
	v := w.clone.Value(x)
	if !w.inPlace(op) {
		v = w.wanted(op, v)
	}
	cut := w.sliceCut(op)
	n := cut.Len(w.ranks.Rank)
	starts[s], shape[s] = types.Lit(0), types.Lit(n)
	if steps[s] < 0 && n > 0 {
		starts[s] = types.Lit(-(n - 1) * steps[s])
	}
	w.becomes(op.Results[0], w.b.Emit(ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, v))
	w.isCut(op.Results[0], cut)
}

// inPlace reports that a slice has all elements of the axis that is cut, where they are.
func (w *rewriter) inPlace(op *ir.Op) bool {
	s := w.of(op.Args[0])
	return op.Dims("starts")[s].IsConst(0) && op.Ints("steps")[s] == 1 &&
		op.Dims("shape")[s].Equal(op.Args[0].Type.Shape[s])
}

// sliceCut is how the result of a slice is cut: see Note [Inner parts].
func (w *rewriter) sliceCut(op *ir.Op) parts.Blocks {
	x := op.Args[0]
	s, b := w.of(x), w.cutAs(x)
	n := literal(op.Dims("shape")[s])
	if out := b.Extent - n; op.Ints("steps")[s] == 1 && n > 0 && out <= b.Block/4 {
		return parts.Blocks{Extent: n, Block: b.Block, Origin: b.Origin + out/2}
	}
	return w.blocksOf(op.Dims("shape")[s])
}

// sliceWindow is the elements that a rank needs of the operand of a slice.
func (w *rewriter) sliceWindow(op *ir.Op, rank int) parts.Window {
	s := w.of(op.Args[0])
	first, step := literal(op.Dims("starts")[s]), op.Ints("steps")[s]
	lo, hi := w.sliceCut(op).Of(rank)
	if lo == hi {
		return parts.Window{}
	}
	from, last := first+lo*step, first+(hi-1)*step
	return parts.Window{Lo: min(from, last), Hi: max(from, last) + 1}
}

// shared is a tensor of which several slices are taken, as a stencil does: what all of them need is sent once.
type shared struct {
	slices  []*ir.Op
	windows []parts.Window // of each rank
	halo    []*ir.Value    // what this rank got, once it is sent
}

// share finds the slices of a block that may be sent together.
func (w *rewriter) share(b *ir.Block) map[*ir.Value]*shared {
	found := map[*ir.Value]*shared{}
	for _, op := range b.Ops {
		if op.Def.Sharding != ir.ShardSlice || w.of(op.Args[0]) == whole || w.inPlace(op) {
			continue
		}
		x := op.Args[0]
		if found[x] == nil {
			found[x] = &shared{}
		}
		found[x].slices = append(found[x].slices, op)
	}
	return found
}

// group is the slices of x in the current block, nil where they are sent one by one: they are far apart, or it is one.
func (w *rewriter) group(x *ir.Value) *shared {
	g := w.together[len(w.together)-1][x]
	if g == nil || len(g.slices) < 2 {
		return nil
	}
	if g.windows != nil {
		return g
	}
	b := w.cutAs(x)
	alone, together := int64(0), int64(0)
	for rank := range w.ranks.Size {
		var all parts.Window
		for _, op := range g.slices {
			v := w.sliceWindow(op, rank)
			before, after := b.Halo(rank, w.ranks.Size, v)
			alone += before + after
			switch {
			case v.Lo == v.Hi:
			case all.Lo == all.Hi:
				all = v
			default:
				all = parts.Window{Lo: min(all.Lo, v.Lo), Hi: max(all.Hi, v.Hi)}
			}
		}
		before, after := b.Halo(rank, w.ranks.Size, all)
		together += before + after
		g.windows = append(g.windows, all)
	}
	if together > alone || together == 0 { // they are far apart, or nothing is sent
		g.slices = nil
		return nil
	}
	return g
}

// wanted is what this rank needs of the operand of a slice.
func (w *rewriter) wanted(op *ir.Op, v *ir.Value) *ir.Value {
	x := op.Args[0]
	s, b := w.of(x), w.cutAs(x)
	g := w.group(x)
	if g == nil {
		return w.window(v, s, b, func(rank int) parts.Window { return w.sliceWindow(op, rank) })
	}
	lo, hi := b.Of(w.ranks.Rank)
	all, mine := g.windows[w.ranks.Rank], w.sliceWindow(op, w.ranks.Rank)
	if g.halo == nil {
		g.halo = w.halo(v, s, b, g.windows)
	}
	var pieces []*ir.Value
	piece := func(x *ir.Value, first, from, to int64) {
		if from < to {
			pieces = append(pieces, w.slice(x, s, from-first, to-from))
		}
	}
	piece(g.halo[0], all.Lo, mine.Lo, min(mine.Hi, lo))
	piece(v, lo, max(mine.Lo, lo), min(mine.Hi, hi))
	piece(g.halo[1], max(all.Lo, hi), max(mine.Lo, hi), mine.Hi)
	if len(pieces) == 0 {
		return w.slice(v, s, 0, 0)
	}
	return w.concat(pieces, s)
}

// halo is what other ranks have of the windows: that of ranks before this one, and that of ranks behind it.
func (w *rewriter) halo(x *ir.Value, axis int, b parts.Blocks, windows []parts.Window) []*ir.Value {
	var list []int64
	for _, v := range windows {
		list = append(list, v.Lo, v.Hi)
	}
	before, after := b.Halo(w.ranks.Rank, w.ranks.Size, windows[w.ranks.Rank])
	return w.b.EmitOp(exchange.Halo, withOrigin(ir.A{"axis": int64(axis), "extent": b.Extent, "block": b.Block,
		"windows": list, "before": before, "after": after}, b), []*ir.Value{x}, nil).Results
}

// joined writes a concat.
func (w *rewriter) joined(op *ir.Op) {
	axis, s := int(op.Int("axis")), w.of(op.Results[0])
	if s != axis {
		w.along(op, s, attrsOf(op))
		return
	}
	to := w.blocksOf(op.Type().Shape[s])
	at := int64(0)
	var pieces []*ir.Value
	var none *ir.Value
	for _, x := range op.Args {
		n, first := literal(x.Type.Shape[s]), at
		at += n
		want := func(rank int) parts.Window {
			lo, hi := to.Of(rank)
			lo, hi = max(lo-first, 0), min(hi-first, n)
			return parts.Window{Lo: lo, Hi: max(lo, hi)}
		}
		v := w.clone.Value(x)
		if w.of(x) == whole {
			mine := want(w.ranks.Rank)
			v = w.slice(v, s, mine.Lo, mine.Hi-mine.Lo)
		} else {
			v = w.window(v, s, w.cutAs(x), want)
		}
		if none = v; !v.Type.Shape[s].IsConst(0) {
			pieces = append(pieces, v)
		}
	}
	if len(pieces) == 0 {
		pieces = []*ir.Value{none}
	}
	w.becomes(op.Results[0], w.concat(pieces, s))
}

// fetched writes a read at a position of the axis that is cut: the rank that has it sends it to all.
func (w *rewriter) fetched(op *ir.Op) {
	x := op.Args[0]
	s := w.of(x)
	axes := op.Ints("axes")
	k := slices.Index(axes, int64(s))
	size := types.Lit(1)
	if !drops(op) {
		size = op.Dims("sizes")[k]
	}
	args := w.withPositions(nil, op.Args[1:])
	if size.IsConst(0) {
		args[0] = w.slice(w.part(x, s), s, 0, 0)
	} else {
		checked := w.b.Emit(ops.Position, ir.A{"extent": x.Type.Shape[s], "size": size}, args[1+k])
		b := w.blocks(x)
		args[0] = w.b.Emit(exchange.Fetch, ir.A{"axis": int64(s), "extent": b.Extent, "block": b.Block,
			"size": literal(size)}, w.part(x, s), w.cast(checked, types.I64))
	}
	args[1+k] = w.filled(args[1+k].Type.Elem, 0, nil)
	w.emit(op, args, attrsOf(op), nil)
}
