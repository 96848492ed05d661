package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// This file types what goes over the tensors of a tuple: `map`, and the reductions of all of its elements.

// mapTuples is `map(f, a, b)` where an operand is a tuple: f is mapped over the tensors that stand in the same place
// of every tuple, and a tensor among the operands goes with each. The result is built like the tuples; where f gives a
// tuple, it is a tuple of such.
func mapTuples(c *infer.Checker, at diag.Span, f ast.Expr, xs []tree.Expr, want types.Type) tree.Expr {
	var like tree.Expr
	for _, x := range xs {
		if _, ok := x.Type().(types.Tuple); !ok {
			continue
		}
		if like == nil {
			like = x
		} else if !sameTuple(like.Type(), x.Type()) {
			c.Errorf(diag.CodeMismatch, x.Span(), "`map` goes over tuples that are built alike, and here are %s and %s",
				like.Type(), x.Type()).
				Label("%s", x.Type()).Related(like.Span(), "%s", like.Type())
			return tree.Bad(at)
		}
	}
	if len(types.Flatten(like.Type())) == 0 {
		c.Errorf(diag.CodeMismatch, like.Span(), "`map` goes over tensors, and this tuple has none").Label("%s",
			like.Type())
		return tree.Bad(at)
	}
	return c.LetAll(xs, func(xs []tree.Expr) tree.Expr {
		var parts []tree.Expr
		if !mapParts(c, at, f, like.Type(), xs, want, &parts) {
			return tree.Bad(at)
		}
		for _, p := range parts[1:] {
			if !sameTuple(p.Type(), parts[0].Type()) {
				c.Errorf(diag.CodeMismatch, f.Span(),
					"the function of `map` gives one kind of value for every tensor of a tuple, and here %s and %s",
					parts[0].Type(), p.Type())
				return tree.Bad(at)
			}
		}
		return c.LetAll(parts, func(parts []tree.Expr) tree.Expr { return tupleOf(c, at, like.Type(), parts) })
	})
}

// mapParts maps f over the tensors of xs in the places that like has, in order.
func mapParts(c *infer.Checker, at diag.Span, f ast.Expr, like types.Type, xs []tree.Expr, want types.Type,
	parts *[]tree.Expr) bool {
	t, ok := like.(types.Tuple)
	if !ok {
		x := mapTensors(c, at, f, xs, want)
		*parts = append(*parts, x)
		return !tree.IsBad(x)
	}
	for i, e := range t.Elems {
		inner := make([]tree.Expr, len(xs))
		for k, x := range xs {
			inner[k] = part(x, i)
		}
		if !mapParts(c, at, f, e, inner, wantedPart(want, t, i), parts) {
			return false
		}
	}
	return true
}

// part is element i of a tuple, and anything else as it is.
func part(x tree.Expr, i int) tree.Expr {
	if t, ok := x.Type().(types.Tuple); ok {
		return tree.NewGet(x, i, t.Elems[i], x.Span())
	}
	return x
}

// wantedPart is what a place that asks for want asks of part i of a map over tuples like t: for a value like t its
// part, for a tuple of such the tuple of their parts.
func wantedPart(want types.Type, t types.Tuple, i int) types.Type {
	w, ok := want.(types.Tuple)
	if !ok {
		return want
	}
	if sameTuple(w, t) {
		return w.Elems[i]
	}
	out := types.Tuple{}
	for _, e := range w.Elems {
		if e == nil || !sameTuple(e, t) {
			return nil
		}
		out.Elems = append(out.Elems, e.(types.Tuple).Elems[i])
	}
	return out
}

// sameTuple reports that two types are tuples that are built alike, or neither is a tuple.
func sameTuple(a, b types.Type) bool {
	x, ok1 := a.(types.Tuple)
	y, ok2 := b.(types.Tuple)
	if !ok1 || !ok2 {
		return ok1 == ok2
	}
	if len(x.Elems) != len(y.Elems) {
		return false
	}
	for i := range x.Elems {
		if !sameTuple(x.Elems[i], y.Elems[i]) {
			return false
		}
	}
	return true
}

// tupleOf builds what like is of parts, one for each of its tensors, in order. Where the parts are tuples, it gives a
// tuple of what it builds of the first of each, of the second of each and so on.
func tupleOf(c *infer.Checker, at diag.Span, like types.Type, parts []tree.Expr) tree.Expr {
	if t, ok := parts[0].Type().(types.Tuple); ok {
		out := make([]tree.Expr, len(t.Elems))
		for i := range t.Elems {
			column := make([]tree.Expr, len(parts))
			for k, p := range parts {
				column[k] = part(p, i)
			}
			out[i] = tupleOf(c, at, like, column)
		}
		return makeTuple(c, at, out)
	}
	next := 0
	var build func(t types.Type) tree.Expr
	build = func(t types.Type) tree.Expr {
		tuple, ok := t.(types.Tuple)
		if !ok {
			next++
			return parts[next-1]
		}
		out := make([]tree.Expr, len(tuple.Elems))
		for i, e := range tuple.Elems {
			out[i] = build(e)
		}
		return makeTuple(c, at, out)
	}
	return build(like)
}

// makeTuple is the tuple of typed values.
func makeTuple(c *infer.Checker, at diag.Span, xs []tree.Expr) tree.Expr {
	elems := make([]types.Type, len(xs))
	for i, x := range xs {
		if elems[i] = x.Type(); tree.IsBad(x) {
			return tree.Bad(at)
		}
	}
	t := c.TupleType(at, elems)
	if types.IsError(t) {
		return tree.Bad(at)
	}
	return &tree.Tuple{Info: tree.Of(t, at), Elems: xs}
}

// tupleReductions are the reductions that a tuple has, with what joins the values of its tensors.
var tupleReductions = map[*ir.OpDef]*ir.OpDef{
	ops.ReduceSum: ops.Add, ops.ReduceProd: ops.Mul, ops.ReduceMax: ops.Max, ops.ReduceMin: ops.Min,
	ops.ReduceAnd: ops.And, ops.ReduceOr: ops.Or,
}

// reduceTuple is the reduction of all elements of a tuple: each tensor is reduced, and the values are joined from the
// first to the last.
func reduceTuple(c *infer.Checker, at diag.Span, op *ir.OpDef, x tree.Expr, axes ast.Expr, keep bool) tree.Expr {
	join := tupleReductions[op]
	leaves := len(types.Flatten(x.Type()))
	switch {
	case join == nil || leaves == 0:
		c.Errorf(diag.CodeMismatch, x.Span(), "the operand of %s has to be a tensor or a scalar, not %s",
			scope.Spelled(op), x.Type()).Label("%s", x.Type())
		return tree.Bad(at)
	case axes != nil || keep:
		c.Errorf(diag.CodeAxis, at, "%s of a tuple goes over all elements of its tensors, and along no axis",
			scope.Spelled(op)).Label("%s", x.Type())
		return tree.Bad(at)
	}
	return c.Let(x, func(x tree.Expr) tree.Expr {
		var out tree.Expr
		var walk func(x tree.Expr)
		walk = func(x tree.Expr) {
			if t, ok := x.Type().(types.Tuple); ok {
				for i := range t.Elems {
					walk(part(x, i))
				}
				return
			}
			value := reduceAlong(c, at, op, x, nil, false)
			if out == nil {
				out = value
			} else {
				out = c.Pointwise(at, join, []tree.Expr{out, value})
			}
		}
		walk(x)
		return out
	})
}
