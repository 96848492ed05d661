package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// sort writes a sort, or the positions that sort. Where rows are cut and there are few, each rank sorts its part, gets
// what belongs into its block of the sorted row, and sorts that: what comes of one rank is in its order, and the ranks
// are in theirs, so that a stable sort keeps the order of elements that are equal.
func (w *rewriter) sort(op *ir.Op) {
	x := op.Args[0]
	s, axis := w.of(op.Results[0]), int(op.Int("axis"))
	shape := x.Type.Shape
	switch k := longest(shape, []int{axis}); {
	case s == axis && w.ranks.Size == 1:
		w.along(op, s, attrsOf(op))
		return
	case s != axis || empty(shape):
		w.rows(op)
		return
	case w.sortEnds(op):
		return
	case k != whole && literal(shape[k]) >= int64(w.ranks.Size):
		w.rows(op)
		return
	}
	perm, rest := []int64{}, types.Shape{}
	for k, d := range shape {
		if k != axis {
			perm, rest = append(perm, int64(k)), append(rest, d)
		}
	}
	perm = append(perm, int64(axis))
	b := w.blocks(x)
	n := b.Len(w.ranks.Rank)
	v := w.reshaped(w.permuted(w.part(x, axis), perm), lits(elems(rest), n))
	columns := w.sortPart(op, v, 1, func(y *ir.Value) *ir.Value { return y })
	columns = w.b.EmitOp(exchange.Sorted, ir.A{"extent": b.Extent, "block": b.Block}, columns, nil).Results
	out := w.permuted(w.reshaped(w.sortColumns(columns, 1), with(rest, n)), inverse(perm))
	w.becomes(op.Results[0], out)
}

// inverse is the order of axes that undoes another one.
func inverse(perm []int64) []int64 {
	out := make([]int64, len(perm))
	for k, a := range perm {
		out[a] = int64(k)
	}
	return out
}

// sortPart is the elements of this rank in order, those of which some picks, and for the positions that sort, theirs in
// the whole row as well.
func (w *rewriter) sortPart(op *ir.Op, v *ir.Value, axis int, some func(y *ir.Value) *ir.Value) []*ir.Value {
	a := ir.A{"axis": int64(axis)}
	if op.Def.Sharding == ir.ShardSort {
		return []*ir.Value{some(w.b.Emit(ops.Sort, a, v))}
	}
	at := some(w.b.Emit(ops.Argsort, a, v))
	sorted := w.b.Emit(ops.TakeAlongAxis, ir.A{"axis": int64(axis), "within": true}, v, at)
	start := w.cast(w.start(w.blocks(op.Args[0])), types.I32)
	return []*ir.Value{sorted, w.b.Emit(ops.Add, nil, at, w.spread(start, at.Type.Shape))}
}

// sortColumns sorts the last of the columns by the first.
func (w *rewriter) sortColumns(columns []*ir.Value, axis int) *ir.Value {
	if len(columns) == 1 {
		return w.b.Emit(ops.Sort, ir.A{"axis": int64(axis)}, columns[0])
	}
	order := w.b.Emit(ops.Argsort, ir.A{"axis": int64(axis)}, columns[0])
	return w.b.Emit(ops.TakeAlongAxis, ir.A{"axis": int64(axis), "within": true}, columns[1], order)
}

// ends is a sorted axis of which only some of the first and of the last elements are read. All ranks have these.
type ends struct {
	axis               int
	n                  int64     // elements of the axis
	first, last        int64     // how many are had of each end
	smallest, greatest *ir.Value // nil for none
}

// of gives the end that has the elements of the axis from lo on and before hi, and where it begins.
func (e *ends) of(lo, hi int64) (x *ir.Value, start int64) {
	if e.greatest == nil || e.smallest != nil && e.before(lo, hi) {
		return e.smallest, 0
	}
	return e.greatest, e.n - e.last
}

// before says of which end these elements are.
func (e *ends) before(lo, hi int64) bool { return hi <= e.n-lo }

// sortEnds writes a sort of which only ends are read, which are short: those of the sorted part of each rank are
// gathered, and sorted. It says whether it is one.
func (w *rewriter) sortEnds(op *ir.Op) bool {
	x := op.Args[0]
	axis, b := int(op.Int("axis")), w.blocks(x)
	e := &ends{axis: axis, n: b.Extent}
	for _, u := range w.uses[op.Results[0]] {
		lo, hi, ok := int64(0), int64(0), false
		if u.Op != nil {
			lo, hi, ok = readAlong(u.Op, axis)
		}
		switch {
		case !ok:
			return false
		case e.before(lo, hi):
			e.first = max(e.first, hi)
		default:
			e.last = max(e.last, e.n-lo)
		}
	}
	if most := e.first + e.last; most == 0 || most*int64(w.ranks.Size) > b.Block {
		return false
	}
	v := w.part(x, axis)
	n := literal(v.Type.Shape[axis])
	end := func(count int64, last bool) *ir.Value {
		if count == 0 {
			return nil
		}
		some := func(y *ir.Value, of, count int64) *ir.Value {
			count = min(count, of)
			if last {
				return w.slice(y, axis, of-count, count)
			}
			return w.slice(y, axis, 0, count)
		}
		all := parts.Blocks{Block: min(count, b.Block)}
		for r := range w.ranks.Size {
			all.Extent += min(count, b.Len(r))
		}
		columns := w.sortPart(op, v, axis, func(y *ir.Value) *ir.Value { return some(y, n, count) })
		for i, c := range columns {
			columns[i] = w.gather(c, axis, all)
		}
		return some(w.sortColumns(columns, axis), all.Extent, count)
	}
	e.smallest, e.greatest = end(e.first, false), end(e.last, true)
	w.ends[op.Results[0]] = e
	return true
}

// readAlong is the elements of an axis that are read by a slice, or at a position that is known.
func readAlong(op *ir.Op, axis int) (lo, hi int64, ok bool) {
	switch op.Def.Sharding {
	case ir.ShardSlice:
		first, step, n := literal(op.Dims("starts")[axis]), op.Ints("steps")[axis], literal(op.Dims("shape")[axis])
		if n == 0 {
			return 0, 0, true
		}
		last := first + (n-1)*step
		return min(first, last), max(first, last) + 1, true
	case ir.ShardRead:
		if k := slices.Index(op.Ints("axes"), int64(axis)); k >= 0 && drops(op) {
			at, known := constant(op.Args[1+k])
			return at, at + 1, known && at >= 0 && at < literal(op.Args[0].Type.Shape[axis])
		}
	}
	return 0, 0, false
}

// readEnds writes a read of the ends of what is sorted, and says whether it is one.
func (w *rewriter) readEnds(op *ir.Op) bool {
	e := w.ends[op.Args[0]]
	if e == nil {
		return false
	}
	lo, hi, _ := readAlong(op, e.axis)
	x, start := e.of(lo, hi)
	if op.Def.Sharding == ir.ShardRead {
		args := w.withPositions(x, op.Args[1:])
		k := 1 + slices.Index(op.Ints("axes"), int64(e.axis))
		args[k] = w.filled(args[k].Type.Elem, lo-start, nil)
		w.emit(op, args, attrsOf(op), nil)
		return true
	}
	attrs := attrsOf(op)
	starts := slices.Clone(op.Dims("starts"))
	starts[e.axis] = types.Lit(max(literal(starts[e.axis])-start, 0))
	attrs["starts"] = starts
	out := w.b.Emit(ops.Slice, attrs, x)
	w.becomes(op.Results[0], w.cutOut(out, e.axis, w.blocksOf(out.Type.Shape[e.axis])))
	return true
}
