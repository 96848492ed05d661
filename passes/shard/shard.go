// Package shard makes the program of one rank of a program whose tensors are sharded: each value that is cut becomes
// the part of it that this rank has, and what the rank needs of others is exchanged (ir/exchange).
//
// In: a module whose entry is inlined and expanded, for Run with literal extents. Out: for Check, what cannot be done
// with tensors that are cut as they are; for Run, a module with the parameters and results of the one before, or the
// parts of them that the rank has (Parts), which gives on every rank what that gives on one, to the last bit: what is
// exchanged is bytes, and what is reduced is reduced by whole chunks in the order that the language prescribes.
//
// Two steps: placement (place.go) finds the axis along which each value is cut, by the rules of the table of
// operations, and a rewriter (the other files) writes the program of a rank.
package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// Ranks says which program is made: that of rank Rank of Size.
type Ranks struct {
	Rank, Size int
	Cut        *Cut // nil: arguments and results are whole on every rank
}

// Cut says that a rank gives and gets its part alone of arguments and results of a function: along which axis each is
// cut, by its number; -1 where it is whole.
type Cut struct {
	Entry           string
	Params, Results []int
}

// Check says what cannot be done with tensors that are cut as the functions of a module say, as a *diag.List; nil for
// nothing. Functions that are called have to be inlined.
func Check(m *ir.Module) error {
	list := &diag.List{}
	for _, f := range m.Funcs {
		p := newPlacement()
		p.function(f, nil)
		list.Items = append(list.Items, p.list.Items...)
	}
	list.Sort()
	return list.Err()
}

// Run makes the program of a rank of the functions that say how tensors are cut. The error is a *diag.List.
func Run(m *ir.Module, ranks Ranks) error {
	for i, f := range m.Funcs {
		cut := ranks.Cut
		if cut != nil && cut.Entry != f.Name {
			cut = nil
		}
		if cut == nil && !Says(f) {
			continue
		}
		p := newPlacement()
		p.checked = true
		p.function(f, cut)
		if err := p.list.Err(); err != nil {
			return err
		}
		w := &rewriter{placement: p, m: m, ranks: ranks, inner: map[*ir.Value]parts.Blocks{}, clone: ir.NewCloner(),
			b: &ir.Builder{Block: &ir.Block{}}}
		m.Funcs[i] = w.function(f, cut)
		if err := p.list.Err(); err != nil { // the parts are too large
			return err
		}
	}
	return nil
}

// Says reports whether a function says how a tensor is cut.
func Says(f *ir.Func) bool {
	says := false
	ir.Walk(f.Body, func(op *ir.Op) { says = says || op.Def.Sharding.Marks() })
	return says
}

func (p *placement) function(f *ir.Func, cut *Cut) {
	p.uses = ir.Uses(f.Body)
	if cut != nil {
		for i, v := range f.Params() {
			p.set(v, cut.Params[i])
		}
	}
	p.settle(f.Body)
	results := len(f.Body.Yields) - len(f.Updates)
	for i, y := range f.Body.Yields {
		if a := p.of(y); a != whole && i < results && !declared(y) {
			p.failAt(y.Span, "write `sharded` at the type of the result, or `replicate(x)`",
				"the result is %s, and its type does not say so", typed(y.Type, a))
		}
	}
}

// declared reports that a type says how a result is cut: at its end, or in all arms of a choice.
func declared(v *ir.Value) bool {
	switch {
	case v.Def == nil:
		return false
	case v.Def.Def.Sharding == ir.ShardBranch:
		return declared(v.Def.Regions[0].Yields[v.Index]) && declared(v.Def.Regions[1].Yields[v.Index])
	}
	return v.Def.Def.Sharding == ir.ShardMark
}

