package check

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// movementFunctions are the functions that put elements elsewhere: views and concatenations of what is there already.
func movementFunctions() map[string]*builtin {
	fn := func(required int, build buildFunc, params ...string) *builtin {
		return &builtin{params: params, required: required, build: build}
	}
	return map[string]*builtin{
		"stack":  fn(1, (*checker).stackCall, "tensors", "axis"),
		"split":  fn(2, (*checker).splitCall, "x", "parts", "axis"),
		"flip":   fn(1, (*checker).flipCall, "x", "axis"),
		"roll":   fn(2, (*checker).rollCall, "x", "shift", "axis"),
		"pad":    fn(4, (*checker).padCall, "x", "axis", "before", "after", "value"),
		"repeat": fn(2, (*checker).repeatCall, "x", "n", "axis"),
		"like":   fn(2, (*checker).likeCall, "x", "value"),
		"one_hot": {params: []string{"idx", "n"}, required: 2, generic: true, brackets: "type",
			build: (*checker).oneHotCall},
	}
}

// stackCall is `stack((a, b), axis = 0)`: tensors of one type side by side along a new axis.
func (c *checker) stackCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	return c.joined(e, args[0], want, "stack", func(xs []tree.Expr, first types.Tensor) tree.Expr {
		axis, ok := c.axisOr(args[1], first.Rank()+1, 0)
		if !ok {
			return tree.Bad(e.Loc)
		}
		for i, x := range xs {
			if !types.Equal(x.Type(), first) {
				r := c.errorf(diag.CodeRule, x.Span(), "`stack` joins tensors of one type: %s and %s differ", first,
					x.Type()).
					Label("%s", x.Type()).Related(xs[0].Span(), "%s", first)
				r.Explain(x.Span(), first, x.Type())
				return tree.Bad(e.Loc)
			}
			xs[i] = c.reshape(x.Span(), x, insertAxis(first.Shape, int(axis)))
		}
		if len(xs) == 1 {
			return xs[0]
		}
		return c.apply(e.Loc, ops.Concat, ir.A{"axis": axis}, xs...)
	})
}

