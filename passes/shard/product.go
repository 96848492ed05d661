package shard

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// product writes a matrix product.
func (w *rewriter) product(op *ir.Op) {
	a, b := op.Args[0], op.Args[1]
	r := a.Type.Rank()
	to := w.of(op.Results[0])
	switch to {
	case whole:
		if a.Type.Elem.IsFloat() {
			w.copied(op)
		} else {
			w.exactProduct(op)
		}
	case r - 2:
		w.byPieces(op, w.part(a, to), b, r-1)
	case r - 1:
		w.byPieces(op, w.part(b, to), a, r-2)
	default:
		w.along(op, to, attrsOf(op))
	}
}

// exactProduct is a product of integers that is cut along k: the sum of the products of the parts.
func (w *rewriter) exactProduct(op *ir.Op) {
	a, b := op.Args[0], op.Args[1]
	r := a.Type.Rank()
	x, y := w.part(a, r-1), w.part(b, r-2)
	part := w.b.EmitOp(op.Def, attrsOf(op), []*ir.Value{x, y}, nil).Result()
	one := w.reshaped(part, append(types.Shape{types.Lit(1)}, part.Type.Shape...))
	all := w.gather(one, 0, parts.Blocks{Extent: int64(w.ranks.Size), Block: 1})
	w.becomes(op.Results[0], w.b.Emit(ops.ReduceSum, ir.A{"axes": []int64{0}}, all))
}