// rewriter writes the program of a rank.
type rewriter struct {
	*placement
	m     *ir.Module
	ranks Ranks
	clone *ir.Cloner // its Values are what became of values: the parts of what is cut
	b     *ir.Builder
	// What is read from files and cut before it is used, and the axis that it is cut along.
	loads map[*ir.Value]int
	// How values are cut that are not by CutFor of their extent: inner parts of others (Note [Inner parts]).
	inner map[*ir.Value]parts.Blocks
	// In the block and those around it: what was gathered, and cut as usual, and what several slices are taken of.
	known, usual []map[*ir.Value]*ir.Value
	together     []map[*ir.Value]*shared
	ends         map[*ir.Value]*ends // what is sorted, of which only the ends are read
}

func (w *rewriter) function(f *ir.Func, cut *Cut) *ir.Func {
	out := &ir.Func{Name: f.Name, Dims: f.Dims, Results: f.Results, Updates: f.Updates, Public: f.Public, IO: true,
		Span: f.Span, Body: w.b.Block}
	w.ends = map[*ir.Value]*ends{}
	w.findLoads()
	for _, v := range f.Params() {
		w.clone.Values[v] = out.Body.Param(v.Name, w.localType(v), v.Span)
	}
	w.ops(f.Body)
	if cut != nil {
		out.Results = slices.Clone(f.Results)
	}
	for i, y := range f.Body.Yields {
		if cut == nil || cut.Results[i] == whole {
			out.Body.Yields = append(out.Body.Yields, w.whole(y))
			continue
		}
		axis := cut.Results[i]
		var part *ir.Value
		if a := w.of(y); a == axis || a == whole {
			part = w.part(y, axis)
		} else { // of what is updated it is the parameter that says how it is cut
			part = w.cutOut(w.whole(y), axis, w.blocksOf(y.Type.Shape[axis]))
		}
		out.Body.Yields = append(out.Body.Yields, part)
		out.Results[i].Shape = w.localShape(f.Results[i].Shape, axis)
	}
	return out
}

// ops writes the operations of a block into the current one.
func (w *rewriter) ops(b *ir.Block) {
	w.known = append(w.known, map[*ir.Value]*ir.Value{})
	w.usual = append(w.usual, map[*ir.Value]*ir.Value{})
	w.together = append(w.together, w.share(b))
	for _, op := range b.Ops {
		w.b.Span = op.Span
		w.op(op)
	}
}

// end forgets what was gathered in the block that ops wrote.
func (w *rewriter) end() {
	n := len(w.known) - 1
	w.known, w.usual, w.together = w.known[:n], w.usual[:n], w.together[:n]
}

// becomes says what became of a result: the whole, or the part of this rank. A parameter keeps its name.
func (w *rewriter) becomes(old, v *ir.Value) {
	if v.Def != nil {
		v.Name = old.Name
	}
	w.clone.Values[old] = v
}

// blocks is how the axis is cut along which v is.
func (w *rewriter) blocks(v *ir.Value) parts.Blocks { return w.blocksOf(v.Type.Shape[w.of(v)]) }

func (w *rewriter) blocksOf(d types.Dim) parts.Blocks { return parts.CutFor(literal(d), w.ranks.Size) }

func literal(d types.Dim) int64 {
	n, ok := d.Const()
	if !ok {
		panic("BUG: a rank's program is made of literal extents, not " + d.String())
	}
	return n
}

// mine is how many elements of an axis this rank has.
func (w *rewriter) mine(d types.Dim) int64 { return w.blocksOf(d).Len(w.ranks.Rank) }

// part is v, which is not cut along another axis, as it is cut along this one.
func (w *rewriter) part(v *ir.Value, axis int) *ir.Value {
	switch a := w.of(v); {
	case axis == whole:
		return w.whole(v)
	case a == axis:
		return w.asUsual(v)
	case a != whole:
		panic("BUG: a value that is cut along an axis is wanted along another")
	}
	x := w.clone.Value(v)
	return w.cutOut(x, axis, w.blocksOf(x.Type.Shape[axis]))
}

// Note [Inner parts]: the points of a stencil are slices that leave out an element at each end, or more, of an axis
// that is cut, and what is made of them replaces the inner part of a tensor that is cut likewise. If that part were cut
// by its own extent, each rank would compute rows of which its neighbour has the place, and send them. So a slice that
// leaves out few elements is cut where its operand is, as if it were the middle of it, and so is what is computed of it
// element by element. All other operations take it cut as usual.

