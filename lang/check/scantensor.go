package check

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
)

// scanTensors is a scan whose accumulator holds tensors: a loop over the elements whose state is the
// accumulator and the result so far, of which each step replaces one row. The rows are written in place.
func (c *checker) scanTensors(at diag.Span, f *Lambda, init, x Expr, t types.Tensor) Expr {
	acc := init.Type()
	return c.let(init, func(init Expr) Expr {
		return c.overElements(at, x, t, func(flat, n Expr) Expr {
			count := flat.Type().(types.Tensor).Shape[0]
			var start []Expr
			outs := types.Tuple{}
			for _, p := range types.Flatten(acc) {
				shape := append(types.Shape{count}, p.Shape...)
				zero := c.broadcast(scalarConst(p.Elem, 0, at), shape)
				if isBad(zero) {
					return bad(at)
				}
				start, outs.Elems = append(start, zero), append(outs.Elems, zero.Type())
			}
			i := counter(at)
			state := types.Tuple{Elems: []types.Type{acc, outs}}
			s := &Local{Name: "state", T: state, Loc: at}
			part := func(k int) Expr { return newGet(newUse(s, at), k, state.Elems[k], at) }
			step := &Lambda{Params: []*Local{i, s}, Body: c.scanStep(at, f, part(0), part(1), init,
				element(flat, i, x.Span()), i, t)}
			from := &Tuple{Info: infoOf(state, at), Elems: []Expr{init, &Tuple{Info: infoOf(outs, at), Elems: start}}}
			loop := c.loop(at, ops.Iterate, nil, []Expr{n, from}, step, state)
			if isBad(loop) {
				return bad(at)
			}
			return c.let(newGet(loop, 1, outs, at), func(rows Expr) Expr {
				return c.scanResult(at, acc, rows, t.Shape)
			})
		})
	})
}

// scanStep is the next accumulator, after a start of its own in each row of the tensor, and the result with
// it in the place of element i.
func (c *checker) scanStep(at diag.Span, f *Lambda, acc, outs, init, elem Expr, i *Local, t types.Tensor) Expr {
	index := newUse(i, at)
	if t.Rank() > 1 {
		length := c.dimValue(t.Shape[t.Rank()-1], at)
		zero := scalarConst(types.I32, 0, at)
		first := c.apply(at, ops.Eq, nil, c.apply(at, ops.Rem, nil, index, length), zero)
		acc = &If{Info: infoOf(acc.Type(), at), Cond: first, Then: init, Else: acc}
	}
	next := &Local{Name: "next", T: acc.Type(), Loc: at}
	var rows []Expr
	for k, v := range tensorsIn(newUse(next, at)) {
		p := v.Type().(types.Tensor)
		row := append(types.Shape{types.Lit(1)}, p.Shape...)
		out := newGet(outs, k, outs.Type().(types.Tuple).Elems[k], at)
		starts, steps := make(types.Shape, len(row)), make([]int64, len(row))
		for d := range row {
			starts[d], steps[d] = types.Lit(0), 1
		}
		attrs := ir.A{"axes": []int64{0}, "sizes": types.Shape{types.Lit(1)}, "starts": starts, "steps": steps,
			"shape": row}
		args := []Expr{out, c.reshape(at, v, row), index}
		rows = append(rows, &Apply{Info: infoOf(out.T, at), Op: ops.Update, Attrs: attrs, Args: args})
	}
	state := types.Tuple{Elems: []types.Type{acc.Type(), outs.Type()}}
	pair := &Tuple{Info: infoOf(state, at), Elems: []Expr{newUse(next, at),
		&Tuple{Info: infoOf(outs.Type(), at), Elems: rows}}}
	body := &Let{Info: infoOf(state, at), Local: next, Value: f.Body, Body: pair}
	body = &Let{Info: infoOf(state, at), Local: f.Params[1], Value: elem, Body: body}
	return &Let{Info: infoOf(state, at), Local: f.Params[0], Value: acc, Body: body}
}

// scanResult gives the rows the shape of the tensor that was scanned, in tuples like those of acc.
func (c *checker) scanResult(at diag.Span, acc types.Type, rows Expr, shape types.Shape) Expr {
	list := tensorsIn(rows)
	var build func(t types.Type) Expr
	build = func(t types.Type) Expr {
		if tuple, ok := t.(types.Tuple); ok {
			out := &Tuple{Info: Info{Loc: at}}
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
		return c.reshape(at, x, append(append(types.Shape{}, shape...), t.(types.Tensor).Shape...))
	}
	return build(acc)
}

// tensorsIn lists the tensors in x, which has no effects and may be repeated.
func tensorsIn(x Expr) []Expr {
	tuple, ok := x.Type().(types.Tuple)
	if !ok {
		return []Expr{x}
	}
	var out []Expr
	for k, t := range tuple.Elems {
		out = append(out, tensorsIn(newGet(x, k, t, x.Span()))...)
	}
	return out
}
