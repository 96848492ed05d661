package builtins

import (
	"strconv"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// scanCall is `scan(init, |acc, x| e, v)`, along the last axis. The result holds one tensor for each value of
// the accumulator, whose own axes come last. Where all of these are scalars it is the operation of that name.
func scanCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	init, x, t, ok := startAndTensor(c, args[0], args[2], shaped(want, nil), "`scan`")
	if !ok {
		return tree.Bad(e.Loc)
	}
	if t.IsScalar() {
		c.Errorf(diag.CodeAxis, x.Span(), "`scan` goes along the last axis, and a scalar has none").Label("%s", t)
		return tree.Bad(e.Loc)
	}
	if takesParts(c, args[1], x, t) {
		return tree.Bad(e.Loc)
	}
	acc := init.Type()
	parts := types.Flatten(acc)
	scalars := true
	for _, p := range parts {
		scalars = scalars && p.IsScalar()
		if p.Elem == types.String {
			c.Errorf(diag.CodeMismatch, init.Span(),
				"`scan` keeps what it carries in tensors, and a string is no element").Label("%s", acc).
				Help("`fold` carries any value")
			return tree.Bad(e.Loc)
		}
	}
	if len(parts) == 0 {
		c.Errorf(diag.CodeMismatch, init.Span(), "the start of `scan` has no values").Label("%s", acc)
		return tree.Bad(e.Loc)
	}
	params := []*tree.Local{{Name: "acc", T: acc, Loc: args[1].Span()},
		{Name: "x", T: types.Scalar(t.Elem), Loc: args[1].Span()}}
	f := foldStep(c, args[1], params, acc)
	if !sameState(c, f.Body, acc, "the value of a scan's function") {
		return tree.Bad(e.Loc)
	}
	if !scalars {
		return scanTensors(c, e.Loc, f, init, x, t)
	}
	return c.Loop(e.Loc, ops.Scan, ir.A{"init": true}, []tree.Expr{init, x}, f, shaped(acc, t.Shape))
}

// shaped is t with every scalar in it a tensor of the given shape.
func shaped(t types.Type, shape types.Shape) types.Type {
	return types.Map(t, func(x types.Tensor) types.Tensor { return types.Tensor{Elem: x.Elem, Shape: shape} })
}

// cumulative is `cumsum(x, axis = -1)` or `cumprod`: a scan without a start, along any axis.
func cumulative(op *ir.OpDef) *infer.Builtin {
	return &infer.Builtin{Params: []string{"x", "axis"}, Required: 1,
		Build: func(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
			name := e.Fun.(*ast.Name).Name
			x, t, ok := c.Value(args[0], literal.Want(types.ElemOf(want)), "the operand of "+report.Quote(name))
			if !ok {
				return tree.Bad(e.Loc)
			}
			rank := t.Rank()
			if rank == 0 {
				c.Errorf(diag.CodeAxis, x.Span(), "%s goes along an axis, and a scalar has none",
					report.Quote(name)).Label("%s", t)
				return tree.Bad(e.Loc)
			}
			axis := int64(rank - 1)
			if args[1] != nil {
				if axis, ok = c.Axis(args[1], rank); !ok {
					return tree.Bad(e.Loc)
				}
			}
			// The axis goes to the end and back.
			perm, back := make([]int64, 0, rank), make([]int64, rank)
			for k := range rank {
				if int64(k) != axis {
					perm = append(perm, int64(k))
				}
			}
			perm = append(perm, axis)
			for i, k := range perm {
				back[k] = int64(i)
			}
			moved := axis != int64(rank-1)
			if moved {
				x = c.Apply(e.Loc, ops.Permute, ir.A{"perm": perm}, x)
			}
			params := []*tree.Local{{Name: "acc", T: types.Scalar(t.Elem), Loc: e.Loc},
				{Name: "x", T: types.Scalar(t.Elem), Loc: e.Loc}}
			uses := []tree.Expr{tree.NewUse(params[0], e.Loc), tree.NewUse(params[1], e.Loc)}
			step := c.Pointwise(e.Loc, op, uses)
			if tree.IsBad(x) || tree.IsBad(step) {
				return tree.Bad(e.Loc)
			}
			out := c.Loop(e.Loc, ops.Scan, nil, []tree.Expr{x}, &tree.Lambda{Params: params, Body: step}, x.Type())
			if moved && !tree.IsBad(out) {
				return c.Apply(e.Loc, ops.Permute, ir.A{"perm": back}, out)
			}
			return out
		}}
}

