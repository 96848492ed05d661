package builtins

import (
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

// loopFunctions are the functions that are loops and scans of the table with a function of their own.
func loopFunctions() map[string]*infer.Builtin {
	return map[string]*infer.Builtin{
		"each":    {Params: []string{"v", "f"}, Required: 2, Build: eachCall},
		"map":     {Required: 2, Variadic: "f, a, ...", Build: mapCall},
		"cumsum":  cumulative(ops.Add),
		"cumprod": cumulative(ops.Mul),
	}
}

// state types the start of a loop: any value.
func state(c *infer.Checker, e ast.Expr, want types.Type) (tree.Expr, bool) {
	x := c.Expr(e, want)
	return x, !tree.IsBad(x)
}

// loopFunction types the function of a loop. Its calls have an order, so it may do input and output where
// the loop itself may.
func loopFunction(c *infer.Checker, e ast.Expr, params []*tree.Local, want types.Type, what string) *tree.Lambda {
	defer c.OrderedCalls()()
	return c.Function(e, params, want, what)
}

// sameState checks that a step gives the type that it takes.
func sameState(c *infer.Checker, body tree.Expr, want types.Type, what string) bool {
	if tree.IsBad(body) {
		return false
	}
	if !types.Equal(body.Type(), want) {
		c.Mismatch(body.Span(), what, want, body.Type())
		return false
	}
	return true
}

// iterateCall is `iterate(n, init, |s| e)`.
func iterateCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	n := c.ScalarOf(args[0], types.I32, "the number of steps")
	init, ok := state(c, args[1], want)
	if !ok || tree.IsBad(n) {
		return tree.Bad(e.Loc)
	}
	t := init.Type()
	s := &tree.Local{Name: "state", T: t, Loc: args[2].Span()}
	f := loopFunction(c, args[2], []*tree.Local{s}, t, "the step of `iterate`")
	if !sameState(c, f.Body, t, "the value of the step of `iterate`") {
		return tree.Bad(e.Loc)
	}
	f.Params = []*tree.Local{scope.Counter(args[2].Span()), s}
	return c.Loop(e.Loc, ops.Iterate, nil, []tree.Expr{n, init}, f, t)
}

// untilCall is `iterate_until(init, |s| step, |s| done, max)`. The operation has one function, which makes
// the next state and says whether it is the last.
func untilCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	init, ok := state(c, args[0], want)
	n := c.ScalarOf(args[3], types.I32, "the greatest number of steps")
	if !ok || tree.IsBad(n) {
		return tree.Bad(e.Loc)
	}
	t := init.Type()
	s := &tree.Local{Name: "state", T: t, Loc: args[1].Span()}
	f := loopFunction(c, args[1], []*tree.Local{s}, t, "the step of `iterate_until`")
	next := &tree.Local{Name: "next", T: t, Loc: args[2].Span()}
	g := loopFunction(c, args[2], []*tree.Local{next}, types.Scalar(types.Bool), "the condition of `iterate_until`")
	if !sameState(c, f.Body, t, "the value of the step of `iterate_until`") ||
		!sameState(c, g.Body, types.Scalar(types.Bool), "the value of the condition of `iterate_until`") {
		return tree.Bad(e.Loc)
	}
	at := g.Body.Span()
	both := types.Tuple{Elems: []types.Type{t, types.Scalar(types.Bool)}}
	pair := &tree.Tuple{Info: tree.Of(both, at), Elems: []tree.Expr{tree.NewUse(next, at), g.Body}}
	f.Body = &tree.Let{Info: tree.Of(both, f.Body.Span()), Local: next, Value: f.Body, Body: pair}
	f.Params = []*tree.Local{scope.Counter(args[1].Span()), s}
	return c.Loop(e.Loc, ops.IterateUntil, nil, []tree.Expr{n, init}, f, t)
}

