package ir

import "healc/lang/types"

// The derivatives of reductions and matrix products.

func init() { // init: see rule
	rule(OpReduceSum, func(t *Tape, op *Op, cts []*Value) { t.Add(op.Args[0], t.unreduce(op, cts[0])) })
	rule(OpReduceProd, prodRule)
	rule(OpReduceMax, extremeRule(OpArgmax))
	rule(OpReduceMin, extremeRule(OpArgmin))
	rule(OpReduceSub, func(t *Tape, op *Op, cts []*Value) {
		g := t.unreduce(op, cts[0])
		t.Add(op.Args[0], t.where(t.first(op), g, t.neg(g)))
	})
	rule(OpReduceDiv, func(t *Tape, op *Op, cts []*Value) {
		x, g, first := op.Args[0], t.unreduce(op, cts[0]), t.first(op)
		tail := t.Emit(OpReduceDiv, A{"axes": op.Ints("axes"), "keep": op.Flag("keep")},
			t.where(first, t.Fill(x, 1), x))
		others := t.neg(t.div(t.mul(g, t.unreduce(op, op.Result())), x))
		t.Add(x, t.where(first, t.mul(g, t.unreduce(op, tail)), others))
	})
	rule(OpMatmul, func(t *Tape, op *Op, cts []*Value) {
		a, b := op.Args[0], op.Args[1]
		swap := make([]int64, a.Type.Rank())
		for k := range swap {
			swap[k] = int64(k)
		}
		n := len(swap)
		swap[n-2], swap[n-1] = swap[n-1], swap[n-2]
		if t.Needs(a) {
			t.Add(a, t.Emit(OpMatmul, nil, cts[0], t.permute(b, swap)))
		}
		if t.Needs(b) {
			t.Add(b, t.Emit(OpMatmul, nil, t.permute(a, swap), cts[0]))
		}
	})
}

// unreduce gives every element of a reduction's operand the value that g has for its result.
func (t *Tape) unreduce(op *Op, g *Value) *Value {
	x := op.Args[0].Type.Shape
	return t.broadcast(t.reshape(g, reducedShape(x, op.Ints("axes"), true)), x)
}

// first says which elements of a reduction's operand are the first of theirs.
func (t *Tape) first(op *Op) *Value {
	x := op.Args[0].Type.Shape
	var out *Value
	for _, a := range op.Ints("axes") {
		at := t.along(x, a)
		if is := t.Emit(OpEq, nil, at, t.Zeros(at.Type)); out == nil {
			out = is
		} else {
			out = t.Emit(OpAnd, nil, out, is)
		}
	}
	if out == nil {
		return emitFill(t.b, types.Tensor{Elem: types.Bool, Shape: x}, 1)
	}
	return out
}

// along is the index on one axis of every element of a tensor, an i32.
func (t *Tape) along(shape types.Shape, axis int64) *Value {
	flat := lits(len(shape), 1)
	flat[axis] = shape[axis]
	return t.broadcast(t.reshape(t.Emit(OpIota, A{"start": types.Dim{}, "extent": shape[axis]}), flat), shape)
}

// prodRule gives every element the product of the others: the whole by the element, and where the element is the
// only 0, the product of what is not 0.
func prodRule(t *Tape, op *Op, cts []*Value) {
	x := op.Args[0]
	attrs := A{"axes": op.Ints("axes"), "keep": op.Flag("keep")}
	isZero := t.Emit(OpEq, nil, x, t.Fill(x, 0))
	zeros := t.unreduce(op, t.Emit(OpReduceSum, attrs, t.Emit(OpCast, A{"to": types.I32}, isZero)))
	rest := t.unreduce(op, t.Emit(OpReduceProd, attrs, t.where(isZero, t.Fill(x, 1), x)))
	only := t.where(t.Emit(OpEq, nil, zeros, t.Fill(zeros, 1)), rest, t.Fill(x, 0))
	others := t.where(isZero, only, t.div(t.unreduce(op, op.Result()), t.where(isZero, t.Fill(x, 1), x)))
	t.Add(x, t.mul(t.unreduce(op, cts[0]), others))
}

// extremeRule gives the gradient to the first of the elements that are the result, in row-major order.
func extremeRule(position *OpDef) func(t *Tape, op *Op, cts []*Value) {
	return func(t *Tape, op *Op, cts []*Value) {
		x, axes := op.Args[0], op.Ints("axes")
		if len(axes) == 0 {
			t.Add(x, cts[0])
			return
		}
		var perm []int64
		kept, reduced := types.Shape{}, types.Shape{}
		for k, d := range x.Type.Shape {
			if !hasAxis(axes, k) {
				perm, kept = append(perm, int64(k)), append(kept, d)
			}
		}
		for _, a := range axes {
			perm, reduced = append(perm, a), append(reduced, x.Type.Shape[a])
		}
		moved := t.permute(x, perm)
		flat := append(append(types.Shape{}, kept...), elems(reduced))
		last := int64(len(kept))
		at := t.Emit(position, A{"axis": last, "keep": true}, t.reshape(moved, flat))
		hit := t.Emit(OpEq, nil, t.broadcast(at, flat), t.along(flat, last))
		hit = t.permute(t.reshape(hit, moved.Type.Shape), inverse(perm))
		t.Add(x, t.where(hit, t.unreduce(op, cts[0]), t.Fill(x, 0)))
	}
}
