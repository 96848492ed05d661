package operators

import (
	"fmt"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// matmul is `a @ b`. A vector on the left is a row, on the right a column, and that axis is dropped from
// the result; leading axes broadcast.
//
//	[K] @ [K,N] gives [N]    [M,K] @ [K] gives [M]    [B,M,K] @ [K,N] gives [B,M,N]    [K] @ [K] gives a scalar
//
// With `@[split = n]`, k is cut into blocks of n steps (Note [Products in blocks of k] in ir/ops).
func matmul(c *infer.Checker, e *ast.Binary, want types.Type) tree.Expr {
	return Matmul(c, e.Loc, e.X, e.Y, e.Split, want)
}

// Matmul is the product at a place of the source; split is nil for `@` alone.
func Matmul(c *infer.Checker, at diag.Span, left, right, split ast.Expr, want types.Type) tree.Expr {
	product, attrs := ops.Matmul, ir.A(nil)
	if split != nil {
		n, ok := c.ConstInt(split, "`split`")
		if !ok {
			return tree.Bad(at)
		}
		if n < ops.SplitUnit || n > ops.SplitMost || n%ops.SplitUnit != 0 {
			c.Errorf(diag.CodeRule, split.Span(), "`split` is a multiple of %d from %d to %d, not %d", ops.SplitUnit,
				ops.SplitUnit, ops.SplitMost, n).Help("256 suits most products")
			return tree.Bad(at)
		}
		product, attrs = ops.SplitMatmul, ir.A{"split": n}
	}
	return multiply(c, at, c.Together([]ast.Expr{left, right}, types.ElemOf(want)), product, attrs)
}

func multiply(c *infer.Checker, at diag.Span, xs []tree.Expr, product *ir.OpDef, attrs ir.A) tree.Expr {
	x, y := xs[0], xs[1]
	if tree.IsBad(x) || tree.IsBad(y) {
		return tree.Bad(at)
	}
	a, ok1 := x.Type().(types.Tensor)
	b, ok2 := y.Type().(types.Tensor)
	operands := fmt.Sprintf("%s @ %s", x.Type(), y.Type())
	if !ok1 || !ok2 || a.IsScalar() || b.IsScalar() {
		r := c.Errorf(diag.CodeMatmul, at, "`@` multiplies matrices and vectors, not %s and %s", x.Type(),
			y.Type()).Label("%s", operands)
		if ok1 && ok2 && a.Elem.IsNumber() && b.Elem.IsNumber() {
			r.Help("write `*` to multiply by a scalar")
		}
		return tree.Bad(at)
	}
	if c.Stored("`@`", x, y) != nil {
		return tree.Bad(at)
	}
	if a.Elem != b.Elem {
		c.Differ(at, "`@`", x, y, nil).Label("%s", operands)
		return tree.Bad(at)
	}
	if !a.Elem.IsNumber() {
		c.Errorf(diag.CodeOperands, at, "`@` takes numbers, not %s", a.Elem).Label("%s", operands)
		return tree.Bad(at)
	}
	left, right := a.Shape, b.Shape
	if a.Rank() == 1 {
		left = types.Shape{types.Lit(1), a.Shape[0]}
	}
	if b.Rank() == 1 {
		right = types.Shape{b.Shape[0], types.Lit(1)}
	}
	m, n := len(left), len(right)
	if k, l := left[m-1], right[n-2]; !k.Equal(l) {
		r := c.Errorf(diag.CodeMatmul, at, "inner extents of `@` differ: %s and %s", k, l).Label("%s", operands)
		r.Note("%s: the last extent is %s", a.Shape, k)
		if b.Rank() == 1 {
			r.Note("%s: the only extent is %s", b.Shape, l)
			return tree.Bad(at)
		}
		r.Note("%s: the last but one is %s", b.Shape, l)
		if right[n-1].Equal(k) && b.Rank() == 2 {
			r.Help("the other axis of the right operand fits: write `@ transpose(...)`")
		}
		return tree.Bad(at)
	}
	batch, err := types.Broadcast(left[:m-2], right[:n-2])
	if err != nil {
		c.Rule(diag.CodeMatmul, at, err).Label("%s", operands).Note("these are the leading axes of the operands")
		return tree.Bad(at)
	}
	x = c.Reshape(x.Span(), x, left)
	y = c.Reshape(y.Span(), y, right)
	x = c.Broadcast(x, append(append(types.Shape{}, batch...), left[m-2:]...))
	y = c.Broadcast(y, append(append(types.Shape{}, batch...), right[n-2:]...))
	out := c.ApplyCode(diag.CodeMatmul, at, product, attrs, nil, []tree.Expr{x, y})
	t, ok := out.Type().(types.Tensor)
	if !ok || tree.IsBad(out) {
		return tree.Bad(at)
	}
	shape := append(types.Shape{}, t.Shape...)
	if b.Rank() == 1 {
		shape = shape[:len(shape)-1]
	}
	if a.Rank() == 1 {
		row := len(batch)
		shape = append(shape[:row:row], shape[row+1:]...)
	}
	return c.Reshape(at, out, shape)
}
