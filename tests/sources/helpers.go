package sources

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// helper is a function that others call. Each of its shape parameters is the only thing in an extent of a parameter.
type helper struct {
	name   string
	params []types.Tensor
	result types.Type
	dims   []string
	elem   types.DType // stands for its type parameter; Invalid for none
	bound  string      // of the type parameter
	ranks  bool        // it says something to ranks
	recurs bool        // its first parameter is the number of calls that are left
	cost   int64
}

// helper makes one more function.
func (g *gen) helper() {
	g.begin()
	h := &helper{name: fmt.Sprintf("h%d", len(g.helpers)), elem: types.Invalid}
	holds := g.holds
	switch g.r.IntN(4) {
	case 0:
		h.elem, h.bound = types.F64, "float"
	case 1:
		h.elem, h.bound = types.I64, "int"
	}
	g.generic = h.elem
	if h.elem == types.Invalid && g.chance(4) {
		g.recursive(h)
		return
	}
	if h.elem != types.Invalid {
		g.holds++
	}
	for i := range g.r.IntN(3) {
		d := fmt.Sprintf("%c%d", "AB"[i], len(g.helpers))
		h.dims = append(h.dims, d)
		g.p.Bind[d] = []int64{1, 2, 5, 9, 16, 33}[g.r.IntN(6)]
	}
	g.dims = h.dims
	for _, d := range h.dims {
		h.params = append(h.params, types.Tensor{Elem: g.dtype(), Shape: types.Shape{types.Param(d)}})
	}
	for range 1 + g.r.IntN(2) {
		h.params = append(h.params, types.Tensor{Elem: g.dtype(), Shape: g.shape()})
	}
	if h.elem != types.Invalid { // a call binds it
		h.params = append(h.params, types.Scalar(h.elem))
	}
	var list []string
	var kids []any
	for i, t := range h.params {
		v := fmt.Sprintf("q%d", i)
		list = append(list, v+": $")
		h.params[i] = g.shard(t)
		kids = append(kids, h.params[i])
		g.parameter(v, h.params[i])
	}
	h.result = g.result()
	if len(h.dims) > 0 && g.chance(2) { // of a shape that a call can ask for
		h.result = g.shard(types.Tensor{Elem: g.dtype(), Shape: types.Shape{types.Param(h.dims[0])}})
	}
	g.fuel = 5 + g.r.IntN(20)
	h.cost = 3
	mult := g.mult
	g.mult = 4 // it may be called in a loop
	body := g.body(h.result, 1+g.r.IntN(2))
	g.mult, h.ranks = mult, g.ranks > 0
	brackets := ""
	if names := append([]string{}, h.dims...); len(names) > 0 || h.elem != types.Invalid {
		if h.elem != types.Invalid {
			names = append([]string{"T: " + h.bound}, names...)
		}
		brackets = "[" + strings.Join(names, ", ") + "]"
	}
	n := node(fn, nil, "fn "+h.name+brackets+"("+strings.Join(list, ", ")+") -> $ = $", append(kids, h.result, body)...)
	n.elem = h.elem
	g.p.Fns = append(g.p.Fns, n)
	g.helpers = append(g.helpers, h)
	g.holds = holds
}

// recursive makes a function of scalars that calls itself.
func (g *gen) recursive(h *helper) {
	t := types.Scalar(g.dtype())
	h.params, h.result, h.recurs = []types.Tensor{types.Scalar(types.I32), t}, t, true
	g.vars = []variable{{name: "n", typ: types.Scalar(types.I32)}, {name: "x", typ: t}}
	g.fuel = 12
	mult := g.mult
	g.mult = 40
	stop, next := g.expr(t, 2), g.expr(t, 2)
	rest := g.with(func() *Node { return g.expr(t, 2) }, variable{name: "y", typ: t})
	g.mult = mult
	n := node(fn, nil, "fn "+h.name+"(n: i32, x: $) -> $ = if n <= 0 { $ } else { let y = "+h.name+"(n - 1, $); $ }",
		elem(t.Elem), elem(t.Elem), stop, next, rest)
	n.elem = types.Invalid
	g.p.Fns = append(g.p.Fns, n)
	g.helpers = append(g.helpers, h)
	g.used["recursion"]++
}

