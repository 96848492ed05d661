package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/rows"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// rows writes operations on rows. Rows that are cut are made whole, each on one rank, and the results cut as they were;
// where there is one row, all ranks get it.
func (w *rewriter) rows(op *ir.Op) {
	s := w.of(op.Results[0])
	axis := int(op.Int("axis"))
	row := []int{axis}
	if op.Def.Sharding == ir.ShardRows && op.Int("rest") > 1 {
		row = append(row, axis-1)
	}
	along := s
	if slices.Contains(row, s) {
		if along = longest(op.Args[0].Type.Shape, row); along == whole {
			w.gatheredRows(op)
			return
		}
	}
	data, channels := max(op.Def.Tables, 1), whole
	if op.Def.Sharding == ir.ShardChannels {
		channels = int(rows.ChannelAxis(op.Args[0].Type.Rank(), int64(axis)))
	}
	args := make([]*ir.Value, len(op.Args))
	for i, a := range op.Args {
		switch {
		case i < data && w.of(a) == whole:
			args[i] = w.part(a, along)
		case i < data:
			args[i] = w.swapped(w.part(a, s), s, w.blocksOf(a.Type.Shape[s]), along, w.blocksOf(a.Type.Shape[along]))
		case along == channels && i < len(op.Args)-1: // a row of a table for each channel; the last is positions
			args[i] = w.cutOut(w.whole(a), 0, w.blocksOf(a.Type.Shape[0]))
		default:
			args[i] = w.whole(a)
		}
	}
	out := w.b.EmitOp(op.Def, attrsOf(op), args, nil)
	for i, r := range op.Results {
		shape := r.Type.Shape
		w.becomes(r, w.swapped(out.Results[i], along, w.blocksOf(shape[along]), s, w.blocksOf(shape[s])))
	}
}

// longest is the longest axis of a shape that is none of these, whole where that has one element at most.
func longest(shape types.Shape, but []int) int {
	out, most := whole, int64(1)
	for k, d := range shape {
		if n := literal(d); n > most && !slices.Contains(but, k) {
			out, most = k, n
		}
	}
	return out
}

// gatheredRows writes an operation on rows that every rank gets, of whose results each takes its part.
func (w *rewriter) gatheredRows(op *ir.Op) {
	s := w.of(op.Results[0])
	args := make([]*ir.Value, len(op.Args))
	for i, a := range op.Args {
		args[i] = w.whole(a)
	}
	out := w.b.EmitOp(op.Def, attrsOf(op), args, nil)
	for i, r := range op.Results {
		w.becomes(r, w.cutOut(out.Results[i], s, w.blocksOf(r.Type.Shape[s])))
	}
}

