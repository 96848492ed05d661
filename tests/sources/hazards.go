package sources

import "healc/lang/types"

// hazard reports that a check that may fail is made here: one in a program.
func (g *gen) hazard() bool {
	if g.hazards == 0 || g.holds > 0 || g.smooth > 0 || g.generic != types.Invalid || g.deep > 0 {
		return false
	}
	g.hazards--
	return true
}

// lane is true at one position of a shape, which is not empty.
func (g *gen) lane(s types.Shape) *Node {
	t := types.Tensor{Elem: types.Bool, Shape: s}
	if len(s) == 0 {
		return ex(t, "$", literal{types.Bool, []string{"true", "false"}[g.r.IntN(2)]})
	}
	text, kids := "tabulate(", []any{}
	names, cond := "", ""
	for i, n := range s {
		v := g.name()
		text += "$, "
		kids = append(kids, n)
		if i > 0 {
			names += ", "
			cond += " && "
		}
		names += v
		cond += v + " == $"
	}
	for _, n := range s {
		k := g.r.Int64N(g.size(n))
		if g.chance(3) {
			k = g.size(n) - 1
		}
		kids = append(kids, int(k))
	}
	return ex(t, text+"|"+names+"| "+cond+")", kids...)
}

func init() {
	hazard := func(name string, make func(g *gen, t types.Tensor, d int) *Node) {
		for range 2 {
			define(name, func(g *gen, t types.Tensor, d int) *Node {
				if n := g.elems(t.Shape); n == 0 || n > maxElems || g.hazards == 0 || g.holds > 0 || g.smooth > 0 ||
					g.generic != types.Invalid || g.deep > 0 {
					return nil
				}
				return make(g, t, d)
			})
		}
	}
	hazard("division by zero", func(g *gen, t types.Tensor, d int) *Node {
		if !t.Elem.IsInt() || !g.hazard() {
			return nil
		}
		return ex(t, "($ "+[]string{"./", ".%"}[g.r.IntN(2)]+" where($, $, $))", g.expr(t, d), g.lane(t.Shape),
			literal{t.Elem, "0"}, literal{t.Elem, "3"})
	})
	hazard("index out of range", func(g *gen, t types.Tensor, d int) *Node {
		axis := g.axisOf(t)
		n := g.dim()
		if axis < 0 || g.size(n) < 1 {
			return nil
		}
		x := g.at(t, axis, n, d)
		if x == nil || !g.hazard() {
			return nil
		}
		s := types.Shape{t.Shape[axis]}
		bad := ex(types.Scalar(types.I32), "$", literal{types.I32, []string{"-1", "100000"}[g.r.IntN(2)]})
		return ex(t, "($)"+sub(len(t.Shape), axis, "where($, $, $)"), x, g.lane(s), bad, g.positions(n, s, d))
	})
	hazard("requirement", func(g *gen, t types.Tensor, d int) *Node {
		if !g.hazard() {
			return nil
		}
		return ex(t, "require($, !$, \"one of {} and {}\", 7, 8)", g.expr(t, d), g.lane(t.Shape))
	})
}