// startAndTensor types the start and the tensor of a fold or scan. Literals as the start take the type that
// is wanted of the result, and where none is, the element type of the tensor. So do floats among the parts of a tuple;
// integers there count, and stay what they are.
func startAndTensor(c *infer.Checker, start, v ast.Expr, want types.Type, what string) (init, x tree.Expr,
	t types.Tensor,
	ok bool) {
	tuple, isTuple := ast.Unparen(start).(*ast.Tuple)
	if isTuple = isTuple && want == nil; c.LiteralKindOf(start) == literal.Typed && !isTuple {
		if init, ok = state(c, start, want); !ok {
			return init, init, t, false
		}
	}
	if x, t, ok = c.Value(v, nil, "the operand of "+what); !ok {
		return x, x, t, false
	}
	if isTuple {
		init, ok = state(c, start, wantOfParts(c, tuple, t.Elem))
	} else if init == nil {
		hint := t.Elem
		if d := types.ElemOf(want); d.IsNumber() {
			hint = d
		}
		init, ok = state(c, start, literal.Want(hint))
	}
	return init, x, t, ok
}

// wantOfParts is a type for the literals of floats among the parts of a tuple, and none for the other parts.
func wantOfParts(c *infer.Checker, e *ast.Tuple, d types.DType) types.Type {
	if !d.IsFloat() {
		return nil
	}
	out := types.Tuple{Elems: make([]types.Type, len(e.Elems))}
	for i, x := range e.Elems {
		if inner, ok := ast.Unparen(x).(*ast.Tuple); ok {
			out.Elems[i] = wantOfParts(c, inner, d)
		} else if c.LiteralKindOf(x) == literal.Floats {
			out.Elems[i] = literal.Want(d)
		}
	}
	return out
}

// foldCall is `fold(init, |acc, x| e, v)` over all elements. A fold over a scalar without input and output is
// the operation of that name; every other one is a loop that reads one element in each step.
func foldCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	init, x, t, ok := startAndTensor(c, args[0], args[2], want, "`fold`")
	if !ok {
		return tree.Bad(e.Loc)
	}
	return foldAll(c, e.Loc, args[1], init, x, t)
}

// foldAll is the fold of step, from init, over all elements of x.
func foldAll(c *infer.Checker, at diag.Span, step ast.Expr, init, x tree.Expr, t types.Tensor) tree.Expr {
	if takesParts(c, step, x, t) {
		return tree.Bad(at)
	}
	acc := init.Type()
	params := []*tree.Local{{Name: "acc", T: acc, Loc: step.Span()},
		{Name: "x", T: types.Scalar(t.Elem), Loc: step.Span()}}
	scalar, isTensor := acc.(types.Tensor)
	effects := c.Cur.Effects
	leave := c.OrderedCalls()
	f := foldStep(c, step, params, acc)
	leave()
	if !sameState(c, f.Body, acc, "the value of a fold's function") {
		return tree.Bad(at)
	}
	if isTensor && scalar.IsScalar() && scalar.Elem != types.String && c.Cur.Effects == effects {
		axes, _ := axesOf(c, nil, t.Rank())
		return c.ApplyCode(diag.CodeRule, at, ops.Fold, ir.A{"axes": axes, "init": true}, []*tree.Lambda{f},
			[]tree.Expr{init, x})
	}
	return overElements(c, at, x, t, func(flat, n tree.Expr) tree.Expr {
		i := scope.Counter(at)
		f.Body = &tree.Let{Info: tree.Of(acc, f.Body.Span()), Local: params[1], Value: scope.Element(flat, i, x.Span()),
			Body: f.Body}
		f.Params = []*tree.Local{i, params[0]}
		return c.Loop(at, ops.Iterate, nil, []tree.Expr{n, init}, f, acc)
	})
}

