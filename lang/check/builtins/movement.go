package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/indexing"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/operators"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// movementFunctions are the functions that put elements elsewhere: views and concatenations of what is there already.
func movementFunctions() map[string]*infer.Builtin {
	fn := func(required int, build infer.Build, params ...string) *infer.Builtin {
		return &infer.Builtin{Params: params, Required: required, Build: build}
	}
	return map[string]*infer.Builtin{
		"matmul": fn(2, matmulCall, "a", "b", "split"),
		"stack":  fn(1, stackCall, "tensors", "axis"),
		"split":  fn(2, splitCall, "x", "parts", "axis"),
		"flip":   fn(1, flipCall, "x", "axis"),
		"roll":   fn(2, rollCall, "x", "shift", "axis"),
		"pad":    fn(4, padCall, "x", "axis", "before", "after", "value"),
		"repeat": fn(2, repeatCall, "x", "n", "axis"),
		"like":   fn(2, likeCall, "x", "value"),
		"one_hot": {Params: []string{"idx", "n"}, Required: 2, Generic: true, Brackets: "type",
			Build: oneHotCall},
	}
}

// matmulCall is `matmul(a, b)`, which is `a @ b`, and `matmul(a, b, split = n)`, which is `a @[split = n] b`.
func matmulCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	return operators.Matmul(c, e.Loc, args[0], args[1], args[2], want)
}

// stackCall is `stack((a, b), axis = 0)`: tensors of one type side by side along a new axis.
func stackCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	return joined(c, e, args[0], want, "stack", func(xs []tree.Expr, first types.Tensor) tree.Expr {
		axis, ok := axisOr(c, args[1], first.Rank()+1, 0)
		if !ok {
			return tree.Bad(e.Loc)
		}
		for i, x := range xs {
			if !types.Equal(x.Type(), first) {
				r := c.Errorf(diag.CodeRule, x.Span(), "`stack` joins tensors of one type: %s and %s differ", first,
					x.Type()).
					Label("%s", x.Type()).Related(xs[0].Span(), "%s", first)
				r.Explain(x.Span(), first, x.Type())
				return tree.Bad(e.Loc)
			}
			xs[i] = c.Reshape(x.Span(), x, insertAxis(first.Shape, int(axis)))
		}
		if len(xs) == 1 {
			return xs[0]
		}
		return c.Apply(e.Loc, ops.Concat, ir.A{"axis": axis}, xs...)
	})
}

// splitCall is `split(x, n, axis = 0)`, a tuple of n equal parts, or `split(x, [d1, d2], axis = 0)`, parts of
// these extents.
func splitCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	hint := types.Type(nil)
	if t, ok := want.(types.Tuple); ok && len(t.Elems) > 0 {
		hint = literal.Want(types.ElemOf(t.Elems[0]))
	}
	x, t, ok := operand(c, args[0], hint, "split")
	if !ok {
		return tree.Bad(e.Loc)
	}
	axis, ok := axisOr(c, args[2], t.Rank(), 0)
	if !ok || t.IsScalar() {
		if ok {
			c.Errorf(diag.CodeAxis, x.Span(), "`split` cuts an axis, and %s has none", t)
		}
		return tree.Bad(e.Loc)
	}
	sizes, ok := splitSizes(c, args[1], t.Shape[axis])
	if !ok {
		return tree.Bad(e.Loc)
	}
	return c.Let(x, func(x tree.Expr) tree.Expr {
		parts := &tree.Tuple{Info: tree.Info{Loc: e.Loc}}
		var ts []types.Type
		begin := types.Dim{}
		for _, n := range sizes {
			part := sliceAxis(c, e.Loc, x, int(axis), begin, n, 1)
			if tree.IsBad(part) {
				return part
			}
			parts.Elems, ts = append(parts.Elems, part), append(ts, part.Type())
			begin, _ = begin.Add(n) // at most the extent
		}
		parts.T = types.Tuple{Elems: ts}
		return parts
	})
}

// maxParts bounds what `split` gives: a tuple is written out element by element.
const maxParts = 256

