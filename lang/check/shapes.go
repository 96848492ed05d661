package check

import (
	"fmt"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

type buildFunc = func(c *checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr

// shapeFunctions are the functions that make tensors or give their axes another order or number.
func shapeFunctions() map[string]*builtin {
	fn := func(required int, build buildFunc, params ...string) *builtin {
		return &builtin{params: params, required: required, build: build}
	}
	made := func(build buildFunc, params ...string) *builtin {
		return &builtin{params: params, required: len(params), generic: true, brackets: "type, d1, d2, ...",
			build: build}
	}
	return map[string]*builtin{
		"flatten":   fn(1, (*checker).flattenCall, "x"),
		"transpose": fn(1, (*checker).transposeCall, "x"),
		"moveaxis":  fn(3, (*checker).moveaxisCall, "x", "from", "to"),
		"squeeze":   fn(1, (*checker).squeezeCall, "x", "axis"),
		"unsqueeze": fn(2, (*checker).unsqueezeCall, "x", "axis"),
		"zeros": made(func(c *checker, e *ast.Call, _ []ast.Expr,
			_ types.Type) tree.Expr {
			return c.filled(e, 0)
		}),
		"ones": made(func(c *checker, e *ast.Call, _ []ast.Expr,
			_ types.Type) tree.Expr {
			return c.filled(e, 1)
		}),
		"full": made((*checker).fullCall, "value"),
		"eye":  made((*checker).eyeCall),
	}
}

// operand types the first argument of a function on tensors.
func (c *checker) operand(e ast.Expr, want types.Type, name string) (tree.Expr, types.Tensor, bool) {
	return c.value(e, literal.Want(types.ElemOf(want)), "the first argument of "+report.Quote(name))
}

// reshapeCall is `reshape(x, [d...])`, where one extent may be -1.
func (c *checker) reshapeCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "reshape")
	shape, elems, ok1 := c.dimList(args[1])
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	total, err := t.Shape.Elems()
	if err != nil {
		c.rule(diag.CodeExtent, e.Loc, err)
		return tree.Bad(e.Loc)
	}
	free, known := -1, types.Lit(1)
	for i, d := range shape {
		if d.IsConst(-1) {
			if free >= 0 {
				c.errorf(diag.CodeReshape, elems[i].Span(), "two extents are -1").Help(
					"only one can be what the others leave over")
				return tree.Bad(e.Loc)
			}
			free = i
			continue
		}
		if known, err = known.Mul(d); err != nil {
			c.rule(diag.CodeExtent, e.Loc, err)
			return tree.Bad(e.Loc)
		}
	}
	if free >= 0 {
		d, ok := total.Div(known)
		if !ok {
			r := c.errorf(diag.CodeReshape, elems[free].Span(),
				"-1 has no value here: the %s elements do not divide by %s", total, known)
			if known.IsConst(0) {
				r.Help("an extent of 0 leaves nothing to divide by: write the extent")
			}
			return tree.Bad(e.Loc)
		}
		shape[free] = d
	}
	return c.reshape(e.Loc, x, shape)
}

func (c *checker) flattenCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "flatten")
	if !ok {
		return tree.Bad(e.Loc)
	}
	n, err := t.Shape.Elems()
	if err != nil {
		c.rule(diag.CodeExtent, e.Loc, err)
		return tree.Bad(e.Loc)
	}
	return c.reshape(e.Loc, x, types.Shape{n})
}

func (c *checker) transposeCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "transpose")
	if !ok {
		return tree.Bad(e.Loc)
	}
	perm := make([]int64, t.Rank())
	for i := range perm {
		perm[i] = int64(t.Rank() - 1 - i)
	}
	return c.permute(e, x, perm)
}

// permute reorders axes; leaving them in order is nothing.
func (c *checker) permute(e ast.Expr, x tree.Expr, perm []int64) tree.Expr {
	for i, p := range perm {
		if int64(i) != p {
			return c.apply(e.Span(), ops.Permute, ir.A{"perm": perm}, x)
		}
	}
	return x
}

func (c *checker) permuteCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "permute_axes")
	if !ok {
		return tree.Bad(e.Loc)
	}
	list, isList := ast.Unparen(args[1]).(*ast.Array)
	if !isList {
		c.errorf(diag.CodeNotConstant, args[1].Span(), "the axes are a list, such as [1, 0]")
		return tree.Bad(e.Loc)
	}
	perm := make([]int64, len(list.Elems))
	seen := map[int64]bool{}
	for i, a := range list.Elems {
		n, ok := c.axis(a, t.Rank())
		if !ok {
			return tree.Bad(e.Loc)
		}
		if seen[n] {
			c.errorf(diag.CodeAxis, a.Span(), "axis %d is named twice", n)
			return tree.Bad(e.Loc)
		}
		seen[n], perm[i] = true, n
	}
	if len(perm) != t.Rank() {
		c.errorf(diag.CodeAxis, list.Loc, "%s has %s, and %d are listed", t, axesText(t.Rank()), len(perm)).
			Help("list every axis once, in the new order")
		return tree.Bad(e.Loc)
	}
	return c.permute(e, x, perm)
}