// call calls a helper that can give a type.
func (g *gen) call(t types.Type, d int) *Node {
	if len(g.helpers) == 0 || g.mult > 64 {
		return nil
	}
	h := g.helpers[g.r.IntN(len(g.helpers))]
	if g.generic != types.Invalid && h.names(g.generic) {
		return nil // what is T here is that type there
	}
	if h.ranks && g.deep > 0 {
		return nil
	}
	if h.recurs {
		if !types.Equal(t, h.result) || g.smooth > 0 {
			return nil
		}
		s := types.Scalar(types.I32)
		return ex(t, h.name+"($ % $, $)", g.expr(s, min(d, 1)), literal{types.I32, "9"}, g.expr(h.params[1], d))
	}
	if g.smooth > 0 && !h.smooth() {
		return nil
	}
	bind := map[string]types.Dim{}
	e := types.Invalid
	want, have := types.Flatten(t), types.Flatten(h.result)
	_, one := t.(types.Tensor)
	if _, single := h.result.(types.Tensor); one != single || len(want) != len(have) {
		return nil
	}
	for i, x := range want {
		y := have[i]
		if y.Elem == h.elem && h.elem != types.Invalid {
			if e == types.Invalid {
				e = x.Elem
			}
			if e != x.Elem {
				return nil
			}
		} else if y.Elem != x.Elem {
			return nil
		}
		if len(x.Shape) != len(y.Shape) {
			return nil
		}
		for k, n := range y.Shape {
			p, ok := n.AsParam()
			if ok && p[0] != 'L' {
				if old, bound := bind[p]; bound && !old.Equal(x.Shape[k]) {
					return nil
				}
				bind[p] = x.Shape[k]
			} else if !n.Equal(x.Shape[k]) {
				return nil
			}
		}
	}
	for _, p := range h.dims {
		if _, ok := bind[p]; !ok {
			bind[p] = g.dim()
		}
		if n := g.size(bind[p]); n < 1 || n > 2*g.size(types.Param(p)) {
			return nil
		}
	}
	if h.elem != types.Invalid {
		if e == types.Invalid {
			e = []types.DType{types.F32, types.F64, types.F16}[g.r.IntN(3)]
			if h.bound == "int" {
				e = []types.DType{types.I32, types.I64, types.U8}[g.r.IntN(3)]
			}
			if g.generic == e {
				return nil
			}
		}
		if e == g.generic {
			if h.elem != g.generic {
				return nil
			}
		} else if h.bound == "int" && !e.IsInt() || h.bound == "float" && !e.IsFloat() {
			return nil
		}
	}
	text, kids := h.name+"(", []any{}
	for i, q := range h.params {
		if q.Elem == h.elem && h.elem != types.Invalid {
			q.Elem = e
		}
		s, err := q.Shape.Subst(bind)
		if err != nil || !g.fits(s) {
			return nil
		}
		if i > 0 {
			text += ", "
		}
		text += "$"
		q.Shape = s
		kids = append(kids, g.arrange(q, g.expr(bare(q), min(d, 2))))
	}
	if h.elem != types.Invalid {
		g.used["generic call"]++
	}
	if h.ranks {
		g.ranks++
	}
	if r, ok := h.result.(types.Tensor); ok && r.Sharding != types.Replicated {
		return ex(t, "replicate("+text+"))", kids...)
	}
	return ex(t, text+")", kids...)
}

// names reports that h has values of an element type that is not its type parameter.
func (h *helper) names(d types.DType) bool {
	for _, t := range append(types.Flatten(h.result), h.params...) {
		if t.Elem == d && h.elem != d {
			return true
		}
	}
	return false
}

// smooth reports that all parameters are floats, so that nothing of the body goes by way of integers that depend on
// them: it is made before anyone knows whether it is differentiated.
func (h *helper) smooth() bool { return false }
