package sources

import (
	"fmt"

	"healc/lang/types"
)

// source is an expression with one more axis than t, along which it is reduced; nil where that is too large. empty
// says that it may have the extent 0.
func (g *gen) source(t types.Tensor, e types.DType, keep, empty bool, d int) (x *Node, axis int) {
	n := g.dim()
	if !empty && g.size(n) < 1 {
		return nil, 0
	}
	var s types.Shape
	if keep {
		for i, y := range t.Shape {
			if y.IsConst(1) {
				axis, s = i, replace(t.Shape, i, n)
			}
		}
		if s == nil {
			return nil, 0
		}
	} else {
		axis = g.r.IntN(len(t.Shape) + 1)
		s = insert(t.Shape, axis, n)
	}
	if !g.fits(s) {
		return nil, 0
	}
	return g.expr(types.Tensor{Elem: e, Shape: s}, d), axis
}

func init() {
	for range 2 {
		define("reduction", func(g *gen, t types.Tensor, d int) *Node {
			op := ""
			switch {
			case t.Elem == types.Bool:
				op = []string{"&&", "||"}[g.r.IntN(2)]
			case t.Elem.IsNumber():
				op = []string{"+", "+", "*", "max", "min"}[g.r.IntN(5)]
			default:
				return nil
			}
			if t.IsScalar() && g.chance(2) { // all of a tensor
				s := g.shape()
				if g.elems(s) == 0 && len(op) == 3 || !g.fits(s) {
					return nil
				}
				return ex(t, "("+op+"/($))", g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d))
			}
			keep := g.chance(3)
			x, axis := g.source(t, t.Elem, keep, len(op) < 3, d)
			if x == nil {
				return nil
			}
			if keep {
				return ex(t, fmt.Sprintf("(%s/[axis=%d, keep]($))", op, axis), x)
			}
			return ex(t, fmt.Sprintf("(%s/[axis=%d]($))", op, axis), x)
		})
	}
	define("reduction over two axes", func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsNumber() {
			return nil
		}
		i := g.r.IntN(len(t.Shape) + 1)
		s := insert(t.Shape, i, g.dim())
		j := i + 1 + g.r.IntN(len(s)-i)
		s = insert(s, j, g.dim())
		if !g.fits(s) {
			return nil
		}
		return ex(t, fmt.Sprintf("(%s/[axis=(%d, %d)]($))", []string{"+", "*"}[g.r.IntN(2)], i, j),
			g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d))
	})
	define("named reduction", func(g *gen, t types.Tensor, d int) *Node {
		keep, e := g.chance(3), t.Elem
		var name string
		switch {
		case t.Elem == types.Bool:
			name = []string{"any", "all"}[g.r.IntN(2)]
		case t.Elem == types.I32 && g.chance(2):
			name, e = []string{"argmax", "argmin"}[g.r.IntN(2)], g.number()
		case t.Elem.IsFloat():
			name = []string{"sum", "mean", "prod", "var"}[g.r.IntN(4)]
		case t.Elem.IsNumber():
			name = []string{"sum", "prod"}[g.r.IntN(2)]
		default:
			return nil
		}
		x, axis := g.source(t, e, keep, false, d)
		if x == nil {
			return nil
		}
		text := fmt.Sprintf("%s($, axis = %d", name, axis)
		if keep {
			text += ", keep = true"
		}
		return ex(t, text+")", x)
	})
	define("fold with a start", func(g *gen, t types.Tensor, d int) *Node {
		x, axis := g.source(t, t.Elem, false, true, d)
		if x == nil {
			return nil
		}
		s := types.Scalar(t.Elem)
		calls := g.elems(x.Type.(types.Tensor).Shape)
		a, b := g.name(), g.name()
		f := g.lambda(calls, func() *Node { return g.expr(s, min(d, 2)) }, variable{name: a, typ: s},
			variable{name: b, typ: s})
		return ex(t, fmt.Sprintf("((|%s, %s| $)/[init=$, axis=%d]($))", a, b, axis), f, g.expr(s, min(d, 1)), x)
	})
	define("fold", func(g *gen, t types.Tensor, d int) *Node { return g.fold(t, d) })
	define("cumulative", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 || !t.Elem.IsNumber() {
			return nil
		}
		return ex(t, fmt.Sprintf("%s($, axis = %d)", []string{"cumsum", "cumsum", "cumprod"}[g.r.IntN(3)], axis),
			g.expr(t, d))
	})
	define("scan", func(g *gen, t types.Tensor, d int) *Node {
		if t.IsScalar() {
			return nil
		}
		e := g.dtype()
		s, u := types.Scalar(t.Elem), types.Scalar(e)
		a, b := g.name(), g.name()
		f := g.lambda(g.elems(t.Shape), func() *Node { return g.expr(s, min(d, 2)) }, variable{name: a, typ: s},
			variable{name: b, typ: u})
		return ex(t, fmt.Sprintf("scan($, |%s, %s| $, $)", a, b), g.expr(s, min(d, 1)), f, g.expr(of(e, t), d))
	})
	product := func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsNumber() || t.IsScalar() {
			return nil
		}
		k := g.dim()
		rank := len(t.Shape)
		var a, b types.Shape
		switch {
		case rank == 1 && g.chance(2):
			a, b = types.Shape{t.Shape[0], k}, types.Shape{k}
		case rank == 1:
			a, b = types.Shape{k}, types.Shape{k, t.Shape[0]}
		default:
			a = replace(t.Shape, rank-1, k)
			b = replace(t.Shape, rank-2, k)
			if rank > 2 && g.chance(2) {
				b = b[rank-2:]
			}
		}
		work, err := append(append(types.Shape{}, t.Shape...), k).Elems()
		if err != nil || !g.fits(a) || !g.fits(b) || g.size(work)*g.mult > 8*maxWork {
			return nil
		}
		operator := "@"
		if rank > 1 && g.next%4 == 3 { // a number that is no draw, so that other programs stay
			operator = fmt.Sprintf("@[split=%d]", 32*(1+g.next/4%4))
		}
		return ex(t, "($ "+operator+" $)", g.expr(types.Tensor{Elem: t.Elem, Shape: a}, d),
			g.expr(types.Tensor{Elem: t.Elem, Shape: b}, d))
	}
	for range 2 {
		define("product", product)
	}
}