// cutAs is how a value lies that is cut.
func (w *rewriter) cutAs(v *ir.Value) parts.Blocks {
	if b, ok := w.inner[v]; ok {
		return b
	}
	return w.blocks(v)
}

// isCut says how the part of a value is cut that the program of the rank has.
func (w *rewriter) isCut(v *ir.Value, b parts.Blocks) {
	if b != w.blocks(v) {
		w.inner[v] = b
	}
}

// asUsual is the part of a value that this rank has where it is cut as usual.
func (w *rewriter) asUsual(v *ir.Value) *ir.Value {
	b, ok := w.inner[v]
	if !ok {
		return w.clone.Value(v)
	}
	for _, usual := range w.usual {
		if x := usual[v]; x != nil {
			return x
		}
	}
	x := w.recut(w.clone.Value(v), w.of(v), b, w.blocks(v))
	w.usual[len(w.usual)-1][v] = x
	return x
}

// partBy is part for what is cut by these blocks.
func (w *rewriter) partBy(v *ir.Value, axis int, b parts.Blocks) *ir.Value {
	if w.of(v) == whole {
		return w.cutOut(w.clone.Value(v), axis, b)
	}
	return w.recut(w.clone.Value(v), axis, w.cutAs(v), b)
}

// elements writes an operation element by element.
func (w *rewriter) elements(op *ir.Op) {
	axis := w.of(op.Results[0])
	b := w.blocksOf(op.Type().Shape[axis])
	for _, a := range op.Args {
		if inner, ok := w.inner[a]; ok {
			b = inner
			break
		}
	}
	args := make([]*ir.Value, len(op.Args))
	for i, a := range op.Args {
		args[i] = w.partBy(a, axis, b)
	}
	w.emit(op, args, attrsOf(op), nil)
	w.isCut(op.Result(), b)
}

// whole is all of v, on every rank.
func (w *rewriter) whole(v *ir.Value) *ir.Value {
	x, axis := w.clone.Value(v), w.of(v)
	if axis == whole {
		return x
	}
	for _, known := range w.known { // by what it was: parts may be one value on some ranks, and not on others
		if g := known[v]; g != nil {
			return g
		}
	}
	g := w.gather(w.asUsual(v), axis, w.blocks(v))
	w.known[len(w.known)-1][v] = g
	return g
}

// gather is all parts, one after the other along an axis.
func (w *rewriter) gather(x *ir.Value, axis int, b parts.Blocks) *ir.Value {
	return w.b.Emit(exchange.Gather, ir.A{"axis": int64(axis), "extent": b.Extent, "block": b.Block}, x)
}

// start is where this rank's part of an axis begins, as an i64.
func (w *rewriter) start(b parts.Blocks) *ir.Value {
	return w.b.Emit(exchange.Start, withOrigin(ir.A{"extent": b.Extent, "block": b.Block}, b))
}

func withOrigin(attrs ir.A, b parts.Blocks) ir.A {
	if b.Origin != 0 {
		attrs["origin"] = b.Origin
	}
	return attrs
}

// cutOut is this rank's part of what every rank has. What is computed element by element is computed for the part.
func (w *rewriter) cutOut(x *ir.Value, axis int, b parts.Blocks) *ir.Value {
	d := x.Type.Shape[axis]
	n := b.Len(w.ranks.Rank)
	if n == literal(d) {
		return x
	}
	if op := x.Def; op != nil {
		switch {
		case op.Def.Class == ir.Pointwise && !op.MayFail() && len(op.Args) > 0 && cheap(op):
			args := make([]*ir.Value, len(op.Args))
			for i, a := range op.Args {
				args[i] = w.cutOut(a, axis, b)
			}
			return w.b.EmitOp(op.Def, attrsOf(op), args, nil).Result()
		case op.Def.Sharding == ir.ShardBroadcast:
			from := op.Args[0]
			k := axis - (x.Type.Rank() - from.Type.Rank())
			if k >= 0 && !from.Type.Shape[k].IsConst(1) {
				from = w.cutOut(from, k, b)
			}
			shape := slices.Clone(x.Type.Shape)
			shape[axis] = types.Lit(n)
			return w.b.Emit(ops.Broadcast, ir.A{"shape": shape}, from)
		case op.Def == ops.Iota:
			first := w.b.Emit(ops.Cast, ir.A{"to": types.I32}, w.start(b))
			local := w.b.Emit(ops.Iota, ir.A{"start": op.Dim("start"), "extent": types.Lit(n)})
			return w.b.Emit(ops.Add, nil, local, w.b.Emit(ops.Broadcast, ir.A{"shape": local.Type.Shape}, first))
		}
	}
	return w.b.Emit(ops.DynamicSlice, ir.A{"axes": []int64{int64(axis)}, "sizes": types.Shape{types.Lit(n)}}, x,
		w.start(b))
}

