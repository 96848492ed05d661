package sources

import "healc/lang/types"

// differentiated makes the value of a function of x, which is differentiated by it.
func (g *gen) differentiated(t types.Tensor, x variable, d int) *Node {
	g.smooth++
	g.holds++
	// what is around it is constant, but integers of it are no floats that derivatives go through
	n := g.lambda(4, func() *Node { return g.expr(t, d) }, x)
	g.smooth--
	g.holds--
	return n
}

func init() {
	for range 2 {
		define("gradient", func(g *gen, t types.Tensor, d int) *Node {
			if !t.Elem.IsFloat() || g.smooth > 1 || g.elems(t.Shape)*g.mult > maxWork/8 {
				return nil
			}
			x := variable{name: g.name(), typ: t}
			switch g.r.IntN(3) {
			case 0:
				f := g.differentiated(types.Scalar(t.Elem), x, min(d+1, 3))
				if g.chance(4) {
					return ex(t, "({ let (_v, g) = value_and_grad(|"+x.name+"| $)($); g })", f, g.expr(t, d))
				}
				return ex(t, "grad(|"+x.name+"| $)($)", f, g.expr(t, d))
			case 1: // of the type of t, weighted with another one
				u := g.tensorType()
				u.Elem = g.float()
				if !g.fits(u.Shape) {
					return nil
				}
				f := g.differentiated(u, x, min(d+1, 3))
				return ex(t, "vjp(|"+x.name+"| $)($, $)", f, g.expr(t, d), g.expr(u, d))
			}
			u := g.tensorType()
			u.Elem = g.float()
			if !g.fits(u.Shape) {
				return nil
			}
			y := variable{name: g.name(), typ: u}
			f := g.differentiated(t, y, min(d+1, 3))
			return ex(t, "jvp(|"+y.name+"| $)($, $)", f, g.expr(u, d), g.expr(u, d))
		})
	}
}
