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
	starts, xs := op.Args[:ops.Starts(op)], op.Args[ops.Starts(op):]
	s := whole
	for _, x := range xs {
		s = max(s, w.of(x))
	}
	if s == whole {
		w.copied(op)
		return
	}
	scan := op.Def.Sharding == ir.ShardScan
	x := xs[0]
	axes := []int64{int64(x.Type.Rank() - 1)}
	if !scan {
		axes = ops.ReducedAxes(op)
	}
	if !scan && empty(x.Type.Shape) && slices.Contains(axes, int64(s)) {
		w.copied(op)
		return
	}
	rows := whole
	if !slices.Contains(axes, int64(s)) {
		rows = w.of(op.Results[0])
	}
	var args []*ir.Value
	for _, v := range starts {
		if v.Type.IsScalar() {
			args = append(args, w.whole(v))
		} else { // one for each row
			args = append(args, w.brought(v, rows))
		}
	}
	for _, x := range xs {
		args = append(args, w.part(x, s))
	}
	if !slices.Contains(axes, int64(s)) || empty(x.Type.Shape) { // a scan of nothing has parts all the same
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
	b := scaled(w.blocksOf(x.Type.Shape[s]), elems(x.Type.Shape)/elems(rest)/literal(x.Type.Shape[s]))
	n := b.Len(w.ranks.Rank)
	for i := len(starts); i < len(args); i++ {
		args[i] = w.reshaped(w.permuted(args[i], slices.Concat(perm, axes)), with(rest, n))
	}
	// This rank begins with the state of the one before, and rank 0 as the program says.
	last := int64(len(rest))
	attrs := ir.A{}
	states := make([]*ir.Value, len(op.Results))
	for k, r := range op.Results {
		states[k] = w.b.Emit(exchange.FromPrevious, nil, w.filled(r.Type.Elem, 0, with(rest, 1)))
	}
	switch {
	case w.ranks.Rank == 0:
		if len(starts) > 0 {
			attrs["init"] = true
		}
		if !scan && len(starts) > 0 && !starts[0].Type.IsScalar() {
			args[0] = w.reshaped(args[0], with(rest, 1))
		}
	case len(op.Regions) > 0:
		attrs["init"] = true
		begin := slices.Clone(states)
		for k := range begin {
			if scan {
				begin[k] = w.reshaped(begin[k], rest)
			}
		}
		args = slices.Concat(begin, args[len(starts):])
	default: // x - y - z: the state is an element in front of the others
		args[0] = w.concat([]*ir.Value{states[0], args[0]}, int(last))
	}
	if !scan {
		attrs["axes"], attrs["keep"] = []int64{last}, true
	}
	out := w.b.EmitOp(op.Def, attrs, args, w.regions(op)).Results
	for k, r := range op.Results {
		next := out[k]
		if scan {
			w.becomes(r, out[k])
			if next = states[k]; n > 0 {
				next = w.slice(out[k], int(last), n-1, 1)
			}
		}
		w.b.EmitOp(exchange.ToNext, nil, []*ir.Value{next}, nil)
		if !scan {
			ranks := int64(w.ranks.Size)
			all := w.gather(next, int(last), parts.Blocks{Extent: ranks, Block: 1})
			w.becomes(r, w.reshaped(w.slice(all, int(last), ranks-1, 1), r.Type.Shape))
		}
	}
}

func with(rest types.Shape, n int64) types.Shape { return append(slices.Clone(rest), types.Lit(n)) }