// cheap reports that the element of an operation is better computed again than read.
func cheap(op *ir.Op) bool { return op.Def.Traits.Has(ir.Cheap) }

// attrsOf are the attributes of op by name.
func attrsOf(op *ir.Op) ir.A {
	named := ir.A{}
	for i, a := range op.Def.Attrs {
		if op.Attrs[i] != nil {
			named[a.Name] = op.Attrs[i]
		}
	}
	return named
}

// window is the elements of an axis of x, which is cut by b, that want says for each rank.
func (w *rewriter) window(x *ir.Value, axis int, b parts.Blocks, want func(rank int) parts.Window) *ir.Value {
	var windows []parts.Window
	sent := false
	for r := range w.ranks.Size {
		v := want(r)
		windows = append(windows, v)
		before, after := b.Halo(r, w.ranks.Size, v)
		sent = sent || before+after > 0
	}
	mine := want(w.ranks.Rank)
	lo, hi := b.Of(w.ranks.Rank)
	from, to := max(lo, mine.Lo), min(hi, mine.Hi)
	var pieces []*ir.Value
	var behind *ir.Value
	if sent {
		halo := w.halo(x, axis, b, windows)
		if !halo[0].Type.Shape[axis].IsConst(0) {
			pieces = append(pieces, halo[0])
		}
		if !halo[1].Type.Shape[axis].IsConst(0) {
			behind = halo[1]
		}
	}
	if from < to || behind == nil && len(pieces) == 0 {
		pieces = append(pieces, w.slice(x, axis, max(from-lo, 0), max(to-from, 0)))
	}
	if behind != nil {
		pieces = append(pieces, behind)
	}
	return w.concat(pieces, axis)
}

// recut is x, which is cut along an axis by one rule, cut by another.
func (w *rewriter) recut(x *ir.Value, axis int, from, to parts.Blocks) *ir.Value {
	if from == to {
		return x
	}
	return w.window(x, axis, from, func(rank int) parts.Window {
		lo, hi := to.Of(rank)
		return parts.Window{Lo: lo, Hi: hi}
	})
}

func (w *rewriter) concat(pieces []*ir.Value, axis int) *ir.Value {
	if len(pieces) == 1 {
		return pieces[0]
	}
	return w.b.Emit(ops.Concat, ir.A{"axis": int64(axis)}, pieces...)
}

// slice is n elements of an axis of x from start on.
func (w *rewriter) slice(x *ir.Value, axis int, start, n int64) *ir.Value {
	return w.strided(x, axis, start, 1, n)
}

// strided is n elements of an axis of x from start on, in steps.
func (w *rewriter) strided(x *ir.Value, axis int, start, step, n int64) *ir.Value {
	if start == 0 && step == 1 && x.Type.Shape[axis].IsConst(n) {
		return x
	}
	starts, steps, shape := types.Shape{}, []int64{}, slices.Clone(x.Type.Shape)
	for range shape {
		starts, steps = append(starts, types.Lit(0)), append(steps, 1)
	}
	if n == 0 {
		start = 0
	}
	starts[axis], steps[axis], shape[axis] = types.Lit(start), step, types.Lit(n)
	return w.b.Emit(ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, x)
}

