package check

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// infoOf is the Info of an expression of type t at a place.
func infoOf(t types.Type, at diag.Span) Info { return Info{T: t, Loc: at} }

// bad is the expression that stands for a failed one. Its type silences follow-up errors.
func bad(at diag.Span) Expr { return &Tuple{Info: infoOf(types.ErrorType, at)} }

// isBad reports an expression that stands for a failed one.
func isBad(e Expr) bool { return types.IsError(e.Type()) }

// unit is the empty tuple.
func unit(at diag.Span) Expr { return &Tuple{Info: infoOf(types.Unit, at)} }

// newUse is the value of l at a place.
func newUse(l *Local, at diag.Span) *Use { return &Use{Info: infoOf(l.T, at), Local: l} }

// newGet is element i, of type t, of a tuple.
func newGet(x Expr, i int, t types.Type, at diag.Span) *Get {
	return &Get{Info: infoOf(t, at), X: x, Index: i}
}

// newLet binds value for body; without a local it is evaluated for what it does.
func newLet(at diag.Span, l *Local, value, body Expr) *Let {
	return &Let{Info: infoOf(body.Type(), at), Local: l, Value: value, Body: body}
}

// binding is a let or a dropped value on the way to the value of a block.
type binding struct {
	Local *Local // nil: dropped
	Value Expr
}

// wrap puts bindings around a body, the first outermost. It is a loop, because blocks are long.
func wrap(bs []binding, body Expr) Expr {
	for i := len(bs) - 1; i >= 0; i-- {
		at := bs[i].Value.Span().To(body.Span())
		body = newLet(at, bs[i].Local, bs[i].Value, body)
	}
	return body
}

// newConst is a constant.
func newConst(a *ir.Array, at diag.Span) *Const { return &Const{Info: infoOf(a.Type(), at), Value: a} }

// stringConst is a string that is known.
func stringConst(s string, at diag.Span) Expr {
	return newConst(&ir.Array{DType: types.String, Str: s}, at)
}

// scalarConst is the scalar of type d with these bits.
func scalarConst(d types.DType, bits uint64, at diag.Span) Expr {
	return newConst(&ir.Array{DType: d, Bits: []uint64{bits}}, at)
}

// floatConst is an f64 constant.
func floatConst(x float64, at diag.Span) Expr {
	return scalarConst(types.F64, scalar.FloatBits(types.F64, x), at)
}

// numberConst is the integer n as a constant of type d.
// numberConst is the number n of any element type; a bool is n != 0.
func numberConst(d types.DType, n int64, at diag.Span) Expr {
	bits := uint64(n)
	switch {
	case d.IsFloat():
		bits = scalar.FloatBits(d, float64(n))
	case d.IsInt():
		bits = scalar.IntBits(d, n)
	}
	return scalarConst(d, bits, at)
}

// constArray is the tensor of these elements in row-major order.
func constArray(d types.DType, shape []int64, bits []uint64, at diag.Span) Expr {
	a := &ir.Array{DType: d, Shape: shape, Bits: bits}
	return newConst(a, at)
}

// signatureOf is a block with the parameters and yields of a lambda, for the type rules of operations.
func signatureOf(l *Lambda) *ir.Block {
	b := &ir.Block{}
	for _, p := range l.Params {
		for _, t := range types.Flatten(p.T) {
			b.Param(p.Name, t, p.Loc)
		}
	}
	for _, t := range types.Flatten(l.Body.Type()) {
		b.Yields = append(b.Yields, &ir.Value{Type: t})
	}
	return b
}