// takesParts reports a function of a fold or scan that takes parts of x, where there are single elements for it.
func takesParts(c *infer.Checker, step ast.Expr, x tree.Expr, t types.Tensor) bool {
	var f *scope.Func
	switch e := ast.Unparen(step).(type) {
	case *ast.Name:
		if !c.IsValue(e.Name) {
			f = c.Funcs[e.Name]
		}
	case *ast.Member:
		if m := c.Mod.Imports[e.Module.Name]; m != nil {
			f = m.Funcs[e.Name.Name]
		}
	}
	if f == nil || len(f.Decl.Params) != 2 {
		return false
	}
	takes, ok := f.Decl.Params[1].Type.(*ast.TensorType)
	if !ok || len(takes.Dims) == 0 {
		return false
	}
	r := c.Errorf(diag.CodeMismatch, step.Span(),
		"folds and scans go over single elements, and %s takes a tensor of %d axes as its second argument",
		report.Quote(f.Decl.Name.Name), len(takes.Dims)).Related(x.Span(), "its elements are %s", t.Elem)
	if t.Rank() > 0 && len(takes.Dims) == t.Rank()-1 {
		r.Help("a loop goes along the first axis: `let (_, y) = iterate(%s, (0, init), |(i, s)| (i + 1, %s(s, v[i])))`",
			t.Shape[0], f.Decl.Name.Name)
	}
	return true
}

// overElements gives body the elements of x in row-major order, as a vector, and their number.
func overElements(c *infer.Checker, at diag.Span, x tree.Expr, t types.Tensor,
	body func(flat, n tree.Expr) tree.Expr) tree.Expr {
	n, err := t.Shape.Elems()
	if err != nil {
		c.Rule(diag.CodeExtent, at, err)
		return tree.Bad(at)
	}
	flat := c.Reshape(x.Span(), x, types.Shape{n})
	count := c.DimValue(n, at)
	if tree.IsBad(flat) || tree.IsBad(count) {
		return tree.Bad(at)
	}
	return c.Let(flat, func(flat tree.Expr) tree.Expr { return body(flat, count) })
}

// eachCall is `each(v, f)`: f of every element, in order. What f gives is dropped.
func eachCall(c *infer.Checker, e *ast.Call, args []ast.Expr, _ types.Type) tree.Expr {
	x, t, ok := c.Value(args[0], nil, "the operand of `each`")
	if !ok {
		return tree.Bad(e.Loc)
	}
	elem := &tree.Local{Name: "x", T: types.Scalar(t.Elem), Loc: args[1].Span()}
	f := loopFunction(c, asLambda(c, args[1]), []*tree.Local{elem}, nil, "the function of `each`")
	if tree.IsBad(f.Body) {
		return tree.Bad(e.Loc)
	}
	return overElements(c, e.Loc, x, t, func(flat, n tree.Expr) tree.Expr {
		i, at := scope.Counter(e.Loc), f.Body.Span()
		dropped := &tree.Let{Info: tree.Of(types.Unit, at), Value: f.Body, Body: tree.Unit(at)}
		f.Body = &tree.Let{Info: tree.Of(types.Unit, at), Local: elem, Value: scope.Element(flat, i, args[0].Span()),
			Body: dropped}
		f.Params = []*tree.Local{i}
		return c.Loop(e.Loc, ops.Iterate, nil, []tree.Expr{n}, f, types.Unit)
	})
}

// asLambda turns the name of a function of the language that is not element-wise, such as `print`, into a
// lambda that calls it with one argument.
func asLambda(c *infer.Checker, e ast.Expr) ast.Expr {
	n, ok := ast.Unparen(e).(*ast.Name)
	if !ok || c.IsValue(n.Name) || c.Funcs[n.Name] != nil || c.Language.Functions[n.Name] == nil ||
		c.Language.Functions[n.Name].Op != nil {
		return e
	}
	const param = "x"
	call := &ast.Call{At: n.At, Fun: n, Args: []ast.Arg{{Value: &ast.Name{At: n.At, Name: param}}}}
	return &ast.Lambda{At: n.At, Params: []ast.Pattern{&ast.NamePattern{At: n.At, Name: param}}, Body: call}
}
