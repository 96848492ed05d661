package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/indexing"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// modularFunctions are the functions of language.md section 7 that are made of operations. The others are operations,
// the element-wise ones with the modulus as an operand that broadcasts: one number, or one for each position of the
// last axis.
func modularFunctions() map[string]*infer.Builtin {
	return map[string]*infer.Builtin{
		"permute": {Params: []string{"a", "perms", "elementwise_axis", "perm_axis"}, Required: 4,
			Build: permuteRowsCall},
	}
}

// tensorOf reports whether x is a tensor or a scalar of numbers.
func tensorOf(c *infer.Checker, x tree.Expr, what string) (types.Tensor, bool) {
	t, ok := x.Type().(types.Tensor)
	if tree.IsBad(x) {
		return t, false
	}
	if !ok || !t.Elem.IsNumber() {
		c.Errorf(diag.CodeOperands, x.Span(), "%s is a tensor of numbers, not %s", what, x.Type()).Label("%s", x.Type())
		return t, false
	}
	return t, true
}

// modMulAxisSumCall is `modmul_axis_sum(a, b, p, axis, acc, perm, mode, perm_axis)`: factors that broadcast, whose
// products are summed along an axis. With a permutation of another axis, b is read at perm[n], and with `scatter` what
// that gives for index n is added to the result at perm[n], too.
func modMulAxisSumCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	numbers := args[:3:3]
	if args[4] != nil {
		numbers = append(numbers, args[4])
	}
	xs := c.Together(numbers, types.ElemOf(want))
	a, b, p := xs[0], xs[1], xs[2]
	at, ok := tensorOf(c, a, "a factor of `modmul_axis_sum`")
	bt, ok1 := tensorOf(c, b, "a factor of `modmul_axis_sum`")
	for _, x := range xs[2:] {
		ok = ok && !tree.IsBad(x)
	}
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	rank := max(at.Rank(), bt.Rank())
	axis, ok := c.Axis(args[3], rank)
	if !ok {
		return tree.Bad(e.Loc)
	}
	m, ok := permutationOf(c, args, axis, rank)
	if !ok {
		return tree.Bad(e.Loc)
	}
	if b, ok = m.read(c, e.Loc, args[5], b, bt, rank); !ok {
		return b
	}
	shape, err := types.Broadcast(at.Shape, b.Type().(types.Tensor).Shape)
	if err != nil {
		c.Rule(diag.CodeNotBroadcastable, e.Loc, err).Label("%s", scope.TypeList([]tree.Expr{a, b}))
		return tree.Bad(e.Loc)
	}
	return c.Let(p, func(p tree.Expr) tree.Expr {
		sum := c.ApplyCode(diag.CodeRule, e.Loc, ops.ModMulAxisSum, ir.A{"axis": axis}, nil,
			[]tree.Expr{c.Broadcast(a, shape), c.Broadcast(b, shape), p})
		if tree.IsBad(sum) {
			return sum
		}
		t := sum.Type().(types.Tensor)
		var acc tree.Expr
		if len(xs) == 4 {
			acc = xs[3]
			if got, ok := acc.Type().(types.Tensor); !ok || !got.Shape.Equal(t.Shape) {
				c.Errorf(diag.CodeMismatch, acc.Span(), "`acc` has the shape of the sum, %s, not %s", t,
					acc.Type()).Label("%s", acc.Type())
				return tree.Bad(e.Loc)
			}
		}
		switch {
		case m.scatter:
			return m.scattered(c, e.Loc, args[5].Span(), acc, sum, p, axis)
		case acc != nil:
			return c.Pointwise(e.Loc, ops.ModSum, []tree.Expr{acc, sum, p})
		}
		return sum
	})
}

