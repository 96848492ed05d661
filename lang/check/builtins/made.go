package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// This file types the functions that make tensors by counting.

// elemArgument is the element type in the brackets of a call, want's when there are none, and then missing.
func elemArgument(c *infer.Checker, e *ast.Call, want types.Type, missing types.DType) (types.DType, bool) {
	if len(e.Generics) == 0 {
		if d := types.ElemOf(want); d.Converts() {
			return d, true
		}
		return missing, true
	}
	if len(e.Generics) > 1 {
		name := e.Fun.(*ast.Name).Name
		c.Errorf(diag.CodeArity, e.Generics[1].Span(), "%s takes only a type in brackets",
			report.Quote(name)).Help("write `%s`", c.Language.Functions[name].Signature(name))
		return missing, false
	}
	t, ok := typeAndShape(c, e, e.Fun.(*ast.Name).Name)
	return t.Elem, ok
}

// iotaCall is `iota(n)` or `iota[f32](n)`: 0, 1, ..., n-1, of type i32 unless the brackets say another.
func iotaCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	elem, ok := elemArgument(c, e, nil, types.I32)
	n, ok1 := c.Dim(args[0])
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	if elem == types.Bool {
		c.Errorf(diag.CodeOperands, e.Generics[0].Span(), "`iota` counts in numbers, not bool")
		return tree.Bad(e.Loc)
	}
	out := c.ApplyCode(diag.CodeExtent, e.Loc, ops.Iota, ir.A{"start": types.Dim{}, "extent": n}, nil, nil)
	if elem == types.I32 || tree.IsBad(out) {
		return out
	}
	return c.Apply(e.Loc, ops.Cast, ir.A{"to": elem}, out)
}

// bitcastCall is `bitcast[u16](x)`.
func bitcastCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	if len(e.Generics) == 0 {
		c.Errorf(diag.CodeArity, e.Loc, "`bitcast` takes a type in brackets").Help("write `bitcast[u16](x)`")
		c.Expr(args[0], nil)
		return tree.Bad(e.Loc)
	}
	to, ok := elemArgument(c, e, nil, types.Invalid)
	x, _, ok1 := c.Value(args[0], nil, "the argument of `bitcast`")
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	return c.Apply(e.Loc, ops.Bitcast, ir.A{"to": to}, x)
}

// oneHotCall is `one_hot(idx, n)`: a new last axis of extent n that is 1 at the position and 0 elsewhere, and
// 0 everywhere for a position out of range. The elements are f32 unless the context or the brackets say
// another type.
func oneHotCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	elem, ok := elemArgument(c, e, want, types.F32)
	idx, t, ok1 := c.Value(args[0], types.Scalar(types.I32), "the positions of `one_hot`")
	n, ok2 := c.Dim(args[1])
	if !ok || !ok1 || !ok2 {
		return tree.Bad(e.Loc)
	}
	if t.Elem != types.I32 && t.Elem != types.I64 {
		c.Errorf(diag.CodeOperands, idx.Span(), "a position is an i32 or i64, not %s", t).Label("%s",
			t).Help("convert it: `%s`", report.CastText(idx.Span(), types.I32))
		return tree.Bad(e.Loc)
	}
	shape := append(append(types.Shape{}, t.Shape...), n)
	if !c.Extents(e.Loc, types.Tensor{Elem: elem, Shape: shape}) {
		return tree.Bad(e.Loc)
	}
	at := c.Apply(e.Loc, ops.Iota, ir.A{"start": types.Dim{}, "extent": n})
	if t.Elem != types.I32 && !tree.IsBad(at) {
		at = c.Apply(e.Loc, ops.Cast, ir.A{"to": t.Elem}, at)
	}
	idx = c.Broadcast(c.Reshape(e.Loc, idx, insertAxis(t.Shape, t.Rank())), shape)
	same := c.Apply(e.Loc, ops.Eq, nil, idx, c.Broadcast(at, shape))
	if elem == types.Bool {
		return same
	}
	return c.Apply(e.Loc, ops.Cast, ir.A{"to": elem}, same)
}

// likeCall is `like(x, value)`: the type of x, every element value.
func likeCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := operand(c, args[0], want, "like")
	if !ok {
		return tree.Bad(e.Loc)
	}
	value := c.ScalarOf(args[1], t.Elem, "the value")
	if tree.IsBad(value) {
		return tree.Bad(e.Loc)
	}
	out := c.Broadcast(value, t.Shape)
	switch x.(type) {
	case *tree.Use, *tree.Const:
		return out
	}
	return tree.NewLet(e.Loc, nil, x, out) // evaluated for what it does
}
