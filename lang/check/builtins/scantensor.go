package builtins

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/check/infer"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// scanTensors is a scan whose accumulator holds tensors: a loop over the elements whose state is the
// accumulator and the result so far, of which each step replaces one row. The rows are written in place.
func scanTensors(c *infer.Checker, at diag.Span, f *tree.Lambda, init, x tree.Expr, t types.Tensor) tree.Expr {
	acc := init.Type()
	return c.Let(init, func(init tree.Expr) tree.Expr {
		return overElements(c, at, x, t, func(flat, n tree.Expr) tree.Expr {
			count := flat.Type().(types.Tensor).Shape[0]
			var start []tree.Expr
			outs := types.Tuple{}
			for _, p := range types.Flatten(acc) {
				shape := append(types.Shape{count}, p.Shape...)
				zero := c.Broadcast(tree.ScalarConst(p.Elem, 0, at), shape)
				if tree.IsBad(zero) {
					return tree.Bad(at)
				}
				start, outs.Elems = append(start, zero), append(outs.Elems, zero.Type())
			}
			i := scope.Counter(at)
			state := types.Tuple{Elems: []types.Type{acc, outs}}
			s := &tree.Local{Name: "state", T: state, Loc: at}
			part := func(k int) tree.Expr { return tree.NewGet(tree.NewUse(s, at), k, state.Elems[k], at) }
			step := &tree.Lambda{Params: []*tree.Local{i, s}, Body: scanStep(c, at, f, part(0), part(1), init,
				scope.Element(flat, i, x.Span()), i, t)}
			from := &tree.Tuple{Info: tree.Of(state, at),
				Elems: []tree.Expr{init, &tree.Tuple{Info: tree.Of(outs, at), Elems: start}}}
			loop := c.Loop(at, ops.Iterate, nil, []tree.Expr{n, from}, step, state)
			if tree.IsBad(loop) {
				return tree.Bad(at)
			}
			return c.Let(tree.NewGet(loop, 1, outs, at), func(rows tree.Expr) tree.Expr {
				return scanResult(c, at, acc, rows, t.Shape)
			})
		})
	})
}

// scanStep is the next accumulator, after a start of its own in each row of the tensor, and the result with
// it in the place of element i.
func scanStep(c *infer.Checker, at diag.Span, f *tree.Lambda, acc, outs, init, elem tree.Expr, i *tree.Local,
	t types.Tensor) tree.Expr {
	index := tree.NewUse(i, at)
	if t.Rank() > 1 {
		length := c.DimValue(t.Shape[t.Rank()-1], at)
		zero := tree.ScalarConst(types.I32, 0, at)
		first := c.Apply(at, ops.Eq, nil, c.Apply(at, ops.Rem, nil, index, length), zero)
		acc = &tree.If{Info: tree.Of(acc.Type(), at), Cond: first, Then: init, Else: acc}
	}
	next := &tree.Local{Name: "next", T: acc.Type(), Loc: at}
	var rows []tree.Expr
	for k, v := range tensorsIn(tree.NewUse(next, at)) {
		p := v.Type().(types.Tensor)
		row := append(types.Shape{types.Lit(1)}, p.Shape...)
		out := tree.NewGet(outs, k, outs.Type().(types.Tuple).Elems[k], at)
		starts, steps := make(types.Shape, len(row)), make([]int64, len(row))
		for d := range row {
			starts[d], steps[d] = types.Lit(0), 1
		}
		attrs := ir.A{"axes": []int64{0}, "sizes": types.Shape{types.Lit(1)}, "starts": starts, "steps": steps,
			"shape": row}
		args := []tree.Expr{out, c.Reshape(at, v, row), index}
		rows = append(rows, &tree.Apply{Info: tree.Of(out.T, at), Op: ops.Update, Attrs: attrs, Args: args})
	}
	state := types.Tuple{Elems: []types.Type{acc.Type(), outs.Type()}}
	pair := &tree.Tuple{Info: tree.Of(state, at), Elems: []tree.Expr{tree.NewUse(next, at),
		&tree.Tuple{Info: tree.Of(outs.Type(), at), Elems: rows}}}
	body := &tree.Let{Info: tree.Of(state, at), Local: next, Value: f.Body, Body: pair}
	body = &tree.Let{Info: tree.Of(state, at), Local: f.Params[1], Value: elem, Body: body}
	return &tree.Let{Info: tree.Of(state, at), Local: f.Params[0], Value: acc, Body: body}
}

// scanResult gives the rows the shape of the tensor that was scanned, in tuples like those of acc.
func scanResult(c *infer.Checker, at diag.Span, acc types.Type, rows tree.Expr, shape types.Shape) tree.Expr {
	list := tensorsIn(rows)
	var build func(t types.Type) tree.Expr
	build = func(t types.Type) tree.Expr {
		if tuple, ok := t.(types.Tuple); ok {
			out := &tree.Tuple{Info: tree.Info{Loc: at}}
			var ts []types.Type
			for _, e := range tuple.Elems {
				x := build(e)
				out.Elems, ts = append(out.Elems, x), append(ts, x.Type())
			}
			out.T = types.Tuple{Elems: ts}
			return out
		}
		x := list[0]
		list = list[1:]
		return c.Reshape(at, x, append(append(types.Shape{}, shape...), t.(types.Tensor).Shape...))
	}
	return build(acc)
}

// tensorsIn lists the tensors in x, which has no effects and may be repeated.
func tensorsIn(x tree.Expr) []tree.Expr {
	tuple, ok := x.Type().(types.Tuple)
	if !ok {
		return []tree.Expr{x}
	}
	var out []tree.Expr
	for k, t := range tuple.Elems {
		out = append(out, tensorsIn(tree.NewGet(x, k, t, x.Span()))...)
	}
	return out
}
