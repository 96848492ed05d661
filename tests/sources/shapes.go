package sources

import (
	"fmt"

	"healc/lang/types"
)

// axisOf is a random axis, -1 for a scalar.
func (g *gen) axisOf(t types.Tensor) int {
	if t.IsScalar() {
		return -1
	}
	return g.r.IntN(len(t.Shape))
}

// sub is an index with `..` for all axes but one.
func sub(rank, axis int, text string) string {
	out := "["
	for i := range rank {
		if i > 0 {
			out += ", "
		}
		if i == axis {
			out += text
		} else {
			out += ".."
		}
	}
	return out + "]"
}

// at is an expression of another extent along an axis, nil where it would be too large.
func (g *gen) at(t types.Tensor, axis int, x types.Dim, d int) *Node {
	s := replace(t.Shape, axis, x)
	if !g.fits(s) {
		return nil
	}
	return g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d)
}

// positions are indices in an axis of extent n, which is above 0.
func (g *gen) positions(n types.Dim, s types.Shape, d int) *Node {
	t := types.Tensor{Elem: types.I32, Shape: s}
	g.holds++
	x := g.integer(t, d)
	g.holds--
	return ex(t, "mod($, $)", x, n)
}

// integer is an expression of i32; in what is differentiated one that depends on nothing.
func (g *gen) integer(t types.Tensor, d int) *Node {
	if g.smooth > 0 {
		return g.constant(t)
	}
	return g.expr(t, d)
}

