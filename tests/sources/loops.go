package sources

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// typeSize is the number of elements of a value.
func (g *gen) typeSize(t types.Type) int64 {
	n := int64(0)
	for _, x := range types.Flatten(t) {
		n += g.elems(x.Shape)
	}
	return n
}

// pattern is what binds a value of a type in a lambda or a let, and its variables.
func (g *gen) pattern(t types.Type) (string, []variable) {
	if u, ok := t.(types.Tuple); ok && !g.chance(8) {
		var names []string
		var vars []variable
		for _, e := range u.Elems {
			s, v := g.pattern(e)
			names, vars = append(names, s), append(vars, v...)
		}
		return "(" + strings.Join(names, ", ") + ")", vars
	}
	v := g.name()
	return v, []variable{{name: v, typ: t}}
}

func (g *gen) ifElse(t types.Type, d int) *Node {
	return ex(t, "(if $ { $ } else { $ })", g.cond(d), g.expr(t, d), g.expr(t, d))
}

func (g *gen) match(t types.Type, d int) *Node {
	if g.smooth > 0 {
		return nil
	}
	n := g.name()
	s := types.Scalar(types.I32)
	arm := g.with(func() *Node { return g.expr(t, d) }, variable{name: n, typ: s})
	return ex(t, "(match $ { 0 => $, "+n+" if "+n+" > 2 => $, _ => $ })", g.expr(s, min(d, 2)), g.expr(t, d), arm,
		g.expr(t, d))
}

func (g *gen) let(t types.Type, d int) *Node {
	u := g.someType()
	if !g.fitsType(u) {
		return nil
	}
	x := g.expr(u, d)
	p, vars := g.pattern(u)
	rest := g.with(func() *Node { return g.expr(t, d) }, vars...)
	return ex(t, "({ let "+p+" = $; $ })", x, rest)
}

// someType is a type of what is on the way.
func (g *gen) someType() types.Type {
	if len(g.helpers) > 0 && g.chance(3) { // what a helper gives
		h := g.helpers[g.r.IntN(len(g.helpers))]
		bind := map[string]types.Dim{}
		for _, p := range h.dims {
			bind[p] = g.dim()
		}
		e := g.number()
		t := types.Map(h.result, func(x types.Tensor) types.Tensor {
			if s, err := x.Shape.Subst(bind); err == nil {
				x.Shape = s
			}
			if x.Elem == h.elem && h.elem != types.Invalid {
				x.Elem = e
			}
			return x
		})
		if g.fitsType(t) && (g.smooth == 0 || types.ElemOf(t).IsFloat()) {
			return t
		}
	}
	if g.chance(4) {
		return types.Tuple{Elems: []types.Type{g.tensorType(), g.tensorType()}}
	}
	return g.tensorType()
}

func (g *gen) fitsType(t types.Type) bool {
	for _, x := range types.Flatten(t) {
		if !g.fits(x.Shape) {
			return false
		}
	}
	return true
}

// project is one part of a tuple, so that loops with states of several parts are made for any type.
func (g *gen) project(t types.Type, d int) *Node {
	u := types.Tuple{Elems: []types.Type{t, g.tensorType()}}
	k := g.r.IntN(2)
	u.Elems[0], u.Elems[k] = u.Elems[k], u.Elems[0]
	if !g.fitsType(u) {
		return nil
	}
	a, b := g.name(), g.name()
	return ex(t, "({ let ("+a+", "+b+") = $; "+[]string{a, b}[k]+" })", g.expr(u, d))
}

// count is how often a loop goes.
func (g *gen) count(d int) (*Node, int64) {
	s := types.Scalar(types.I32)
	if g.chance(2) {
		n := g.r.IntN(5)
		return ex(s, "$", literal{types.I32, fmt.Sprint(n)}), int64(n)
	}
	return ex(s, "($ % $)", g.integer(s, min(d, 2)), literal{types.I32, "5"}), 4
}

func (g *gen) iterate(t types.Type, d int) *Node {
	if g.typeSize(t)*g.mult > maxWork/4 || g.deep > 2 {
		return nil
	}
	n, calls := g.count(d)
	init := g.expr(t, d)
	p, vars := g.pattern(t)
	step := g.lambda(calls, func() *Node { return g.expr(t, d) }, vars...)
	return ex(t, "iterate($, $, |"+p+"| $)", n, init, step)
}

func (g *gen) until(t types.Type, d int) *Node {
	if g.typeSize(t)*g.mult > maxWork/4 || g.deep > 2 {
		return nil
	}
	n, calls := g.count(d)
	init := g.expr(t, d)
	p, vars := g.pattern(t)
	step := g.lambda(calls, func() *Node { return g.expr(t, d) }, vars...)
	q, others := g.pattern(t)
	done := g.lambda(calls, func() *Node { return g.cond(d) }, others...)
	return ex(t, "iterate_until($, |"+p+"| $, |"+q+"| $, $)", init, step, done, n)
}

// fold is a fold with any state over the elements of a tensor.
func (g *gen) fold(t types.Type, d int) *Node {
	s := g.shape()
	e := g.dtype()
	if !g.fits(s) || g.elems(s)*max(1, g.typeSize(t))*g.mult > maxWork {
		return nil
	}
	p, vars := g.pattern(t)
	x := g.name()
	f := g.lambda(g.elems(s), func() *Node { return g.expr(t, min(d, 2)) },
		append(vars, variable{name: x, typ: types.Scalar(e)})...)
	return ex(t, "fold($, |"+p+", "+x+"| $, $)", g.expr(t, min(d, 2)), f, g.expr(types.Tensor{Elem: e, Shape: s}, d))
}