// update writes the replacement of a part of a tensor.
func (w *rewriter) update(op *ir.Op) {
	x, v := op.Args[0], op.Args[1]
	s := w.of(op.Results[0])
	axes, sizes := op.Ints("axes"), op.Dims("sizes")
	starts, steps, shape := slices.Clone(op.Dims("starts")), slices.Clone(op.Ints("steps")),
		slices.Clone(op.Dims("shape"))
	attrs := ir.A{"starts": starts, "steps": steps, "shape": shape}
	if len(axes) > 0 {
		attrs["axes"], attrs["sizes"] = axes, sizes
	}
	k := slices.Index(axes, int64(s))
	local := w.part(x, s)
	at := w.clone.ValueList(op.Args[2:])
	n := literal(local.Type.Shape[s])
	if k < 0 && starts[s].IsConst(0) && steps[s] == 1 && shape[s].Equal(x.Type.Shape[s]) {
		shape[s] = types.Lit(n)
		w.emit(op, append([]*ir.Value{local, w.part(v, s)}, at...), attrs, nil)
		return
	}
	if k < 0 {
		w.replace(op, local, at, attrs)
		return
	}
	// Row q of this rank is row (q + start - first) / step of what replaces it, where there is one.
	b := w.blocksOf(x.Type.Shape[s])
	rowsOf := lits(n)
	first := w.filled(types.I64, literal(starts[s]), nil)
	count, step := literal(shape[s]), steps[s]
	checked := w.b.Emit(ops.Position, ir.A{"extent": x.Type.Shape[s], "size": sizes[k]}, at[k])
	first = w.b.Emit(ops.Add, nil, first, w.cast(checked, types.I64))
	axes = slices.Delete(slices.Clone(axes), k, k+1)
	sizes = slices.Delete(slices.Clone(sizes), k, k+1)
	at = slices.Delete(slices.Clone(at), k, k+1)
	attrs["axes"], attrs["sizes"] = axes, sizes
	if len(axes) == 0 {
		delete(attrs, "axes")
		delete(attrs, "sizes")
	}
	all := w.whole(v)
	if n == 0 || empty(shape) {
		w.becomes(op.Results[0], local)
		return
	}
	q := w.cast(w.b.Emit(ops.Iota, ir.A{"start": types.Lit(0), "extent": types.Lit(n)}), types.I64)
	q = w.b.Emit(ops.Add, nil, q, w.spread(w.b.Emit(ops.Sub, nil, w.start(b), first), rowsOf))
	steps64 := w.filled(types.I64, step, rowsOf)
	i := w.b.Emit(ops.Div, nil, q, steps64)
	zero := w.filled(types.I64, 0, rowsOf)
	last := w.filled(types.I64, count-1, rowsOf)
	is := w.b.Emit(ops.Eq, nil, w.b.Emit(ops.Mul, nil, i, steps64), q)
	is = w.b.Emit(ops.And, nil, is, w.b.Emit(ops.Le, nil, zero, i))
	is = w.b.Emit(ops.And, nil, is, w.b.Emit(ops.Le, nil, i, last))
	i = w.b.Emit(ops.Select, nil, is, i, zero)
	// What is there, and what replaces it, with all rows of this rank.
	old := local
	if len(axes) > 0 {
		old = w.b.Emit(ops.DynamicSlice, ir.A{"axes": axes, "sizes": sizes}, append([]*ir.Value{old}, at...)...)
	}
	starts[s], steps[s], shape[s] = types.Lit(0), 1, types.Lit(n)
	old = w.b.Emit(ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, old)
	taken := w.b.Emit(ops.Gather, ir.A{"axes": []int64{int64(s)}}, all, i)
	perm := []int64{} // the rows are the first axis of what was taken
	for a := range shape {
		switch {
		case a < s:
			perm = append(perm, int64(a+1))
		case a == s:
			perm = append(perm, 0)
		default:
			perm = append(perm, int64(a))
		}
	}
	taken = w.permuted(taken, perm)
	ones := make(types.Shape, len(shape)-s)
	for a := range ones {
		ones[a] = types.Lit(1)
	}
	ones[0] = types.Lit(n)
	is = w.b.Emit(ops.Broadcast, ir.A{"shape": shape}, w.reshaped(is, ones))
	fresh := w.b.Emit(ops.Select, nil, is, taken, old)
	w.emit(op, append([]*ir.Value{local, fresh}, at...), attrs, nil)
}

// replace writes an update at rows that are known: each rank replaces those that it has, by what it may get of others.
func (w *rewriter) replace(op *ir.Op, local *ir.Value, at []*ir.Value, attrs ir.A) {
	x, v := op.Args[0], op.Args[1]
	s := w.of(op.Results[0])
	starts, steps, shape := attrs["starts"].(types.Shape), attrs["steps"].([]int64), attrs["shape"].(types.Shape)
	first, step, count := literal(starts[s]), steps[s], literal(shape[s])
	b := w.blocksOf(x.Type.Shape[s])
	want := func(rank int) parts.Window {
		lo, hi := b.Of(rank)
		if step < 0 { // rows lo..hi backwards
			return inSteps(-(hi - 1), -(lo - 1), -first, -step, count)
		}
		return inSteps(lo, hi, first, step, count)
	}
	mine := want(w.ranks.Rank)
	fresh := w.clone.Value(v)
	if w.of(v) == whole {
		fresh = w.slice(fresh, s, mine.Lo, mine.Hi-mine.Lo)
	} else {
		fresh = w.window(fresh, s, w.cutAs(v), want)
	}
	if mine.Lo == mine.Hi { // positions on other axes are checked all the same
		for i, a := range op.Ints("axes") {
			w.b.Emit(ops.Position, ir.A{"extent": x.Type.Shape[a], "size": op.Dims("sizes")[i]}, at[i])
		}
		w.becomes(op.Results[0], local)
		return
	}
	lo, _ := b.Of(w.ranks.Rank)
	starts[s], shape[s] = types.Lit(first+mine.Lo*step-lo), types.Lit(mine.Hi-mine.Lo)
	w.emit(op, append([]*ir.Value{local, fresh}, at...), attrs, nil)
}

// inSteps is which of the rows first, first + step, ..., of which there are count, are from lo on and before hi.
func inSteps(lo, hi, first, step, count int64) parts.Window {
	up := func(n int64) int64 { return max((n+step-1)/step, 0) } // of what is not negative, or 0
	if lo >= hi {
		return parts.Window{}
	}
	from, to := min(up(lo-first), count), min(up(hi-first), count)
	return parts.Window{Lo: from, Hi: max(from, to)}
}