func axesText(n int) string {
	if n == 1 {
		return "1 axis"
	}
	return fmt.Sprintf("%d axes", n)
}

func (c *checker) moveaxisCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "moveaxis")
	if !ok {
		return tree.Bad(e.Loc)
	}
	from, ok := c.axis(args[1], t.Rank())
	to, ok1 := c.axis(args[2], t.Rank())
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	var perm []int64
	for k := range int64(t.Rank()) {
		if k != from {
			perm = append(perm, k)
		}
	}
	perm = append(perm[:to], append([]int64{from}, perm[to:]...)...)
	return c.permute(e, x, perm)
}

func (c *checker) expandCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "expand")
	shape, _, ok1 := c.dimList(args[1])
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	if t.Shape.Equal(shape) {
		return x
	}
	return c.applyCode(diag.CodeNotBroadcastable, e.Loc, ops.Broadcast, ir.A{"shape": shape}, nil, []tree.Expr{x})
}

// squeezeCall drops axes of extent 1: the given ones, or all of them.
func (c *checker) squeezeCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "squeeze")
	if !ok {
		return tree.Bad(e.Loc)
	}
	drop := make([]bool, t.Rank())
	if args[1] == nil {
		for i, d := range t.Shape {
			drop[i] = d.IsConst(1)
		}
	} else {
		axes, ok := c.axes(args[1], t.Rank())
		if !ok {
			return tree.Bad(e.Loc)
		}
		for _, a := range axes {
			if !t.Shape[a].IsConst(1) {
				c.errorf(diag.CodeAxis, args[1].Span(),
					"axis %d of %s has extent %s, and only an axis of extent 1 can be squeezed", a, t, t.Shape[a])
				return tree.Bad(e.Loc)
			}
			drop[a] = true
		}
	}
	shape := types.Shape{}
	for i, d := range t.Shape {
		if !drop[i] {
			shape = append(shape, d)
		}
	}
	return c.reshape(e.Loc, x, shape)
}

// unsqueezeCall inserts an axis of extent 1, which has the given number in the result.
func (c *checker) unsqueezeCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	x, t, ok := c.operand(args[0], want, "unsqueeze")
	if !ok {
		return tree.Bad(e.Loc)
	}
	axis, ok := c.axis(args[1], t.Rank()+1)
	if !ok {
		return tree.Bad(e.Loc)
	}
	return c.reshape(e.Loc, x, insertAxis(t.Shape, int(axis)))
}

func insertAxis(s types.Shape, axis int) types.Shape {
	out := append(types.Shape{}, s[:axis]...)
	return append(append(out, types.Lit(1)), s[axis:]...)
}

// concatCall is `concat((a, b), axis)`; the tensors are a tuple or a list, the axis is 0 if left out.
func (c *checker) concatCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	return c.joined(e, args[0], want, "concat", func(xs []tree.Expr, first types.Tensor) tree.Expr {
		axis, ok := c.axisOr(args[1], first.Rank(), 0)
		if !ok {
			return tree.Bad(e.Loc)
		}
		if first.IsScalar() && first.Elem.Converts() {
			c.errorf(diag.CodeRule, xs[0].Span(), "`concat` joins tensors along an axis, and %s has none",
				first).Help("`[a, b]` makes a tensor of scalars")
			return tree.Bad(e.Loc)
		}
		if len(xs) == 1 {
			return xs[0]
		}
		return c.apply(e.Loc, ops.Concat, ir.A{"axis": axis}, xs...)
	})
}

// axisOr is an axis, and missing when e is left out.
func (c *checker) axisOr(e ast.Expr, rank int, missing int64) (int64, bool) {
	if e == nil {
		return missing, true
	}
	return c.axis(e, rank)
}

