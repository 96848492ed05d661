package sources

import "healc/lang/types"

// anyElem is an element type, each as often as another: those that are only stored, too, in programs from `since` on.
func (g *gen) anyElem() types.DType {
	list := types.Operands
	if g.p.Seed >= since && g.chance(2) {
		list = types.DTypes
	}
	return list[g.r.IntN(len(list))]
}

// computing is an element type that operations compute with.
func (g *gen) computing() types.DType {
	for {
		if d := g.dtype(); d.Computes() {
			return d
		}
	}
}

// alike are the types whose elements have as many bits as those of d, but for the type parameter.
func (g *gen) alike(d types.DType) []types.DType {
	var out []types.DType
	for _, e := range types.DTypes {
		if e != types.Bool && e != d && e != g.generic && e.Width() == d.Width() {
			out = append(out, e)
		}
	}
	return out
}

func init() {
	extend("bitcast", func(g *gen, t types.Tensor, d int) *Node {
		from := g.alike(t.Elem)
		if t.Elem == types.Bool || t.Elem == g.generic || g.smooth > 0 {
			return nil
		}
		return ex(t, "bitcast[$]($)", elem(t.Elem), g.expr(of(from[g.r.IntN(len(from))], t), d))
	})
	// What a matrix in few bits becomes: scales and elements, of which two may be in a byte.
	extend("elements with scales", func(g *gen, t types.Tensor, d int) *Node {
		if t.Elem != types.F32 || g.smooth > 0 {
			return nil
		}
		from := []types.DType{types.F8E4M3, types.F8E5M2, types.I4, types.F4E2M1}[g.r.IntN(4)]
		x := g.expr(of(from, t), d)
		if from.IsNibble() && g.chance(2) {
			half := []string{"$ as i4", "shr($, 4) as i4"}[g.r.IntN(2)]
			if from == types.F4E2M1 {
				half = "bitcast[f4e2m1](" + half + ")"
			}
			x = ex(of(from, t), "("+half+")", g.expr(of(types.U8, t), d))
		}
		return ex(t, "($ as f32 .* ($ as f32))", x, g.operand(of(types.E8M0, t), d, false))
	})
}