// splitSizes are the extents of the parts of an axis.
func splitSizes(c *infer.Checker, e ast.Expr, extent types.Dim) (types.Shape, bool) {
	switch ast.Unparen(e).(type) {
	case *ast.Array, *ast.Tuple:
		sizes, _, ok := dimList(c, e)
		if !ok {
			return nil, false
		}
		sum := types.Dim{}
		for _, n := range sizes {
			var err error
			if sum, err = sum.Add(n); err != nil {
				c.Rule(diag.CodeExtent, e.Span(), err)
				return nil, false
			}
			if unify.AlwaysNegative(n) {
				c.Errorf(diag.CodeExtent, e.Span(), "a part cannot have the extent %s", n)
				return nil, false
			}
		}
		if len(sizes) < 2 || len(sizes) > maxParts {
			c.Errorf(diag.CodeRule, e.Span(), "`split` gives 2 to %d parts, not %d", maxParts, len(sizes))
			return nil, false
		}
		if !sum.Equal(extent) {
			c.Errorf(diag.CodeRule, e.Span(), "the parts have %s elements together, and the axis has %s", sum, extent)
			return nil, false
		}
		return sizes, true
	}
	n, ok := c.ConstInt(e, "the number of parts")
	if !ok {
		return nil, false
	}
	if n < 2 || n > maxParts {
		c.Errorf(diag.CodeRule, e.Span(), "`split` gives 2 to %d parts, not %d", maxParts, n)
		return nil, false
	}
	size, ok := extent.Div(types.Lit(n))
	if !ok {
		c.Errorf(diag.CodeRule, e.Span(), "an axis of extent %s has no %d equal parts", extent,
			n).Help("list the extents: `split(x, [d1, d2], axis)`")
		return nil, false
	}
	sizes := make(types.Shape, n)
	for i := range sizes {
		sizes[i] = size
	}
	return sizes, true
}

// sliceAxis takes n elements from begin on, along one axis of x.
func sliceAxis(c *infer.Checker, at diag.Span, x tree.Expr, axis int, begin, n types.Dim, step int64) tree.Expr {
	shape := append(types.Shape{}, x.Type().(types.Tensor).Shape...)
	starts, steps := make(types.Shape, len(shape)), make([]int64, len(shape))
	for k := range steps {
		steps[k] = 1
	}
	if step == 1 && n.Equal(shape[axis]) {
		return x
	}
	starts[axis], steps[axis], shape[axis] = begin, step, n
	return c.ApplyCode(diag.CodeIndexRange, at, ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, nil,
		[]tree.Expr{x})
}

// flipCall is `flip(x, axis)`: the given axes backwards, all of them when none is given.
func flipCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := operand(c, args[0], want, "flip")
	if !ok {
		return tree.Bad(e.Loc)
	}
	axes, ok := axesOf(c, args[1], t.Rank())
	if !ok {
		return tree.Bad(e.Loc)
	}
	for _, a := range axes {
		last, err := t.Shape[a].Sub(types.Lit(1))
		if err != nil {
			c.Rule(diag.CodeExtent, e.Loc, err)
			return tree.Bad(e.Loc)
		}
		if t.Shape[a].IsConst(0) || t.Shape[a].IsConst(1) {
			continue
		}
		if x = sliceAxis(c, e.Loc, x, int(a), last, t.Shape[a], -1); tree.IsBad(x) {
			return x
		}
	}
	return x
}

// rollCall is `roll(x, shift, axis)`: element i moves to i + shift, and what leaves the axis enters at its
// other end. Without an axis the tensor is rolled as if it were flat.
func rollCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := operand(c, args[0], want, "roll")
	if !ok {
		return tree.Bad(e.Loc)
	}
	shape, axis := t.Shape, int64(0)
	if args[2] == nil {
		n, err := t.Shape.Elems()
		if err != nil {
			c.Rule(diag.CodeExtent, e.Loc, err)
			return tree.Bad(e.Loc)
		}
		x = c.Reshape(e.Loc, x, types.Shape{n})
	} else if axis, ok = c.Axis(args[2], t.Rank()); !ok {
		return tree.Bad(e.Loc)
	}
	if tree.IsBad(x) {
		return x
	}
	n := x.Type().(types.Tensor).Shape[axis]
	size, literal := n.Const()
	d, p := c.TryDim(args[1], false)
	by, known := d.Const()
	if literal && size == 0 {
		return c.Reshape(e.Loc, x, shape)
	}
	if p != nil || !known || !literal {
		return rollBy(c, e, x, axis, args[1], shape)
	}
	by = (by%size + size) % size
	if by == 0 {
		return c.Reshape(e.Loc, x, shape)
	}
	return c.Let(x, func(x tree.Expr) tree.Expr {
		tail := sliceAxis(c, e.Loc, x, int(axis), types.Lit(size-by), types.Lit(by), 1)
		head := sliceAxis(c, e.Loc, x, int(axis), types.Dim{}, types.Lit(size-by), 1)
		return c.Reshape(e.Loc, c.Apply(e.Loc, ops.Concat, ir.A{"axis": axis}, tail, head), shape)
	})
}

