package check

import (
	"slices"
	"strconv"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// tabulateCall is `tabulate(d1, ..., |i1, ...| e)`.
func (c *checker) tabulateCall(e *ast.Call, args []ast.Expr, want types.Type) tree.Expr {
	shape := types.Shape{}
	ok := true
	for _, a := range args[:len(args)-1] {
		if _, isLambda := ast.Unparen(a).(*ast.Lambda); isLambda {
			c.errorf(diag.CodeArity, a.Span(), "the function of `tabulate` is its last argument").Help(
				"write `tabulate(M, N, |i, j| ...)`")
			return tree.Bad(e.Loc)
		}
		d, fine := c.dim(a)
		ok = ok && fine
		shape = append(shape, d)
	}
	if !ok || !c.extents(e.Loc, types.Tensor{Elem: types.Bool, Shape: shape}) {
		return tree.Bad(e.Loc)
	}
	last := args[len(args)-1]
	params := make([]*tree.Local, len(shape))
	for i := range params {
		params[i] = &tree.Local{Name: "i" + strconv.Itoa(i), T: types.Scalar(types.I32), Loc: last.Span()}
	}
	var f *tree.Lambda
	c.overSpace(shape, func() { f = c.elementFunction(last, params, want, "the function of `tabulate`") })
	if tree.IsBad(f.Body) {
		return tree.Bad(e.Loc)
	}
	return c.byElement(e.Loc, f.Body, "`tabulate`", func(value tree.Expr) tree.Expr {
		return c.applyCode(diag.CodeRule, e.Loc, ops.Tabulate, ir.A{"shape": shape},
			[]*tree.Lambda{{Params: params, Body: value}}, nil)
	})
}

// elementFunction types the function that gives the elements of a tensor, in row-major order where it does input or
// output. A tuple of tensors is made one after the other, which would do that again for each.
func (c *checker) elementFunction(e ast.Expr, params []*tree.Local, want types.Type, what string) *tree.Lambda {
	var before int
	if c.cur != nil {
		before = c.cur.effects
	}
	f := c.loopFunction(e, params, bare(want), what)
	if t, ok := f.Body.Type().(types.Tuple); ok && len(t.Elems) > 0 && c.cur != nil && c.cur.effects > before {
		f.Body = c.unsupported(e.Span(), "input or output in "+what+" that gives a tuple")
	}
	return f
}

// byElement makes a tensor, by tensor, of each value in body, which is evaluated for each element of what: a
// tuple gives a tuple of tensors.
func (c *checker) byElement(at diag.Span, body tree.Expr, what string,
	tensor func(value tree.Expr) tree.Expr) tree.Expr {
	if tree.IsBad(body) {
		return tree.Bad(at)
	}
	tuple, ok := body.Type().(types.Tuple)
	if !ok || len(tuple.Elems) == 0 {
		if t, ok := body.Type().(types.Tensor); !ok || !t.Elem.Converts() {
			c.errorf(diag.CodeMismatch, body.Span(), "an element of %s has to be a tensor or a scalar, not %s", what,
				body.Type()).Label("%s", body.Type())
			return tree.Bad(at)
		}
		return tensor(body)
	}
	out := &tree.Tuple{Info: tree.Info{Loc: at}}
	var ts []types.Type
	for i, t := range tuple.Elems {
		x := c.byElement(at, tree.NewGet(body, i, t, body.Span()), what, tensor)
		if tree.IsBad(x) {
			return tree.Bad(at)
		}
		out.Elems, ts = append(out.Elems, x), append(ts, x.Type())
	}
	out.T = types.Tuple{Elems: ts}
	return out
}

// overSpace checks what is evaluated once for each index of a shape.
func (c *checker) overSpace(shape types.Shape, body func()) {
	if !slices.ContainsFunc(shape, func(d types.Dim) bool { return d.IsConst(0) }) {
		body()
		return
	}
	c.idle++
	body()
	c.idle--
}

// rangeValue is `lo..hi` or `lo..=hi` as a tensor.
func (c *checker) rangeValue(e *ast.Range) tree.Expr {
	if e.Step != nil {
		r := c.errorf(diag.CodeShapeExpr, e.Loc, "a range with `by` stands only inside an index")
		if e.Lo != nil && e.Hi != nil {
			lo, hi, dots := e.Lo.Span().Text(), e.Hi.Span().Text(), ".."
			if e.Inclusive {
				dots = "..="
			}
			r.Help("count all of them and take some: `(%s%s%s)[.. by %s]`", lo, dots, hi, e.Step.Span().Text())
		}
		return tree.Bad(e.Loc)
	}
	if e.Lo == nil || e.Hi == nil {
		c.errorf(diag.CodeShapeExpr, e.Loc, "a range without a bound stands only inside an index").Help(
			"write both bounds: `0..N`")
		return tree.Bad(e.Loc)
	}
	lo, ok := c.dim(e.Lo)
	hi, ok1 := c.dim(e.Hi)
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	n, err := hi.Sub(lo)
	if err == nil && e.Inclusive {
		n, err = n.Add(types.Lit(1))
	}
	if err != nil {
		c.rule(diag.CodeExtent, e.Loc, err)
		return tree.Bad(e.Loc)
	}
	if unify.AlwaysNegative(n) {
		c.errorf(diag.CodeExtent, e.Loc, "the range from %s to %s has a negative length", lo, hi).Label("%s elements",
			n)
		return tree.Bad(e.Loc)
	}
	return c.apply(e.Loc, ops.Iota, ir.A{"start": lo, "extent": n})
}
