package shard

import (
	"math"
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/types"
)

// requests writes reads at positions that are computed.
func (w *rewriter) requests(op *ir.Op) {
	x := op.Args[0]
	s, to := w.of(x), w.of(op.Results[0])
	axes := op.Ints("axes")
	if !slices.Contains(axes, int64(s)) || s == whole {
		args := []*ir.Value{w.part(x, s)}
		for _, v := range op.Args[1:] {
			if s == whole {
				args = append(args, w.part(v, to))
			} else {
				args = append(args, w.whole(v))
			}
		}
		w.emit(op, args, attrsOf(op), nil)
		return
	}
	// The axes that the positions count are one, that which is cut before the others.
	first := slices.Index(axes, int64(s))
	order := []int{first}
	for k := range axes {
		if k != first {
			order = append(order, k)
		}
	}
	ats, elem := make([]*ir.Value, len(axes)), counts(x.Type.Shape, axes)
	for k, v := range op.Args[1:] { // checked as they stand in the program
		ats[k] = w.cast(w.b.Emit(ops.Position, ir.A{"extent": x.Type.Shape[axes[k]], "size": types.Lit(1)},
			w.part(v, to)), elem)
	}
	var at *ir.Value
	perm := []int64{}
	for _, k := range order {
		if perm = append(perm, axes[k]); at == nil {
			at = ats[k]
			continue
		}
		n := w.filled(elem, literal(x.Type.Shape[axes[k]]), at.Type.Shape)
		at = w.b.Emit(ops.Add, nil, w.b.Emit(ops.Mul, nil, at, n), ats[k])
	}
	got := w.taken(x, perm, at)
	w.becomes(op.Results[0], w.reshaped(got, slices.Concat(at.Type.Shape, got.Type.Shape[1:])))
}

// counts is what counts positions on some axes of a shape: 32 bits where these do.
func counts(shape types.Shape, axes []int64) types.DType {
	left := int64(math.MaxInt32)
	for _, a := range axes {
		left /= max(literal(shape[a]), 1)
	}
	if left > 0 {
		return types.I32
	}
	return types.I64
}

// taken asks for the rows of x at positions on some axes, which are counted as one; the first of them is that which is
// cut.
func (w *rewriter) taken(x *ir.Value, axes []int64, at *ir.Value) *ir.Value {
	s := int(axes[0])
	perm, count, rest := slices.Clone(axes), int64(1), types.Shape{}
	for _, a := range axes[1:] {
		count *= literal(x.Type.Shape[a])
	}
	for k, d := range x.Type.Shape {
		if !slices.Contains(axes, int64(k)) {
			perm, rest = append(perm, int64(k)), append(rest, d)
		}
	}
	b := scaled(w.blocks(x), count)
	rows := w.reshaped(w.permuted(w.part(x, s), perm), slices.Concat(lits(w.blocks(x).Len(w.ranks.Rank)*count), rest))
	flat := w.reshaped(at, lits(elems(at.Type.Shape)))
	return w.b.Emit(exchange.Take, ir.A{"extent": b.Extent, "block": b.Block}, rows, flat)
}

// lookedUp writes reads at positions along an axis.
func (w *rewriter) lookedUp(op *ir.Op) {
	x, idx, axis := op.Args[0], op.Args[1], int(op.Int("axis"))
	to := w.of(op.Results[0])
	switch {
	case w.of(x) == axis:
	case to == axis: // the positions are cut, and what they are looked up in is not
		w.emit(op, []*ir.Value{w.whole(x), w.part(idx, to)}, attrsOf(op), nil)
		return
	default:
		w.emit(op, []*ir.Value{w.part(x, to), w.brought(idx, to)}, attrsOf(op), nil)
		return
	}
	at := w.cast(w.part(idx, to), types.I64)
	shape := at.Type.Shape
	extent := x.Type.Shape[axis]
	if !op.Flag("within") { // what counts from the end, and is in range, from the start
		n := literal(extent)
		back := w.b.Emit(ops.And, nil, w.b.Emit(ops.Le, nil, w.filled(types.I64, -n, shape), at),
			w.b.Emit(ops.Lt, nil, at, w.filled(types.I64, 0, shape)))
		at = w.b.Emit(ops.Select, nil, back, w.b.Emit(ops.Add, nil, at, w.filled(types.I64, n, shape)), at)
	}
	at = w.b.Emit(ops.Position, ir.A{"extent": extent, "size": types.Lit(1)}, at)
	all := make([]int64, len(x.Type.Shape))
	for k := range all {
		all[k] = int64(k)
	}
	axes, at := w.counted(x.Type.Shape, axis, w.cast(at, counts(x.Type.Shape, all)), to)
	w.becomes(op.Results[0], w.reshaped(w.taken(x, axes, at), shape))
}

// counted is the positions of elements of a tensor of a shape whose axes are in an order, one of them first, counted as
// one: that along this axis is in at, which is cut along another one, or the same, and those along the others are those
// in at itself.
func (w *rewriter) counted(of types.Shape, axis int, at *ir.Value, to int) (axes []int64, out *ir.Value) {
	shape, elem := at.Type.Shape, at.Type.Elem
	axes = []int64{int64(axis)}
	for k, d := range of {
		if k == axis {
			continue
		}
		axes = append(axes, int64(k))
		n := literal(shape[k])
		i := w.cast(w.b.Emit(ops.Iota, ir.A{"start": types.Lit(0), "extent": types.Lit(n)}), elem)
		if k == to {
			i = w.b.Emit(ops.Add, nil, i, w.spread(w.cast(w.start(w.blocksOf(d)), elem), lits(n)))
		}
		ones := slices.Repeat(lits(1), len(shape)-k)
		ones[0] = types.Lit(n)
		i = w.b.Emit(ops.Broadcast, ir.A{"shape": shape}, w.reshaped(i, ones))
		at = w.b.Emit(ops.Add, nil, w.b.Emit(ops.Mul, nil, at, w.filled(elem, literal(d), shape)), i)
	}
	return axes, at
}
