package indexing

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// literalPositions checks a tensor of positions whose elements are known. In a literal, a negative position
// counts from the end, as a single one does; everywhere else positions are data, and a negative one is out of
// range. e is the index of axis k, which has the given extent, and x its value.
func literalPositions(c *infer.Checker, e ast.Expr, x tree.Expr, extent types.Dim, k int) (tree.Expr, bool) {
	known, ok := x.(*tree.Const)
	if !ok {
		return x, true
	}
	_, literal := ast.Unparen(e).(*ast.Array)
	t := known.Value.DType
	n, fixed := extent.Const()
	negative := false
	mask := make([]uint64, len(known.Value.Bits))
	for i, bits := range known.Value.Bits {
		v := int64(int32(bits))
		if t == types.I64 {
			v = int64(bits)
		}
		at := v
		if v < 0 && literal {
			negative, mask[i], at = true, 1, v+n
		}
		if fixed && (at < 0 || at >= n) || v < 0 && !literal {
			r := c.Errorf(diag.CodeIndexRange, e.Span(), "index %d is out of range for axis %d with extent %s", v, k,
				extent)
			if fixed && n > 0 {
				r.Help("the indices are 0 to %d, or -%d to -1 from the end", n-1, n)
			}
			return x, false
		}
	}
	if !negative {
		return x, true
	}
	shape := known.Value.Shape
	if fixed {
		moved := make([]uint64, len(mask))
		for i, bits := range known.Value.Bits {
			moved[i] = (bits + mask[i]*uint64(n)) & scalar.IntBits(t, -1)
		}
		return tree.ConstArray(t, shape, moved, e.Span()), true
	}
	size := c.DimValue(extent, e.Span())
	if t != types.I32 {
		size = c.Apply(e.Span(), ops.Cast, ir.A{"to": t}, size)
	}
	ends := c.Apply(e.Span(), ops.Mul, nil, tree.ConstArray(t, shape, mask, e.Span()),
		c.Broadcast(size, known.T.(types.Tensor).Shape))
	out := c.Apply(e.Span(), ops.Add, nil, x, ends)
	return out, !tree.IsBad(out)
}

// Gather picks by tensors of positions, one for each of the axes of x. They broadcast; the axes of the
// result that they make stand where the axes that they index stood, or in front when those are not neighbours.
func Gather(c *infer.Checker, at diag.Span, x tree.Expr, idx []tree.Expr, axes []int64) tree.Expr {
	shape := types.Shape{}
	for _, i := range idx {
		if tree.IsBad(i) {
			return tree.Bad(at)
		}
		next, err := types.Broadcast(shape, i.Type().(types.Tensor).Shape)
		if err != nil {
			c.Rule(diag.CodeNotBroadcastable, at, err).Label("%s", scope.TypeList(idx))
			return tree.Bad(at)
		}
		shape = next
	}
	args := []tree.Expr{x}
	for _, i := range idx {
		args = append(args, c.Broadcast(i, shape))
	}
	out := c.ApplyCode(diag.CodeIndexRange, at, ops.Gather, ir.A{"axes": axes}, nil, args)
	first, last := axes[0], axes[len(axes)-1]
	if tree.IsBad(out) || first == 0 || last-first != int64(len(axes)-1) {
		return out
	}
	// Now [positions..., rest...]; the axes before the first indexed one go back to the front.
	r := int64(len(shape))
	var perm []int64
	for k := range first {
		perm = append(perm, r+k)
	}
	for k := range r {
		perm = append(perm, k)
	}
	for k := r + first; k < int64(out.Type().(types.Tensor).Rank()); k++ {
		perm = append(perm, k)
	}
	return c.Apply(at, ops.Permute, ir.A{"perm": perm}, out)
}