func (w *rewriter) reshaped(x *ir.Value, shape types.Shape) *ir.Value {
	if x.Type.Shape.Equal(shape) {
		return x
	}
	return w.b.Emit(ops.Reshape, ir.A{"shape": shape}, x)
}

func (w *rewriter) permuted(x *ir.Value, perm []int64) *ir.Value {
	for k, a := range perm {
		if int64(k) != a {
			return w.b.Emit(ops.Permute, ir.A{"perm": perm}, x)
		}
	}
	return x
}

func (w *rewriter) cast(x *ir.Value, to types.DType) *ir.Value {
	if x.Type.Elem == to {
		return x
	}
	return w.b.Emit(ops.Cast, ir.A{"to": to}, x)
}

// filled is an integer in every element of a tensor of a shape.
func (w *rewriter) filled(d types.DType, n int64, shape types.Shape) *ir.Value {
	a := ir.NewArray(d)
	a.Bits[0] = uint64(n)
	if d.Bytes() < 8 {
		a.Bits[0] &= 1<<(8*d.Bytes()) - 1
	}
	return w.spread(w.b.Emit(ops.Const, ir.A{"value": a}), shape)
}

// spread is a scalar in every element of a tensor of a shape.
func (w *rewriter) spread(x *ir.Value, shape types.Shape) *ir.Value {
	if len(shape) == 0 {
		return x
	}
	return w.b.Emit(ops.Broadcast, ir.A{"shape": shape}, x)
}

// copied writes an operation whose operands are all whole.
func (w *rewriter) copied(op *ir.Op) {
	args := make([]*ir.Value, len(op.Args))
	for i, a := range op.Args {
		args[i] = w.whole(a)
	}
	w.emit(op, args, attrsOf(op), w.regions(op))
}

// regions are copies of the regions of an operation, which read nothing that is cut.
func (w *rewriter) regions(op *ir.Op) []*ir.Block {
	var out []*ir.Block
	for _, r := range op.Regions {
		c, err := w.clone.Block(r)
		if err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		out = append(out, c)
	}
	return out
}

// emit writes an operation for op.
func (w *rewriter) emit(op *ir.Op, args []*ir.Value, attrs ir.A, regions []*ir.Block) {
	out := w.b.EmitOp(op.Def, attrs, args, regions)
	for i, r := range op.Results {
		w.becomes(r, out.Results[i])
	}
}

// along writes op on the parts of all of its operands along one axis.
func (w *rewriter) along(op *ir.Op, axis int, attrs ir.A) {
	args := make([]*ir.Value, len(op.Args))
	for i, a := range op.Args {
		args[i] = w.part(a, axis)
	}
	w.emit(op, args, attrs, nil)
}

// op writes what becomes of an operation.
func (w *rewriter) op(op *ir.Op) {
	if op.Def.Sharding == ir.ShardLoaded {
		if axis, ok := w.loads[op.Result()]; ok {
			w.loadPart(op, axis)
			return
		}
	}
	if !w.cut(op) && !op.Def.Sharding.Marks() && !w.marked(op) {
		w.copied(op)
		return
	}
	switch op.Def.Sharding {
	case ir.ShardElements:
		w.elements(op)
	case ir.ShardBroadcast:
		w.broadcast(op)
	case ir.ShardReshape:
		w.reshape(op)
	case ir.ShardPermute:
		w.along(op, w.of(op.Args[0]), attrsOf(op))
	case ir.ShardSlice:
		w.sliced(op)
	case ir.ShardConcat:
		w.joined(op)
	case ir.ShardRead:
		w.read(op)
	case ir.ShardReduce, ir.ShardAnyOrder:
		w.reduce(op)
	case ir.ShardPositions:
		w.extreme(op)
	case ir.ShardProduct, ir.ShardBlocks:
		w.product(op)
	case ir.ShardFold, ir.ShardScan:
		w.carry(op)
	case ir.ShardRows, ir.ShardChannels:
		w.rows(op)
	case ir.ShardSort, ir.ShardSortPositions:
		w.sort(op)
	case ir.ShardRequests:
		w.requests(op)
	case ir.ShardAlong:
		w.lookedUp(op)
	case ir.ShardScatter:
		w.scatter(op)
	case ir.ShardUpdate:
		w.update(op)
	case ir.ShardTabulate:
		w.tabulate(op)
	case ir.ShardBranch:
		w.branch(op)
	case ir.ShardLoop:
		w.loop(op)
	case ir.ShardWritten:
		w.savePart(op)
	case ir.ShardState:
		w.state(op)
	case ir.ShardMark, ir.ShardWithout, ir.ShardAs:
		w.mark(op)
	default:
		w.copied(op)
	}
}

