package shard

import (
	"slices"

	"healc/ir"
	"healc/ir/exchange"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// Note [Products by pieces]. A rank that has rows of the left factor needs all of the right one, and one that has
// columns of the right all of the left. Where that factor is cut, too, it is gathered in pieces, and multiplied piece
// by piece: while the product by one is computed, the next one is on its way (Note [Halves] in runtime), and no rank
// ever has more than two. A piece has all of k, so that each element of the result is computed at once, by the chain
// that the language prescribes. Pieces of k would leave the chains of all elements unfinished, and begin with the part
// of the first rank, which all others would wait for.
//
// A piece is a run of an axis that the factor shares with the result: columns of the right, rows of the left, or
// matrices of a batch, whichever are most. Of a factor that is cut along that axis a piece is a run of each rank's
// part, so that all ranks send as much: the axis of the result is then two, ranks and what each has, of which the last
// rank's part is filled up.
//
// The result is written once more than by a product that is one kernel. So a factor that is smaller than what the rank
// makes of it is gathered as a whole: it is little memory beside the result, and little to send beside what the rank
// computes, many multiplications for each of its elements.

// mostPieces is in how many pieces each rank's part is sent: two of those that come are as much as a part.
const mostPieces = 2

// fewestPieces is in how many a factor is gathered at least: with fewer, two of them are nearly all of it.
const fewestPieces = 4

// pieces is a factor that is gathered by pieces.
type pieces struct {
	*rewriter
	axis, cut  int // the axis of which pieces are runs, and the one that the factor is cut along
	blocks     parts.Blocks
	length     int64     // of the axis of which pieces are runs: in a part, where the factor is cut along it
	width      int64     // of a piece
	ofMatrices bool      // a piece is some of the matrices of a batch
	part       *ir.Value // what this rank has of the factor
	stays      *ir.Value // and of the other one
	multiply   func(stays, piece *ir.Value) *ir.Value
}

// inPieces says how a factor is gathered by pieces; nil where it is not: it is short, or known already.
func (w *rewriter) inPieces(op *ir.Op, v *ir.Value, free int) *pieces {
	shape, r := v.Type.Shape, v.Type.Rank()
	p := &pieces{rewriter: w, cut: w.of(v), axis: free}
	if p.cut == whole || w.ranks.Size == 1 || empty(shape) || empty(op.Type().Shape) || w.isKnown(v) {
		return nil
	}
	p.blocks = w.blocks(v)
	length := func(axis int) int64 {
		if axis == p.cut {
			return p.blocks.Block
		}
		return literal(shape[axis])
	}
	for k := range r - 2 {
		if k != p.cut && length(k) > length(p.axis) {
			p.axis = k
		}
	}
	p.length, p.ofMatrices = length(p.axis), p.axis < r-2
	count := min(int64(mostPieces*w.ranks.Size), p.length)
	if latencyBytes > 0 {
		part := elems(shape) / p.blocks.Extent * p.blocks.Block * int64(v.Type.Elem.Bytes())
		count = min(count, part/latencyBytes)
		if result := op.Results[0]; elems(shape) < elems(result.Type.Shape)/int64(w.ranks.Size) {
			return nil
		}
	}
	if count < fewestPieces {
		return nil
	}
	p.width = parts.CutFor(p.length, int(count)).Block
	return p
}

// isKnown reports that all ranks have a value whole.
func (w *rewriter) isKnown(v *ir.Value) bool {
	return slices.ContainsFunc(w.known, func(known map[*ir.Value]*ir.Value) bool { return known[v] != nil })
}

// byPieces writes a product of what this rank has of one factor, and all of the other one, whose other axis than k is
// free.
func (w *rewriter) byPieces(op *ir.Op, stays, other *ir.Value, free int) {
	multiply := func(stays, piece *ir.Value) *ir.Value {
		args := []*ir.Value{stays, piece}
		if other == op.Args[0] {
			args = []*ir.Value{piece, stays}
		}
		return w.b.EmitOp(op.Def, attrsOf(op), args, nil).Result()
	}
	p := w.inPieces(op, other, free)
	if p == nil {
		w.becomes(op.Results[0], multiply(stays, w.whole(other)))
		return
	}
	p.stays, p.multiply, p.part = stays, multiply, w.part(other, p.cut)
	shape := w.localShape(op.Type().Shape, w.of(op.Results[0]))
	ranks := w.filledRanks(p.blocks).Extent
	if p.axis == p.cut {
		if n := literal(p.part.Type.Shape[p.cut]); n > 0 && n < p.length {
			rest := slices.Clone(p.part.Type.Shape)
			rest[p.cut] = types.Lit(p.length - n)
			p.part = w.concat([]*ir.Value{p.part, w.filled(p.part.Type.Elem, 0, rest)}, p.cut)
		}
		shape = slices.Concat(shape[:p.axis], lits(ranks, p.length), shape[p.axis+1:])
	}
	out := p.all(w.filled(op.Type().Elem, 0, shape))
	if p.axis == p.cut {
		shape = slices.Concat(shape[:p.axis], lits(ranks*p.length), shape[p.axis+2:])
		out = w.slice(w.reshaped(out, shape), p.axis, 0, p.blocks.Extent)
	}
	w.becomes(op.Results[0], out)
}

// all puts the products by all pieces into a tensor. The last piece may be shorter.
func (p *pieces) all(out *ir.Value) *ir.Value {
	full := p.length / p.width
	now := p.gathered(nil, 0, p.width)
	if full > 1 {
		outer := p.b
		p.b = &ir.Builder{Block: &ir.Block{}, Span: outer.Span}
		body := p.b.Block
		i := body.Param("i", types.Scalar(types.I32), outer.Span)
		state := []*ir.Value{body.Param("out", out.Type, outer.Span), body.Param("piece", now.Type, outer.Span)}
		width := p.filled(types.I32, p.width, nil)
		at := p.b.Emit(ops.Mul, nil, i, width)
		next := p.gathered(p.b.Emit(ops.Add, nil, at, width), 0, p.width)
		body.Yields = []*ir.Value{p.put(state[0], state[1], at, 0), next}
		p.b = outer
		loop := p.b.EmitOp(ops.Iterate, nil, []*ir.Value{p.filled(types.I32, full-1, nil), out, now},
			[]*ir.Block{body})
		out, now = loop.Results[0], loop.Results[1]
	}
	done := (full - 1) * p.width
	if rest := p.length - full*p.width; rest > 0 {
		last := p.gathered(nil, full*p.width, rest)
		return p.put(p.put(out, now, nil, done), last, nil, full*p.width)
	}
	return p.put(out, now, nil, done)
}

// run is n elements of the axis of which pieces are runs, from a position on that is a value, or known.
func (p *pieces) run(x, at *ir.Value, known, n int64) *ir.Value {
	if at == nil {
		return p.slice(x, p.axis, known, n)
	}
	return p.b.Emit(ops.DynamicSlice, ir.A{"axes": []int64{int64(p.axis)}, "sizes": lits(n)}, x, at)
}

// gathered is a piece.
func (p *pieces) gathered(at *ir.Value, known, n int64) *ir.Value {
	if p.axis != p.cut {
		return p.ahead(p.run(p.part, at, known, n), p.blocks)
	}
	x := p.part
	if !x.Type.Shape[p.cut].IsConst(0) {
		x = p.run(x, at, known, n)
	}
	return p.ahead(x, parts.Blocks{Extent: p.filledRanks(p.blocks).Extent * n, Block: n})
}

// ahead is a gather that goes on while kernels run.
func (p *pieces) ahead(x *ir.Value, b parts.Blocks) *ir.Value {
	return p.b.Emit(exchange.Gather, ir.A{"axis": int64(p.cut), "extent": b.Extent, "block": b.Block, "apart": true}, x)
}

// put is the result with the product by a piece in its place.
func (p *pieces) put(out, piece, at *ir.Value, known int64) *ir.Value {
	n, axis, stays := literal(piece.Type.Shape[p.axis]), p.axis, p.stays
	if p.ofMatrices {
		stays = p.run(stays, at, known, n)
	}
	y := p.multiply(stays, piece)
	if p.axis == p.cut {
		ranks := literal(out.Type.Shape[axis])
		shape := y.Type.Shape
		y, axis = p.reshaped(y, slices.Concat(shape[:axis], lits(ranks, n/ranks), shape[axis+1:])), axis+1
		n /= ranks
	}
	starts, steps := lits(make([]int64, y.Type.Rank())...), slices.Repeat([]int64{1}, y.Type.Rank())
	attrs, args := ir.A{"starts": starts, "steps": steps, "shape": y.Type.Shape}, []*ir.Value{out, y}
	if at == nil {
		starts[axis] = types.Lit(known)
	} else {
		attrs["axes"], attrs["sizes"], args = []int64{int64(axis)}, lits(n), append(args, at)
	}
	return p.b.Emit(ops.Update, attrs, args...)
}