// read is the factor b, of type bt, read at the positions of a permutation, which is written as perm.
func (m modPermutation) read(c *infer.Checker, at diag.Span, perm ast.Expr, b tree.Expr, bt types.Tensor,
	rank int) (tree.Expr, bool) {
	k := m.axis - int64(rank-bt.Rank())
	// What repeats along the axis is the same at every position of a scatter.
	repeats := m.scatter && (k < 0 || bt.Shape[k].IsConst(1))
	if m.perm == nil || repeats {
		return b, true
	}
	if k < 0 {
		c.Errorf(diag.CodeAxis, perm.Span(), "`perm` reads b along axis %d, which %s does not have", m.axis,
			bt).Label("%s", m.perm.Type())
		return tree.Bad(at), false
	}
	b = indexing.Gather(c, at, b, []tree.Expr{m.perm}, []int64{k})
	return b, !tree.IsBad(b)
}

// scattered adds sums along an axis to acc, nil for zeros, at the positions of a permutation, which stands at perm.
func (m modPermutation) scattered(c *infer.Checker, at, perm diag.Span, acc, sum, p tree.Expr, axis int64) tree.Expr {
	t := sum.Type().(types.Tensor)
	if acc == nil {
		acc = c.Broadcast(tree.NumberConst(t.Elem, 0, at), t.Shape)
	}
	k := m.axis
	if k > axis {
		k--
	}
	column := make(types.Shape, t.Rank())
	for i := range column {
		column[i] = types.Lit(1)
	}
	column[k] = m.perm.Type().(types.Tensor).Shape[0]
	if !column[k].Equal(t.Shape[k]) {
		c.Errorf(diag.CodeRule, perm, "there is one position for each of the %s elements of axis %d, not %s",
			t.Shape[k], m.axis, column[k]).Label("%s", m.perm.Type())
		return tree.Bad(at)
	}
	idx := c.Broadcast(c.Reshape(perm, m.perm, column), t.Shape)
	return c.ApplyCode(diag.CodeRule, at, ops.ModScatterAdd, ir.A{"axis": k}, nil, []tree.Expr{acc, idx, sum, p})
}

// modPermutation are the arguments of modmul_axis_sum that say how an axis is permuted.
type modPermutation struct {
	perm    tree.Expr // nil for none
	scatter bool
	axis    int64
}

func permutationOf(c *infer.Checker, args []ast.Expr, axis int64, rank int) (modPermutation, bool) {
	var m modPermutation
	perm, mode, permAxis := args[5], args[6], args[7]
	if perm == nil {
		for _, x := range []ast.Expr{mode, permAxis} {
			if x != nil {
				c.Errorf(diag.CodeRule, x.Span(), "there is no `perm` that this could belong to")
				return m, false
			}
		}
		return m, true
	}
	switch name, _ := mode.(*ast.Name); {
	case mode == nil:
		c.Errorf(diag.CodeRule, perm.Span(), "`perm` needs a mode").Help(
			"`mode = gather` reads b at perm[n], `mode = scatter` adds to the result there, too")
		return m, false
	case name != nil && name.Name == "scatter":
		m.scatter = true
	case name == nil || name.Name != "gather":
		c.Errorf(diag.CodeRule, mode.Span(), "the mode of a permutation is `gather` or `scatter`")
		return m, false
	}
	m.axis = axis - 1
	if axis == 0 {
		m.axis = 1
	}
	ok := true
	if permAxis != nil {
		m.axis, ok = c.Axis(permAxis, rank)
	}
	if !ok || m.axis == axis || m.axis >= int64(rank) {
		if ok {
			c.Errorf(diag.CodeAxis, perm.Span(), "the permuted axis is another one than the sum's, axis %d", axis)
		}
		return m, false
	}
	x, t, ok := c.Value(perm, nil, "the permutation")
	if !ok {
		return m, false
	}
	if t.Rank() != 1 || t.Elem != types.I32 && t.Elem != types.I64 {
		c.Errorf(diag.CodeMismatch, x.Span(), "a permutation is a tensor of i32 or i64 of rank 1, not %s",
			t).Label("%s", t)
		return m, false
	}
	m.perm = x
	return m, true
}

