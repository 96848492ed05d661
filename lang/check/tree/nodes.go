package tree

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// Of is the Info of an expression of type t at a place.
func Of(t types.Type, at diag.Span) Info { return Info{T: t, Loc: at} }

// Bad is the expression that stands for a failed one. Its type silences follow-up errors.
func Bad(at diag.Span) Expr { return &Tuple{Info: Of(types.ErrorType, at)} }

// IsBad reports an expression that stands for a failed one.
func IsBad(e Expr) bool { return types.IsError(e.Type()) }

// Unit is the empty tuple.
func Unit(at diag.Span) Expr { return &Tuple{Info: Of(types.Unit, at)} }

// NewUse is the value of l at a place.
func NewUse(l *Local, at diag.Span) *Use { return &Use{Info: Of(l.T, at), Local: l} }

// NewGet is element i, of type t, of a tuple.
func NewGet(x Expr, i int, t types.Type, at diag.Span) *Get {
	return &Get{Info: Of(t, at), X: x, Index: i}
}

// NewLet binds value for body; without a local it is evaluated for what it does.
func NewLet(at diag.Span, l *Local, value, body Expr) *Let {
	return &Let{Info: Of(body.Type(), at), Local: l, Value: value, Body: body}
}

// Binding is a let or a dropped value on the way to the value of a block.
type Binding struct {
	Local *Local // nil: dropped
	Value Expr
}

// Wrap puts bindings around a body, the first outermost. It is a loop, because blocks are long.
func Wrap(bs []Binding, body Expr) Expr {
	for i := len(bs) - 1; i >= 0; i-- {
		at := bs[i].Value.Span().To(body.Span())
		body = NewLet(at, bs[i].Local, bs[i].Value, body)
	}
	return body
}

// NewConst is a constant.
func NewConst(a *ir.Array, at diag.Span) *Const { return &Const{Info: Of(a.Type(), at), Value: a} }

// StringConst is a string that is known.
func StringConst(s string, at diag.Span) Expr {
	return NewConst(&ir.Array{DType: types.String, Str: s}, at)
}

// ScalarConst is the scalar of type d with these bits.
func ScalarConst(d types.DType, bits uint64, at diag.Span) Expr {
	return NewConst(&ir.Array{DType: d, Bits: []uint64{bits}}, at)
}

// FloatConst is an f64 constant.
func FloatConst(x float64, at diag.Span) Expr {
	return ScalarConst(types.F64, scalar.FloatBits(types.F64, x), at)
}

// NumberConst is the number n of any element type; a bool is n != 0.
func NumberConst(d types.DType, n int64, at diag.Span) Expr {
	bits := uint64(n)
	switch {
	case d.IsFloat() || d.IsStored():
		bits = scalar.FloatBits(d, float64(n))
	case d.IsInt():
		bits = scalar.IntBits(d, n)
	}
	return ScalarConst(d, bits, at)
}

// ConstArray is the tensor of these elements in row-major order.
func ConstArray(d types.DType, shape []int64, bits []uint64, at diag.Span) Expr {
	a := &ir.Array{DType: d, Shape: shape, Bits: bits}
	return NewConst(a, at)
}

// SignatureOf is a block with the parameters and yields of a lambda, for the type rules of operations.
func SignatureOf(l *Lambda) *ir.Block {
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