// mapCall is `map(|x, y| e, a, b)`: a tensor made element by element from tensors that broadcast, or a tuple of such.
// Where the function gives a tuple, so does map.
func mapCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	var xs []tree.Expr
	over := mapTensors
	for _, a := range args[1:] {
		x := c.Expr(a, nil)
		if tree.IsBad(x) {
			return tree.Bad(e.Loc)
		}
		if _, ok := x.Type().(types.Tuple); ok {
			over = mapTuples
		}
		xs = append(xs, x)
	}
	return over(c, e.Loc, args[0], xs, want)
}

// mapTensors is `map(f, a, b)` over tensors.
func mapTensors(c *infer.Checker, at diag.Span, fun ast.Expr, operands []tree.Expr, want types.Type) tree.Expr {
	shape := types.Shape{}
	var xs []tree.Expr
	var params []*tree.Local
	for _, x := range operands {
		t, ok := c.TensorValue(x, "an operand of `map`")
		if !ok {
			return tree.Bad(at)
		}
		next, err := types.Broadcast(shape, t.Shape)
		xs = append(xs, x)
		if err != nil {
			c.Rule(diag.CodeNotBroadcastable, at, err).Label("%s", scope.TypeList(xs))
			return tree.Bad(at)
		}
		shape = next
		params = append(params, &tree.Local{Name: "x" + strconv.Itoa(len(xs)), T: types.Scalar(t.Elem),
			Loc: fun.Span()})
	}
	f := elementFunction(c, fun, params, want, "the function of `map`")
	if tree.IsBad(f.Body) {
		return tree.Bad(at)
	}
	for i, x := range xs {
		if xs[i] = c.Broadcast(x, shape); tree.IsBad(xs[i]) {
			return tree.Bad(at)
		}
	}
	return c.LetAll(xs, func(xs []tree.Expr) tree.Expr { return mapOver(c, at, f, params, xs, shape) })
}

// mapOver tabulates f, whose parameters are the elements of xs at the index.
func mapOver(c *infer.Checker, at diag.Span, f *tree.Lambda, params []*tree.Local, xs []tree.Expr,
	shape types.Shape) tree.Expr {
	axes, index, uses := make([]int64, len(shape)), make([]*tree.Local, len(shape)), make([]tree.Expr, len(shape))
	for k := range shape {
		axes[k] = int64(k)
		index[k] = &tree.Local{Name: "i" + strconv.Itoa(k), T: types.Scalar(types.I32), Loc: at}
		uses[k] = tree.NewUse(index[k], at)
	}
	// of is the tensor of one value of the function.
	of := func(value tree.Expr) tree.Expr {
		body := value
		for i := len(xs) - 1; i >= 0; i-- {
			elem := xs[i]
			if len(shape) > 0 {
				elem = &tree.Apply{Info: tree.Of(params[i].T, xs[i].Span()), Op: ops.Index, Attrs: ir.A{"axes": axes},
					Args: append([]tree.Expr{xs[i]}, uses...)}
			}
			body = &tree.Let{Info: tree.Of(value.Type(), at), Local: params[i], Value: elem, Body: body}
		}
		if len(shape) == 0 {
			return body
		}
		return c.ApplyCode(diag.CodeRule, at, ops.Tabulate, ir.A{"shape": shape},
			[]*tree.Lambda{{Params: index, Body: body}}, nil)
	}
	if len(shape) == 0 {
		return of(f.Body)
	}
	return byElement(c, at, f.Body, "`map`", of)
}