func init() {
	define("slice", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 {
			return nil
		}
		n := t.Shape[axis]
		switch g.r.IntN(4) {
		case 0: // with a step
			k := 2 + g.r.IntN(2)
			x := g.at(t, axis, times(n, types.Lit(int64(k))), d)
			if x == nil {
				return nil
			}
			return ex(t, "($)"+sub(len(t.Shape), axis, fmt.Sprintf(".. by %d", k)), x)
		case 1: // backwards
			if g.size(n) < 1 {
				return nil
			}
			return ex(t, "($)"+sub(len(t.Shape), axis, "$..=0 by -1"), g.expr(t, d), add(n, -1))
		}
		lo, more := int64(g.r.IntN(3)), int64(g.r.IntN(3))
		x := g.at(t, axis, add(n, lo+more), d)
		if x == nil {
			return nil
		}
		return ex(t, "($)"+sub(len(t.Shape), axis, fmt.Sprintf("%d..$", lo)), x, add(n, lo))
	})
	define("index", func(g *gen, t types.Tensor, d int) *Node {
		axis, n := g.r.IntN(len(t.Shape)+1), g.dim()
		s := insert(t.Shape, axis, n)
		if !g.fits(s) || g.size(n) < 1 {
			return nil
		}
		x := g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d)
		if g.chance(3) {
			return ex(t, "($)"+sub(len(s), axis, []string{"0", "-1"}[g.r.IntN(2)]), x)
		}
		return ex(t, "($)"+sub(len(s), axis, "$"), x, g.positions(n, nil, d))
	})
	define("gather", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		n := g.dim()
		if axis < 0 || g.size(n) < 1 {
			return nil
		}
		x := g.at(t, axis, n, d)
		if x == nil {
			return nil
		}
		return ex(t, "($)"+sub(len(t.Shape), axis, "$"), x, g.positions(n, types.Shape{t.Shape[axis]}, d))
	})
	define("take_along_axis", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		n := g.dim()
		if axis < 0 || g.size(n) < 1 {
			return nil
		}
		x := g.at(t, axis, n, d)
		if x == nil {
			return nil
		}
		return ex(t, fmt.Sprintf("take_along_axis($, $, %d)", axis), x, g.positions(n, t.Shape, d))
	})
	define("scatter_add", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 || !t.Elem.IsNumber() || g.size(t.Shape[axis]) < 1 {
			return nil
		}
		n := g.dim()
		s := replace(t.Shape, axis, n)
		if !g.fits(s) {
			return nil
		}
		idx := types.Shape{n}
		if g.chance(2) {
			idx = s
		}
		return ex(t, fmt.Sprintf("scatter_add($, $, $, %d)", axis), g.expr(t, d),
			g.positions(t.Shape[axis], idx, d), g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d))
	})
	define("permute", func(g *gen, t types.Tensor, d int) *Node {
		rank := len(t.Shape)
		if rank < 2 {
			return nil
		}
		if g.chance(2) {
			s := make(types.Shape, rank)
			for i := range s {
				s[i] = t.Shape[rank-1-i]
			}
			return ex(t, "transpose($)", g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d))
		}
		perm := g.r.Perm(rank)
		s, text := make(types.Shape, rank), ""
		for i, k := range perm { // axis i of the result is axis k of the operand
			s[k] = t.Shape[i]
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprint(k)
		}
		return ex(t, "permute_axes($, ["+text+"])", g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d))
	})
	define("reshape", func(g *gen, t types.Tensor, d int) *Node {
		rank := len(t.Shape)
		if rank == 0 {
			return nil
		}
		if rank == 1 {
			n, ok := t.Shape[0].Div(g.dim())
			if ok && g.chance(2) {
				m, _ := t.Shape[0].Div(n)
				return ex(t, "flatten($)", g.expr(types.Tensor{Elem: t.Elem, Shape: types.Shape{n, m}}, d))
			}
			row := types.Shape{types.Lit(1), t.Shape[0]}
			return ex(t, "flatten($)", g.expr(types.Tensor{Elem: t.Elem, Shape: row}, d))
		}
		axis := g.r.IntN(rank - 1) // two axes are one
		s := replace(without(t.Shape, axis), axis, times(t.Shape[axis], t.Shape[axis+1]))
		text, kids := "reshape($, [", []any{g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d)}
		for i, x := range t.Shape {
			if i > 0 {
				text += ", "
			}
			text += "$"
			kids = append(kids, x)
		}
		return ex(t, text+"])", kids...)
	})
	define("squeeze", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.r.IntN(len(t.Shape) + 1)
		s := insert(t.Shape, axis, types.Lit(1))
		return ex(t, fmt.Sprintf("squeeze($, %d)", axis), g.expr(types.Tensor{Elem: t.Elem, Shape: s}, d))
	})
	define("unsqueeze", func(g *gen, t types.Tensor, d int) *Node {
		for axis, n := range t.Shape {
			if n.IsConst(1) {
				return ex(t, fmt.Sprintf("unsqueeze($, %d)", axis),
					g.expr(types.Tensor{Elem: t.Elem, Shape: without(t.Shape, axis)}, d))
			}
		}
		return nil
	})
	define("expand", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 {
			return nil
		}
		text, kids := "expand($, [", []any{g.expr(types.Tensor{Elem: t.Elem,
			Shape: replace(t.Shape, axis, types.Lit(1))}, d)}
		for i, x := range t.Shape {
			if i > 0 {
				text += ", "
			}
			text += "$"
			kids = append(kids, x)
		}
		return ex(t, text+"])", kids...)
	})
	define("concat", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 || g.size(t.Shape[axis]) < 2 {
			return nil
		}
		k := int64(1)
		if g.chance(2) {
			k = 1 + g.r.Int64N(g.size(t.Shape[axis])-1)
		}
		if len(t.Shape[axis].Params()) > 0 && g.dimIsShape(t.Shape[axis]) {
			k = 1 // the shape parameter may be smaller elsewhere
		}
		a, b := types.Lit(k), add(t.Shape[axis], -k)
		if g.chance(2) {
			a, b = b, a
		}
		x, y := g.at(t, axis, a, d), g.at(t, axis, b, d)
		if x == nil || y == nil {
			return nil
		}
		return ex(t, fmt.Sprintf("concat(($, $), %d)", axis), x, y)
	})
	define("pad", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 || !t.Elem.IsNumber() || g.size(t.Shape[axis]) < 3 {
			return nil
		}
		before, after := g.r.IntN(2), g.r.IntN(3)
		x := g.at(t, axis, add(t.Shape[axis], -int64(before+after)), d)
		if x == nil {
			return nil
		}
		return ex(t, fmt.Sprintf("pad($, %d, %d, %d, $)", axis, before, after), x, g.expr(types.Scalar(t.Elem), d))
	})
	define("flip", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 {
			return nil
		}
		if g.chance(2) {
			return ex(t, fmt.Sprintf("flip($, %d)", axis), g.expr(t, d))
		}
		return ex(t, fmt.Sprintf("roll($, %d, %d)", g.r.IntN(9)-4, axis), g.expr(t, d))
	})
	define("stack", func(g *gen, t types.Tensor, d int) *Node {
		for axis, n := range t.Shape {
			if n.IsConst(2) {
				u := types.Tensor{Elem: t.Elem, Shape: without(t.Shape, axis)}
				return ex(t, fmt.Sprintf("stack(($, $), %d)", axis), g.expr(u, d), g.expr(u, d))
			}
		}
		return nil
	})
	define("split", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 {
			return nil
		}
		x := g.at(t, axis, times(t.Shape[axis], types.Lit(2)), d)
		if x == nil {
			return nil
		}
		a, b := g.name(), g.name()
		text := fmt.Sprintf("({ let (%s, %s) = split($, 2, %d); $ })", a, b, axis)
		rest := g.with(func() *Node { return g.expr(t, d) }, variable{name: a, typ: t}, variable{name: b, typ: t})
		return ex(t, text, x, rest)
	})
	define("repeat", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 {
			return nil
		}
		half, ok := t.Shape[axis].Div(types.Lit(2))
		if !ok {
			return nil
		}
		x := g.at(t, axis, half, d)
		if x == nil {
			return nil
		}
		return ex(t, fmt.Sprintf("repeat($, 2, %d)", axis), x)
	})
	define("sort", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		if axis < 0 || t.Elem.IsStored() {
			return nil
		}
		if t.Elem == types.I32 && g.chance(2) {
			return ex(t, fmt.Sprintf("argsort($, %d)", axis), g.expr(of(g.computing(), t), d))
		}
		return ex(t, fmt.Sprintf("sort($, %d)", axis), g.expr(t, d))
	})
	define("one_hot", func(g *gen, t types.Tensor, d int) *Node {
		if t.IsScalar() || !t.Elem.IsNumber() {
			return nil
		}
		k := len(t.Shape) - 1
		idx := types.Tensor{Elem: types.I32, Shape: t.Shape[:k]}
		return ex(t, "one_hot[$]($, $)", elem(t.Elem), g.integer(idx, d), t.Shape[k])
	})
}

// dimIsShape reports that an extent depends on a shape parameter.
func (g *gen) dimIsShape(d types.Dim) bool {
	for _, p := range d.Params() {
		if p[0] != 'L' {
			return true
		}
	}
	return false
}