// joined types the tuple or list of tensors that a function takes, at least one, and gives them to join.
func (c *checker) joined(e *ast.Call, arg ast.Expr, want types.Type, name string,
	join func(xs []tree.Expr, first types.Tensor) tree.Expr) tree.Expr {
	check := func(xs []tree.Expr) tree.Expr {
		for _, x := range xs {
			if tree.IsBad(x) {
				return tree.Bad(e.Loc)
			}
		}
		first, ok := xs[0].Type().(types.Tensor)
		if !ok {
			c.errorf(diag.CodeOperands, xs[0].Span(), "%s joins tensors, not %s", report.Quote(name),
				xs[0].Type()).Label("%s",
				xs[0].Type())
			return tree.Bad(e.Loc)
		}
		return join(xs, first)
	}
	var elems []ast.Expr
	switch l := ast.Unparen(arg).(type) {
	case *ast.Tuple:
		elems = l.Elems
	case *ast.Array:
		elems = l.Elems
	default:
		x := c.expr(l, nil)
		t, ok := x.Type().(types.Tuple)
		if tree.IsBad(x) {
			return tree.Bad(e.Loc)
		}
		if !ok || len(t.Elems) == 0 {
			c.errorf(diag.CodeOperands, x.Span(), "%s takes a tuple of tensors, not %s", report.Quote(name),
				x.Type()).Help("write `%s((a, b), axis)`", name)
			return tree.Bad(e.Loc)
		}
		return c.let(x, func(x tree.Expr) tree.Expr {
			xs := make([]tree.Expr, len(t.Elems))
			for i, u := range t.Elems {
				xs[i] = tree.NewGet(x, i, u, x.Span())
			}
			return check(xs)
		})
	}
	if len(elems) == 0 {
		c.errorf(diag.CodeRule, e.Loc, "%s needs at least one tensor", report.Quote(name))
		return tree.Bad(e.Loc)
	}
	return check(c.together(elems, types.ElemOf(want)))
}

// typeAndShape reads the brackets of `zeros[f32, M, N]()` and its like.
func (c *checker) typeAndShape(e *ast.Call, name string) (types.Tensor, bool) {
	if len(e.Generics) == 0 {
		c.errorf(diag.CodeArity, e.Loc, "%s takes a type and a shape in brackets",
			report.Quote(name)).Help("write `%s`",
			builtins()[name].signature(name))
		return types.Tensor{}, false
	}
	id, ok := e.Generics[0].(*ast.Name)
	if !ok {
		c.errorf(diag.CodeUnknownType, e.Generics[0].Span(), "an element type has to stand here").Help("write `%s`",
			builtins()[name].signature(name))
		return types.Tensor{}, false
	}
	elem, ok := c.elemType(ast.Ident{At: id.At, Name: id.Name})
	if !ok || !elem.Converts() {
		if !ok && id.Name != "unit" {
			return types.Tensor{}, false
		}
		c.errorf(diag.CodeOperands, id.Loc, "a tensor holds numbers or bools, not %s", id.Name)
		return types.Tensor{}, false
	}
	t := types.Tensor{Elem: elem}
	for _, g := range e.Generics[1:] {
		d, ok := c.dim(g)
		if !ok {
			return types.Tensor{}, false
		}
		t.Shape = append(t.Shape, d)
	}
	return t, c.extents(e.Loc, t)
}

// filled is a tensor of zeros or ones.
func (c *checker) filled(e *ast.Call, n int64) tree.Expr {
	t, ok := c.typeAndShape(e, e.Fun.(*ast.Name).Name)
	if !ok {
		return tree.Bad(e.Loc)
	}
	return c.broadcast(tree.NumberConst(t.Elem, n, e.Loc), t.Shape)
}

func (c *checker) fullCall(e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	t, ok := c.typeAndShape(e, "full")
	if !ok {
		return tree.Bad(e.Loc)
	}
	return c.broadcast(c.scalarOf(args[0], t.Elem, "the value"), t.Shape)
}

// eyeCall is `eye[f32, N]()`: ones where row and column agree.
func (c *checker) eyeCall(e *ast.Call, _ []ast.Expr, _ types.Type) tree.Expr {
	t, ok := c.typeAndShape(e, "eye")
	if !ok {
		return tree.Bad(e.Loc)
	}
	if t.Rank() != 1 {
		c.errorf(diag.CodeArity, e.Loc, "`eye` takes a type and one extent in brackets").Help("write `eye[%s, N]()`",
			t.Elem)
		return tree.Bad(e.Loc)
	}
	n := t.Shape[0]
	square := types.Shape{n, n}
	column := c.apply(e.Loc, ops.Iota, ir.A{"start": types.Lit(0), "extent": n})
	row := c.reshape(e.Loc, column, types.Shape{n, types.Lit(1)})
	same := c.apply(e.Loc, ops.Eq, nil, c.broadcast(row, square), c.broadcast(column, square))
	if t.Elem == types.Bool {
		return same
	}
	return c.apply(e.Loc, ops.Cast, ir.A{"to": t.Elem}, same)
}