// rollBy rolls by a shift, or along an extent, that is only known when the program runs: position i of the
// result is taken from ((i - shift) mod n + n) mod n, in i64.
func rollBy(c *infer.Checker, e *ast.Call, x tree.Expr, axis int64, shift ast.Expr, shape types.Shape) tree.Expr {
	s := c.Expr(shift, types.Scalar(types.I32))
	if !infer.IsIndex(s.Type()) {
		if !tree.IsBad(s) {
			c.Errorf(diag.CodeMismatch, shift.Span(), "the shift of `roll` is an i32 or i64, not %s",
				s.Type()).Label("%s", s.Type())
		}
		return tree.Bad(e.Loc)
	}
	n := x.Type().(types.Tensor).Shape[axis]
	long := func(x tree.Expr) tree.Expr {
		if types.ElemOf(x.Type()) == types.I64 {
			return x
		}
		return c.Apply(e.Loc, ops.Cast, ir.A{"to": types.I64}, x)
	}
	op := func(op *ir.OpDef, x, y tree.Expr) tree.Expr {
		return c.Apply(e.Loc, op, nil, x, c.Broadcast(y, types.Shape{n}))
	}
	at := c.Apply(e.Loc, ops.Iota, ir.A{"start": types.Dim{}, "extent": n})
	// An empty axis has no positions; dividing by at least 1 keeps the remainder from failing for nothing.
	one := tree.ScalarConst(types.I64, 1, e.Loc)
	return c.Let(c.Apply(e.Loc, ops.Max, nil, long(c.DimValue(n, e.Loc)), one), func(size tree.Expr) tree.Expr {
		at = op(ops.Rem, op(ops.Sub, long(at), c.Apply(e.Loc, ops.Rem, nil, long(s), size)), size)
		at = op(ops.Rem, op(ops.Add, at, size), size)
		if tree.IsBad(at) {
			return at
		}
		return c.Reshape(e.Loc, indexing.Gather(c, e.Loc, x, []tree.Expr{at}, []int64{axis}), shape)
	})
}

// padCall is `pad(x, axis, before, after, value = 0)`: more elements, all of them value, at both ends.
func padCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := operand(c, args[0], want, "pad")
	if !ok {
		return tree.Bad(e.Loc)
	}
	axis, ok := c.Axis(args[1], t.Rank())
	if !ok {
		return tree.Bad(e.Loc)
	}
	value := tree.NumberConst(t.Elem, 0, e.Loc)
	if args[4] != nil {
		if value = c.ScalarOf(args[4], t.Elem, "the value"); tree.IsBad(value) {
			return tree.Bad(e.Loc)
		}
	}
	var sides [2]types.Dim
	for i := range sides {
		d, ok := c.Dim(args[2+i])
		if !ok {
			return tree.Bad(e.Loc)
		}
		if unify.AlwaysNegative(d) {
			c.Errorf(diag.CodeExtent, args[2+i].Span(), "`pad` cannot add %s elements", d)
			return tree.Bad(e.Loc)
		}
		sides[i] = d
	}
	return c.Let(value, func(value tree.Expr) tree.Expr {
		fill := func(n types.Dim) tree.Expr {
			shape := append(types.Shape{}, t.Shape...)
			shape[axis] = n
			return c.Broadcast(value, shape)
		}
		var parts []tree.Expr
		if !sides[0].IsConst(0) {
			parts = append(parts, fill(sides[0]))
		}
		parts = append(parts, x)
		if !sides[1].IsConst(0) {
			parts = append(parts, fill(sides[1]))
		}
		if len(parts) == 1 {
			return x
		}
		return c.Apply(e.Loc, ops.Concat, ir.A{"axis": axis}, parts...)
	})
}

// repeatCall is `repeat(x, n, axis)`: every element n times in a row. Without an axis the tensor is flat.
func repeatCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := operand(c, args[0], want, "repeat")
	n, ok1 := c.Dim(args[1])
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	if unify.AlwaysNegative(n) {
		c.Errorf(diag.CodeExtent, args[1].Span(), "an element cannot stand %s times", n)
		return tree.Bad(e.Loc)
	}
	shape, axis := t.Shape, int64(0)
	if args[2] == nil {
		elems, err := t.Shape.Elems()
		if err != nil {
			c.Rule(diag.CodeExtent, e.Loc, err)
			return tree.Bad(e.Loc)
		}
		shape = types.Shape{elems}
	} else if axis, ok = c.Axis(args[2], t.Rank()); !ok {
		return tree.Bad(e.Loc)
	}
	total, err := shape[axis].Mul(n)
	if err != nil {
		c.Rule(diag.CodeExtent, e.Loc, err)
		return tree.Bad(e.Loc)
	}
	column := insertAxis(shape, int(axis)+1)
	wide := append(types.Shape{}, column...)
	wide[axis+1] = n
	result := append(types.Shape{}, shape...)
	result[axis] = total
	if !c.Extents(e.Loc, types.Tensor{Elem: t.Elem, Shape: result}) {
		return tree.Bad(e.Loc)
	}
	if x = c.Reshape(e.Loc, x, column); tree.IsBad(x) {
		return x
	}
	return c.Reshape(e.Loc, c.Broadcast(x, wide), result)
}
