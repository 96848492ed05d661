package indexing

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/check/infer"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// scattered is what the tensors of positions in an index choose together.
type scattered struct {
	shape types.Shape // the positions, broadcast
	first int         // where these axes stand in the part that is chosen
}

// scatteredPart types the part of t that an index with tensors of positions chooses: the type that reading
// it has.
func scatteredPart(c *infer.Checker, at diag.Span, t types.Tensor, list []axisIndex) (types.Tensor, scattered, bool) {
	s := scattered{shape: types.Shape{}}
	rest := types.Shape{}
	var axes []int // of the positions, among those that the other indices leave
	var idx []tree.Expr
	for _, i := range list {
		switch {
		case i.gather != nil:
			axes, idx = append(axes, len(rest)+len(axes)), append(idx, i.gather)
			next, err := types.Broadcast(s.shape, i.gather.Type().(types.Tensor).Shape)
			if err != nil {
				c.Rule(diag.CodeNotBroadcastable, at, err).Label("%s", scope.TypeList(idx))
				return t, s, false
			}
			s.shape = next
		case i.pos == nil && !i.drop:
			rest = append(rest, i.n)
		}
	}
	if axes[len(axes)-1]-axes[0] == len(axes)-1 {
		s.first = axes[0]
	}
	part := append(append(append(types.Shape{}, rest[:s.first]...), s.shape...), rest[s.first:]...)
	return types.Tensor{Elem: t.Elem, Shape: part}, s, true
}

// scatter is x with the elements that list chooses replaced by v, which has the type of scatteredPart: one
// position after the other in row-major order, so that the last one of equal positions wins.
func scatter(c *infer.Checker, at diag.Span, x, v tree.Expr, list []axisIndex, s scattered) tree.Expr {
	n, err := s.shape.Elems()
	if err != nil {
		c.Rule(diag.CodeExtent, at, err)
		return tree.Bad(at)
	}
	count := c.DimValue(n, at)
	if tree.IsBad(x) || tree.IsBad(v) || tree.IsBad(count) {
		return tree.Bad(at)
	}
	shape := v.Type().(types.Tensor).Shape
	before, after := shape[:s.first], shape[s.first+len(s.shape):]
	flat := []tree.Expr{c.Reshape(at, v, append(append(append(types.Shape{}, before...), n), after...))}
	for _, i := range list {
		if i.gather != nil {
			flat = append(flat, c.Reshape(at, c.Broadcast(i.gather, s.shape), types.Shape{n}))
		}
	}
	for _, f := range flat {
		if tree.IsBad(f) {
			return tree.Bad(at)
		}
	}
	return c.LetAll(append(flat, x), func(in []tree.Expr) tree.Expr {
		k, state := scope.Counter(at), &tree.Local{Name: "state", T: x.Type(), Loc: at}
		step, next := append([]axisIndex{}, list...), 1
		for a := range step {
			if step[a].gather != nil {
				step[a].gather, step[a].pos = nil, scope.Element(in[next], k, at)
				next++
			}
		}
		one := types.Tensor{Elem: types.ElemOf(v.Type()), Shape: append(append(types.Shape{}, before...), after...)}
		value := &tree.Apply{Info: tree.Of(one, at), Op: ops.Index, Attrs: ir.A{"axes": []int64{int64(s.first)}},
			Args: []tree.Expr{in[0], tree.NewUse(k, at)}}
		body := update(c, at, tree.NewUse(state, at), value, step)
		return c.Loop(at, ops.Iterate, nil, []tree.Expr{count, in[next]},
			&tree.Lambda{Params: []*tree.Local{k, state}, Body: body}, x.Type())
	})
}
