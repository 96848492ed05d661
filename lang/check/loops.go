package check

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// loopFunctions are the functions that are loops and scans of the table with a function of their own.
func loopFunctions() map[string]*builtin {
	return map[string]*builtin{
		"each":    {params: []string{"v", "f"}, required: 2, build: (*checker).eachCall},
		"map":     {required: 2, variadic: "f, a, ...", build: (*checker).mapCall},
		"cumsum":  cumulative(ops.Add),
		"cumprod": cumulative(ops.Mul),
	}
}

// state types the start of a loop: any value.
func (c *checker) state(e ast.Expr, want types.Type) (tree.Expr, bool) {
	x := c.expr(e, want)
	return x, !tree.IsBad(x)
}

// loopFunction types the function of a loop. Its calls have an order, so it may do input and output where
// the loop itself may.
func (c *checker) loopFunction(e ast.Expr, params []*tree.Local, want types.Type, what string) *tree.Lambda {
	defer c.orderedCalls()()
	return c.function(e, params, want, what)
}

// orderedCalls says that the calls of the function that is typed next have an order, until what it returns
// is called.
func (c *checker) orderedCalls() func() {
	if c.lambda != c.ordered {
		return func() {}
	}
	c.ordered++
	return func() { c.ordered-- }
}

// sameState checks that a step gives the type that it takes.
func (c *checker) sameState(body tree.Expr, want types.Type, what string) bool {
	if tree.IsBad(body) {
		return false
	}
	if !types.Equal(body.Type(), want) {
		c.mismatch(body.Span(), what, want, body.Type())
		return false
	}
	return true
}

// loop is an operation that carries a state, of type t, whose parts are the operands after the first.
func (c *checker) loop(at diag.Span, op *ir.OpDef, attrs ir.A, args []tree.Expr, f *tree.Lambda,
	t types.Type) tree.Expr {
	var ts []types.Tensor
	for _, a := range args {
		if tree.IsBad(a) {
			return tree.Bad(at)
		}
		ts = append(ts, types.Flatten(a.Type())...)
	}
	if tree.IsBad(f.Body) {
		return tree.Bad(at)
	}
	if _, err := op.Infer(ts, op.MakeAttrs(attrs), []*ir.Block{tree.SignatureOf(f)}); err != nil {
		c.rule(diag.CodeRule, at, err)
		return tree.Bad(at)
	}
	return &tree.Apply{Info: tree.Of(t, at), Op: op, Attrs: attrs, Args: args, Lambdas: []*tree.Lambda{f}}
}

// counter is the parameter for the number of a step; programs do not see it.
func counter(at diag.Span) *tree.Local {
	return &tree.Local{Name: "step", T: types.Scalar(types.I32), Loc: at}
}

// iterateCall is `iterate(n, init, |s| e)`.
func (c *checker) iterateCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	n := c.scalarOf(args[0], types.I32, "the number of steps")
	init, ok := c.state(args[1], want)
	if !ok || tree.IsBad(n) {
		return tree.Bad(e.Loc)
	}
	t := init.Type()
	s := &tree.Local{Name: "state", T: t, Loc: args[2].Span()}
	f := c.loopFunction(args[2], []*tree.Local{s}, t, "the step of `iterate`")
	if !c.sameState(f.Body, t, "the value of the step of `iterate`") {
		return tree.Bad(e.Loc)
	}
	f.Params = []*tree.Local{counter(args[2].Span()), s}
	return c.loop(e.Loc, ops.Iterate, nil, []tree.Expr{n, init}, f, t)
}

// untilCall is `iterate_until(init, |s| step, |s| done, max)`. The operation has one function, which makes
// the next state and says whether it is the last.
func (c *checker) untilCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	init, ok := c.state(args[0], want)
	n := c.scalarOf(args[3], types.I32, "the greatest number of steps")
	if !ok || tree.IsBad(n) {
		return tree.Bad(e.Loc)
	}
	t := init.Type()
	s := &tree.Local{Name: "state", T: t, Loc: args[1].Span()}
	f := c.loopFunction(args[1], []*tree.Local{s}, t, "the step of `iterate_until`")
	next := &tree.Local{Name: "next", T: t, Loc: args[2].Span()}
	g := c.loopFunction(args[2], []*tree.Local{next}, types.Scalar(types.Bool), "the condition of `iterate_until`")
	if !c.sameState(f.Body, t, "the value of the step of `iterate_until`") ||
		!c.sameState(g.Body, types.Scalar(types.Bool), "the value of the condition of `iterate_until`") {
		return tree.Bad(e.Loc)
	}
	at := g.Body.Span()
	both := types.Tuple{Elems: []types.Type{t, types.Scalar(types.Bool)}}
	pair := &tree.Tuple{Info: tree.Of(both, at), Elems: []tree.Expr{tree.NewUse(next, at), g.Body}}
	f.Body = &tree.Let{Info: tree.Of(both, f.Body.Span()), Local: next, Value: f.Body, Body: pair}
	f.Params = []*tree.Local{counter(args[1].Span()), s}
	return c.loop(e.Loc, ops.IterateUntil, nil, []tree.Expr{n, init}, f, t)
}

