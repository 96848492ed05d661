package sources

import (
	"fmt"

	"healc/lang/types"
)

var moduli = []string{"1", "2", "7", "17", "97", "12289", "65537"}

func init() {
	define("modular", func(g *gen, t types.Tensor, d int) *Node {
		if t.Elem != types.I32 && t.Elem != types.I64 || t.Elem == g.generic || g.smooth > 0 {
			return nil
		}
		p := ex(types.Scalar(t.Elem), "$", literal{t.Elem, moduli[g.r.IntN(len(moduli))]})
		if t.Elem == types.I64 && g.chance(2) {
			large := []string{"1125899904679937", "4611686018326724609"}[g.r.IntN(2)]
			p = ex(types.Scalar(t.Elem), "$", literal{t.Elem, large})
		}
		switch g.r.IntN(4) {
		case 0:
			return ex(t, []string{"mod", "modneg"}[g.r.IntN(2)]+"($, $)", g.expr(t, d), p)
		case 1:
			return ex(t, "modpow($, abs($ % $), $)", g.expr(t, d), g.expr(t, d), literal{t.Elem, "50"}, p)
		}
		a, b := g.two(t, d)
		return ex(t, []string{"modsum", "modsub", "modmul"}[g.r.IntN(3)]+"($, $, $)", a, b, p)
	})
	define("modular sum", func(g *gen, t types.Tensor, d int) *Node {
		if t.Elem != types.I32 && t.Elem != types.I64 || t.Elem == g.generic || t.IsScalar() || g.smooth > 0 {
			return nil
		}
		p := ex(types.Scalar(t.Elem), "$", literal{t.Elem, moduli[g.r.IntN(len(moduli))]})
		axis := g.r.IntN(len(t.Shape))
		n := g.dim()
		s := insert(t.Shape, axis, n)
		if !g.fits(s) || g.size(n) < 1 {
			return nil
		}
		u := types.Tensor{Elem: t.Elem, Shape: s}
		if g.chance(2) {
			return ex(t, fmt.Sprintf("axis_modsum($, $, %d)", axis), g.expr(u, d), p)
		}
		return ex(t, fmt.Sprintf("modmul_axis_sum($, $, $, %d)", axis), g.expr(u, d), g.expr(u, d), p)
	})
	define("transform", func(g *gen, t types.Tensor, d int) *Node {
		if t.Elem != types.I64 || t.Elem == g.generic || len(t.Shape) != 1 || g.mult > 1 || g.smooth > 0 {
			return nil
		}
		n, ok := g.small(t.Shape)
		if !ok {
			n = g.size(t.Shape[0])
		}
		if n < 2 || n&(n-1) != 0 || n > 256 || g.dimIsShape(t.Shape[0]) {
			return nil
		}
		g.imports("ring")
		return ex(t, "flatten(ring.mul(reshape($, [1, 1, $]), reshape($, [1, 1, $]), "+
			"ring.plan[1, $](ring.primes[1](30, ($) as i64))))",
			g.expr(t, d), t.Shape[0], g.expr(t, d), t.Shape[0], t.Shape[0], t.Shape[0])
	})
}