// splitCall is `split(x, n, axis = 0)`, a tuple of n equal parts, or `split(x, [d1, d2], axis = 0)`, parts of
// these extents.
func (c *checker) splitCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	hint := types.Type(nil)
	if t, ok := want.(types.Tuple); ok && len(t.Elems) > 0 {
		hint = literal.Want(types.ElemOf(t.Elems[0]))
	}
	x, t, ok := c.operand(args[0], hint, "split")
	if !ok {
		return tree.Bad(e.Loc)
	}
	axis, ok := c.axisOr(args[2], t.Rank(), 0)
	if !ok || t.IsScalar() {
		if ok {
			c.errorf(diag.CodeAxis, x.Span(), "`split` cuts an axis, and %s has none", t)
		}
		return tree.Bad(e.Loc)
	}
	sizes, ok := c.splitSizes(args[1], t.Shape[axis])
	if !ok {
		return tree.Bad(e.Loc)
	}
	return c.let(x, func(x tree.Expr) tree.Expr {
		parts := &tree.Tuple{Info: tree.Info{Loc: e.Loc}}
		var ts []types.Type
		begin := types.Dim{}
		for _, n := range sizes {
			part := c.sliceAxis(e.Loc, x, int(axis), begin, n, 1)
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
func (c *checker) splitSizes(e ast.Expr, extent types.Dim) (types.Shape, bool) {
	switch ast.Unparen(e).(type) {
	case *ast.Array, *ast.Tuple:
		sizes, _, ok := c.dimList(e)
		if !ok {
			return nil, false
		}
		sum := types.Dim{}
		for _, n := range sizes {
			var err error
			if sum, err = sum.Add(n); err != nil {
				c.rule(diag.CodeExtent, e.Span(), err)
				return nil, false
			}
			if unify.AlwaysNegative(n) {
				c.errorf(diag.CodeExtent, e.Span(), "a part cannot have the extent %s", n)
				return nil, false
			}
		}
		if len(sizes) < 2 || len(sizes) > maxParts {
			c.errorf(diag.CodeRule, e.Span(), "`split` gives 2 to %d parts, not %d", maxParts, len(sizes))
			return nil, false
		}
		if !sum.Equal(extent) {
			c.errorf(diag.CodeRule, e.Span(), "the parts have %s elements together, and the axis has %s", sum, extent)
			return nil, false
		}
		return sizes, true
	}
	n, ok := c.constInt(e, "the number of parts")
	if !ok {
		return nil, false
	}
	if n < 2 || n > maxParts {
		c.errorf(diag.CodeRule, e.Span(), "`split` gives 2 to %d parts, not %d", maxParts, n)
		return nil, false
	}
	size, ok := extent.Div(types.Lit(n))
	if !ok {
		c.errorf(diag.CodeRule, e.Span(), "an axis of extent %s has no %d equal parts", extent,
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
func (c *checker) sliceAxis(at diag.Span, x tree.Expr, axis int, begin, n types.Dim, step int64) tree.Expr {
	shape := append(types.Shape{}, x.Type().(types.Tensor).Shape...)
	starts, steps := make(types.Shape, len(shape)), make([]int64, len(shape))
	for k := range steps {
		steps[k] = 1
	}
	if step == 1 && n.Equal(shape[axis]) {
		return x
	}
	starts[axis], steps[axis], shape[axis] = begin, step, n
	return c.applyCode(diag.CodeIndexRange, at, ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, nil,
		[]tree.Expr{x})
}

// flipCall is `flip(x, axis)`: the given axes backwards, all of them when none is given.
func (c *checker) flipCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "flip")
	if !ok {
		return tree.Bad(e.Loc)
	}
	axes, ok := c.axes(args[1], t.Rank())
	if !ok {
		return tree.Bad(e.Loc)
	}
	for _, a := range axes {
		last, err := t.Shape[a].Sub(types.Lit(1))
		if err != nil {
			c.rule(diag.CodeExtent, e.Loc, err)
			return tree.Bad(e.Loc)
		}
		if t.Shape[a].IsConst(0) || t.Shape[a].IsConst(1) {
			continue
		}
		if x = c.sliceAxis(e.Loc, x, int(a), last, t.Shape[a], -1); tree.IsBad(x) {
			return x
		}
	}
	return x
}

// rollCall is `roll(x, shift, axis)`: element i moves to i + shift, and what leaves the axis enters at its
// other end. Without an axis the tensor is rolled as if it were flat.
func (c *checker) rollCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "roll")
	if !ok {
		return tree.Bad(e.Loc)
	}
	shape, axis := t.Shape, int64(0)
	if args[2] == nil {
		n, err := t.Shape.Elems()
		if err != nil {
			c.rule(diag.CodeExtent, e.Loc, err)
			return tree.Bad(e.Loc)
		}
		x = c.reshape(e.Loc, x, types.Shape{n})
	} else if axis, ok = c.axis(args[2], t.Rank()); !ok {
		return tree.Bad(e.Loc)
	}
	if tree.IsBad(x) {
		return x
	}
	n := x.Type().(types.Tensor).Shape[axis]
	size, literal := n.Const()
	d, p := c.tryDim(args[1], false)
	by, known := d.Const()
	if literal && size == 0 {
		return c.reshape(e.Loc, x, shape)
	}
	if p != nil || !known || !literal {
		return c.rollBy(e, x, axis, args[1], shape)
	}
	by = (by%size + size) % size
	if by == 0 {
		return c.reshape(e.Loc, x, shape)
	}
	return c.let(x, func(x tree.Expr) tree.Expr {
		tail := c.sliceAxis(e.Loc, x, int(axis), types.Lit(size-by), types.Lit(by), 1)
		head := c.sliceAxis(e.Loc, x, int(axis), types.Dim{}, types.Lit(size-by), 1)
		return c.reshape(e.Loc, c.apply(e.Loc, ops.Concat, ir.A{"axis": axis}, tail, head), shape)
	})
}

// rollBy rolls by a shift, or along an extent, that is only known when the program runs: position i of the
// result is taken from ((i - shift) mod n + n) mod n, in i64.
func (c *checker) rollBy(e *ast.Call, x tree.Expr, axis int64, shift ast.Expr, shape types.Shape) tree.Expr {
	s := c.expr(shift, types.Scalar(types.I32))
	if !isIndex(s.Type()) {
		if !tree.IsBad(s) {
			c.errorf(diag.CodeMismatch, shift.Span(), "the shift of `roll` is an i32 or i64, not %s",
				s.Type()).Label("%s", s.Type())
		}
		return tree.Bad(e.Loc)
	}
	n := x.Type().(types.Tensor).Shape[axis]
	long := func(x tree.Expr) tree.Expr {
		if types.ElemOf(x.Type()) == types.I64 {
			return x
		}
		return c.apply(e.Loc, ops.Cast, ir.A{"to": types.I64}, x)
	}
	op := func(op *ir.OpDef, x, y tree.Expr) tree.Expr {
		return c.apply(e.Loc, op, nil, x, c.broadcast(y, types.Shape{n}))
	}
	at := c.apply(e.Loc, ops.Iota, ir.A{"start": types.Dim{}, "extent": n})
	// An empty axis has no positions; dividing by at least 1 keeps the remainder from failing for nothing.
	one := tree.ScalarConst(types.I64, 1, e.Loc)
	return c.let(c.apply(e.Loc, ops.Max, nil, long(c.dimValue(n, e.Loc)), one), func(size tree.Expr) tree.Expr {
		at = op(ops.Rem, op(ops.Sub, long(at), c.apply(e.Loc, ops.Rem, nil, long(s), size)), size)
		at = op(ops.Rem, op(ops.Add, at, size), size)
		if tree.IsBad(at) {
			return at
		}
		return c.reshape(e.Loc, c.gather(e.Loc, x, []tree.Expr{at}, []int64{axis}), shape)
	})
}

// padCall is `pad(x, axis, before, after, value = 0)`: more elements, all of them value, at both ends.
func (c *checker) padCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "pad")
	if !ok {
		return tree.Bad(e.Loc)
	}
	axis, ok := c.axis(args[1], t.Rank())
	if !ok {
		return tree.Bad(e.Loc)
	}
	value := tree.NumberConst(t.Elem, 0, e.Loc)
	if args[4] != nil {
		if value = c.scalarOf(args[4], t.Elem, "the value"); tree.IsBad(value) {
			return tree.Bad(e.Loc)
		}
	}
	var sides [2]types.Dim
	for i := range sides {
		d, ok := c.dim(args[2+i])
		if !ok {
			return tree.Bad(e.Loc)
		}
		if unify.AlwaysNegative(d) {
			c.errorf(diag.CodeExtent, args[2+i].Span(), "`pad` cannot add %s elements", d)
			return tree.Bad(e.Loc)
		}
		sides[i] = d
	}
	return c.let(value, func(value tree.Expr) tree.Expr {
		fill := func(n types.Dim) tree.Expr {
			shape := append(types.Shape{}, t.Shape...)
			shape[axis] = n
			return c.broadcast(value, shape)
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
		return c.apply(e.Loc, ops.Concat, ir.A{"axis": axis}, parts...)
	})
}

// repeatCall is `repeat(x, n, axis)`: every element n times in a row. Without an axis the tensor is flat.
func (c *checker) repeatCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "repeat")
	n, ok1 := c.dim(args[1])
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	if unify.AlwaysNegative(n) {
		c.errorf(diag.CodeExtent, args[1].Span(), "an element cannot stand %s times", n)
		return tree.Bad(e.Loc)
	}
	shape, axis := t.Shape, int64(0)
	if args[2] == nil {
		elems, err := t.Shape.Elems()
		if err != nil {
			c.rule(diag.CodeExtent, e.Loc, err)
			return tree.Bad(e.Loc)
		}
		shape = types.Shape{elems}
	} else if axis, ok = c.axis(args[2], t.Rank()); !ok {
		return tree.Bad(e.Loc)
	}
	total, err := shape[axis].Mul(n)
	if err != nil {
		c.rule(diag.CodeExtent, e.Loc, err)
		return tree.Bad(e.Loc)
	}
	column := insertAxis(shape, int(axis)+1)
	wide := append(types.Shape{}, column...)
	wide[axis+1] = n
	result := append(types.Shape{}, shape...)
	result[axis] = total
	if !c.extents(e.Loc, types.Tensor{Elem: t.Elem, Shape: result}) {
		return tree.Bad(e.Loc)
	}
	if x = c.reshape(e.Loc, x, column); tree.IsBad(x) {
		return x
	}
	return c.reshape(e.Loc, c.broadcast(x, wide), result)
}
