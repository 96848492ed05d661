package builtins

import (
	"slices"
	"strconv"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// tabulateCall is `tabulate(d1, ..., |i1, ...| e)`.
func tabulateCall(c *infer.Checker, e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	shape := types.Shape{}
	ok := true
	for _, a := range args[:len(args)-1] {
		if _, isLambda := ast.Unparen(a).(*ast.Lambda); isLambda {
			c.Errorf(diag.CodeArity, a.Span(), "the function of `tabulate` is its last argument").Help(
				"write `tabulate(M, N, |i, j| ...)`")
			return tree.Bad(e.Loc)
		}
		d, fine := c.Dim(a)
		ok = ok && fine
		shape = append(shape, d)
	}
	if !ok {
		return tree.Bad(e.Loc)
	}
	last := args[len(args)-1]
	params := make([]*tree.Local, len(shape))
	for i := range params {
		params[i] = &tree.Local{Name: "i" + strconv.Itoa(i), T: types.Scalar(types.I32), Loc: last.Span()}
	}
	var f *tree.Lambda
	overSpace(c, shape, func() { f = elementFunction(c, last, params, want, "the function of `tabulate`") })
	if tree.IsBad(f.Body) {
		return tree.Bad(e.Loc)
	}
	if t, ok := f.Body.Type().(types.Tensor); ok && t.Elem.Converts() &&
		!c.Extents(e.Loc, types.Tensor{Elem: t.Elem, Shape: shape}) {
		return tree.Bad(e.Loc)
	}
	return byElement(c, e.Loc, f.Body, "`tabulate`", func(value tree.Expr) tree.Expr {
		return c.ApplyCode(diag.CodeRule, e.Loc, ops.Tabulate, ir.A{"shape": shape},
			[]*tree.Lambda{{Params: params, Body: value}}, nil)
	})
}

// elementFunction types the function that gives the elements of a tensor, in row-major order where it does input or
// output. A tuple of tensors is made one after the other, which would do that again for each.
func elementFunction(c *infer.Checker, e ast.Expr, params []*tree.Local, want types.Type, what string) *tree.Lambda {
	var before int
	if c.Cur != nil {
		before = c.Cur.Effects
	}
	f := loopFunction(c, e, params, infer.Bare(want), what)
	if t, ok := f.Body.Type().(types.Tuple); ok && len(t.Elems) > 0 && c.Cur != nil && c.Cur.Effects > before {
		f.Body = c.Unsupported(e.Span(), "input or output in "+what+" that gives a tuple")
	}
	return f
}

// byElement makes a tensor, by tensor, of each value in body, which is evaluated for each element of what: a
// tuple gives a tuple of tensors.
func byElement(c *infer.Checker, at diag.Span, body tree.Expr, what string,
	tensor func(value tree.Expr) tree.Expr) tree.Expr {
	if tree.IsBad(body) {
		return tree.Bad(at)
	}
	tuple, ok := body.Type().(types.Tuple)
	if !ok || len(tuple.Elems) == 0 {
		if t, ok := body.Type().(types.Tensor); !ok || !t.Elem.Converts() {
			c.Errorf(diag.CodeMismatch, body.Span(), "an element of %s has to be a tensor or a scalar, not %s", what,
				body.Type()).Label("%s", body.Type())
			return tree.Bad(at)
		}
		return tensor(body)
	}
	out := &tree.Tuple{Info: tree.Info{Loc: at}}
	var ts []types.Type
	for i, t := range tuple.Elems {
		x := byElement(c, at, tree.NewGet(body, i, t, body.Span()), what, tensor)
		if tree.IsBad(x) {
			return tree.Bad(at)
		}
		out.Elems, ts = append(out.Elems, x), append(ts, x.Type())
	}
	out.T = types.Tuple{Elems: ts}
	return out
}

// overSpace checks what is evaluated once for each index of a shape.
func overSpace(c *infer.Checker, shape types.Shape, body func()) {
	if !slices.ContainsFunc(shape, func(d types.Dim) bool { return d.IsConst(0) }) {
		body()
		return
	}
	c.Idle++
	body()
	c.Idle--
}