// findLoads finds what is read from a file for nothing but to be cut: each rank reads its part.
func (w *rewriter) findLoads() {
	w.loads = map[*ir.Value]int{}
	for v, uses := range w.uses {
		if v.Def != nil && v.Def.Def.Sharding == ir.ShardLoaded && len(uses) == 1 && uses[0].Op != nil &&
			uses[0].Op.Def.Sharding == ir.ShardMark && w.of(uses[0].Op.Result()) != whole {
			w.loads[v] = w.of(uses[0].Op.Result())
		}
	}
}

// loadPart writes the reading of this rank's part of a file.
func (w *rewriter) loadPart(op *ir.Op, axis int) {
	shape := op.Dims("shape")
	b := w.blocksOf(shape[axis])
	w.becomes(op.Result(), w.b.Emit(exchange.LoadPart, ir.A{"axis": int64(axis), "extent": b.Extent, "block": b.Block,
		"dtype": op.DType("dtype"), "shape": w.localShape(shape, axis)}, w.whole(op.Args[0])))
}

// savePart writes the writing of this rank's part of a file.
func (w *rewriter) savePart(op *ir.Op) {
	v := op.Args[1]
	b := w.cutAs(v)
	w.b.EmitOp(exchange.SavePart, withOrigin(ir.A{"axis": int64(w.of(v)), "extent": b.Extent, "block": b.Block}, b),
		[]*ir.Value{w.whole(op.Args[0]), w.clone.Value(v)}, nil)
}

// state writes an operation that keeps or takes the state of a loop.
func (w *rewriter) state(op *ir.Op) {
	attrs := attrsOf(op)
	var args []*ir.Value
	var axes, extents, blocks []int64
	for i, v := range op.Args {
		axis, b := w.of(v), parts.Blocks{}
		if axis == whole {
			args = append(args, w.whole(v))
		} else {
			b = w.blocks(v)
			args = append(args, w.asUsual(v))
		}
		if len(op.Results) == 0 && i == 0 {
			continue // the number of steps
		}
		axes, extents, blocks = append(axes, int64(axis)), append(extents, b.Extent), append(blocks, b.Block)
	}
	attrs["axes"], attrs["extents"], attrs["blocks"] = axes, extents, blocks
	w.emit(op, args, attrs, nil)
}

// mark cuts a tensor, or cuts it along another axis, or gathers it.
func (w *rewriter) mark(op *ir.Op) {
	x, to := op.Args[0], w.of(op.Results[0])
	if _, loaded := w.loads[x]; loaded {
		w.becomes(op.Results[0], w.clone.Value(x))
		return
	}
	w.becomes(op.Results[0], w.brought(x, to))
}

// brought is v as it is cut along an axis, whatever it is cut along.
func (w *rewriter) brought(v *ir.Value, axis int) *ir.Value {
	from := w.of(v)
	if from == whole || axis == whole || from == axis {
		return w.part(v, axis)
	}
	return w.swapped(w.part(v, from), from, w.blocks(v), axis, w.blocksOf(v.Type.Shape[axis]))
}

// swapped is x, which is cut along one axis, cut along another: all ranks send to all.
func (w *rewriter) swapped(x *ir.Value, from int, b parts.Blocks, to int, t parts.Blocks) *ir.Value {
	if from == to {
		return x
	}
	return w.b.Emit(exchange.AllToAll, ir.A{"axis": int64(from), "extent": b.Extent, "block": b.Block, "to": int64(to),
		"to_block": t.Block, "size": t.Len(w.ranks.Rank)}, x)
}