// nttCall is `ntt(a, p, twiddles, perm, axis = -3, skip_perm = false)` or `intt(a, p, inv_twiddles, m_inv, perm, axis =
// -3)`. Narrower integers widen to the type of the moduli.
func nttCall(op *ir.OpDef) infer.Build {
	return func(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
		n := op.Arity - 1 // operands that are numbers; the last one is positions
		rest := c.Together(args[1:n], types.ElemOf(want))
		p, ok := tensorOf(c, rest[0], "the moduli of `"+op.Surface+"`")
		for _, x := range rest {
			ok = ok && !tree.IsBad(x)
		}
		if !ok {
			return tree.Bad(e.Loc)
		}
		x, t, ok := c.Value(args[0], literal.Want(p.Elem), "the operand of `"+op.Surface+"`")
		if !ok {
			return tree.Bad(e.Loc)
		}
		if t.Elem != p.Elem && t.Elem.IsSigned() && t.Elem.IsInt() && t.Elem.Bits() < p.Elem.Bits() {
			x = c.Apply(e.Loc, ops.Cast, ir.A{"to": p.Elem}, x)
		}
		axis, ok := axisOr(c, args[n+1], t.Rank(), int64(t.Rank()-3))
		if ok && axis < 0 {
			c.Errorf(diag.CodeAxis, x.Span(), "`%s` transforms the third axis from the end, and %s has %d", op.Surface,
				t, t.Rank()).
				Label("%s", t).Help("`axis = -1` transforms the last axis of [..., k, m]")
			ok = false
		}
		if !ok {
			return tree.Bad(e.Loc)
		}
		attrs := ir.A{"axis": axis}
		if op == ops.Ntt {
			skip, ok := constFlag(c, args[n+2], "skip_perm")
			if !ok {
				return tree.Bad(e.Loc)
			}
			attrs["skip_perm"] = skip
		}
		perm := c.Expr(args[n], nil)
		if tree.IsBad(perm) {
			return perm
		}
		// One number stands for all channels.
		if channels := t.Shape; t.Rank() >= 2 {
			k := channels[t.Rank()-1]
			if axis == int64(t.Rank()-1) {
				k = channels[t.Rank()-2]
			}
			for _, i := range []int{0, 2} {
				if i < len(rest) && len(rest[i].Type().(types.Tensor).Shape) == 0 {
					rest[i] = c.Broadcast(rest[i], types.Shape{k})
				}
			}
		}
		return c.ApplyCode(diag.CodeRule, e.Loc, op, attrs, nil, append(append([]tree.Expr{x}, rest...), perm))
	}
}

// permuteRowsCall is `permute(a, perms, elementwise_axis, perm_axis)`: index e of one axis has its own permutation of
// another, perms[e].
func permuteRowsCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := operand(c, args[0], want, "permute")
	perms, pt, ok1 := c.Value(args[1], nil, "the permutations")
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	along, ok := c.Axis(args[2], t.Rank())
	axis, ok1 := c.Axis(args[3], t.Rank())
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	if along == axis {
		c.Errorf(diag.CodeAxis, args[3].Span(),
			"`permute` permutes another axis than the one whose elements each have a permutation")
		return tree.Bad(e.Loc)
	}
	if pt.Rank() != 2 || !pt.Shape[0].Equal(t.Shape[along]) || pt.Elem != types.I32 && pt.Elem != types.I64 {
		c.Errorf(diag.CodeMismatch, perms.Span(),
			"the permutations are an i32[%s, m] or i64[%s, m], one for each element of axis %d, not %s", t.Shape[along],
			t.Shape[along], along, pt).Label("%s", pt)
		return tree.Bad(e.Loc)
	}
	if along > axis {
		perms = c.Apply(e.Loc, ops.Permute, ir.A{"perm": []int64{1, 0}}, perms)
	}
	column := make(types.Shape, t.Rank())
	for k := range column {
		column[k] = types.Lit(1)
	}
	shape := append(types.Shape{}, t.Shape...)
	column[along], column[axis], shape[axis] = pt.Shape[0], pt.Shape[1], pt.Shape[1]
	idx := c.Broadcast(c.Reshape(e.Loc, perms, column), shape)
	if tree.IsBad(idx) {
		return idx
	}
	return c.ApplyCode(diag.CodeIndexRange, e.Loc, ops.TakeAlongAxis, ir.A{"axis": axis, "within": true}, nil,
		[]tree.Expr{x, idx})
}