// startAndTensor types the start and the tensor of a fold or scan. Literals as the start take the type that
// is wanted of the result, and where none is, the element type of the tensor.
func (c *checker) startAndTensor(start, v ast.Expr, want types.Type, what string) (init, x tree.Expr, t types.Tensor,
	ok bool) {
	if c.literalKindOf(start) == literal.Typed {
		if init, ok = c.state(start, want); !ok {
			return init, init, t, false
		}
	}
	if x, t, ok = c.value(v, nil, "the operand of "+what); !ok {
		return x, x, t, false
	}
	if init == nil {
		hint := t.Elem
		if d := types.ElemOf(want); d.IsNumber() {
			hint = d
		}
		init, ok = c.state(start, literal.Want(hint))
	}
	return init, x, t, ok
}

// foldCall is `fold(init, |acc, x| e, v)` over all elements. A fold over a scalar without input and output is
// the operation of that name; every other one is a loop that reads one element in each step.
func (c *checker) foldCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	init, x, t, ok := c.startAndTensor(args[0], args[2], want, "`fold`")
	if !ok {
		return tree.Bad(e.Loc)
	}
	return c.foldAll(e.Loc, args[1], init, x, t)
}

// foldAll is the fold of step, from init, over all elements of x.
func (c *checker) foldAll(at diag.Span, step ast.Expr, init, x tree.Expr, t types.Tensor) tree.Expr {
	acc := init.Type()
	params := []*tree.Local{{Name: "acc", T: acc, Loc: step.Span()},
		{Name: "x", T: types.Scalar(t.Elem), Loc: step.Span()}}
	scalar, isTensor := acc.(types.Tensor)
	effects := c.cur.effects
	leave := c.orderedCalls()
	f := c.foldStep(step, params, acc)
	leave()
	if !c.sameState(f.Body, acc, "the value of a fold's function") {
		return tree.Bad(at)
	}
	if isTensor && scalar.IsScalar() && scalar.Elem != types.String && c.cur.effects == effects {
		axes, _ := c.axes(nil, t.Rank())
		return c.applyCode(diag.CodeRule, at, ops.Fold, ir.A{"axes": axes, "init": true}, []*tree.Lambda{f},
			[]tree.Expr{init, x})
	}
	return c.overElements(at, x, t, func(flat, n tree.Expr) tree.Expr {
		i := counter(at)
		f.Body = &tree.Let{Info: tree.Of(acc, f.Body.Span()), Local: params[1], Value: element(flat, i, x.Span()),
			Body: f.Body}
		f.Params = []*tree.Local{i, params[0]}
		return c.loop(at, ops.Iterate, nil, []tree.Expr{n, init}, f, acc)
	})
}

// overElements gives body the elements of x in row-major order, as a vector, and their number.
func (c *checker) overElements(at diag.Span, x tree.Expr, t types.Tensor,
	body func(flat, n tree.Expr) tree.Expr) tree.Expr {
	n, err := t.Shape.Elems()
	if err != nil {
		c.rule(diag.CodeExtent, at, err)
		return tree.Bad(at)
	}
	flat := c.reshape(x.Span(), x, types.Shape{n})
	count := c.dimValue(n, at)
	if tree.IsBad(flat) || tree.IsBad(count) {
		return tree.Bad(at)
	}
	return c.let(flat, func(flat tree.Expr) tree.Expr { return body(flat, count) })
}

// element reads the element of a vector at a number of a step, which is in range.
func element(flat tree.Expr, i *tree.Local, at diag.Span) tree.Expr {
	t := types.Scalar(types.ElemOf(flat.Type()))
	return &tree.Apply{Info: tree.Of(t, at), Op: ops.Index, Attrs: ir.A{"axes": []int64{0}},
		Args: []tree.Expr{flat, tree.NewUse(i, at)}}
}

// eachCall is `each(v, f)`: f of every element, in order. What f gives is dropped.
func (c *checker) eachCall(e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x, t, ok := c.value(args[0], nil, "the operand of `each`")
	if !ok {
		return tree.Bad(e.Loc)
	}
	elem := &tree.Local{Name: "x", T: types.Scalar(t.Elem), Loc: args[1].Span()}
	f := c.loopFunction(c.asLambda(args[1]), []*tree.Local{elem}, nil, "the function of `each`")
	if tree.IsBad(f.Body) {
		return tree.Bad(e.Loc)
	}
	return c.overElements(e.Loc, x, t, func(flat, n tree.Expr) tree.Expr {
		i, at := counter(e.Loc), f.Body.Span()
		dropped := &tree.Let{Info: tree.Of(types.Unit, at), Value: f.Body, Body: tree.Unit(at)}
		f.Body = &tree.Let{Info: tree.Of(types.Unit, at), Local: elem, Value: element(flat, i, args[0].Span()),
			Body: dropped}
		f.Params = []*tree.Local{i}
		return c.loop(e.Loc, ops.Iterate, nil, []tree.Expr{n}, f, types.Unit)
	})
}

// asLambda turns the name of a function of the language that is not element-wise, such as `print`, into a
// lambda that calls it with one argument.
func (c *checker) asLambda(e ast.Expr) ast.Expr {
	n, ok := ast.Unparen(e).(*ast.Name)
	if !ok || c.isValue(n.Name) || c.funcs[n.Name] != nil || builtins()[n.Name] == nil || builtins()[n.Name].op != nil {
		return e
	}
	const param = "x"
	call := &ast.Call{At: n.At, Fun: n, Args: []ast.Arg{{Value: &ast.Name{At: n.At, Name: param}}}}
	return &ast.Lambda{At: n.At, Params: []ast.Pattern{&ast.NamePattern{At: n.At, Name: param}}, Body: call}
}
