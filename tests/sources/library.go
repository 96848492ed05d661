package sources

import (
	"fmt"
	"slices"

	"healc/lang/types"
)

// newer are makers that programs from the seed `since` on draw, too. Those before it stay what they are: tests/reach
// names them.
var newer []maker

const since = 1 << 20

// extend adds a maker to newer.
func extend(name string, make func(g *gen, t types.Tensor, d int) *Node) {
	newer = append(newer, maker{name, make})
}

// newerExpr is an expression of one of them, or nil.
func (g *gen) newerExpr(t types.Tensor, d int) *Node {
	if g.p.Seed < since || !g.chance(10) {
		return nil
	}
	for range 6 {
		m := newer[g.r.IntN(len(newer))]
		if n := m.make(g, t, d); n != nil {
			g.used[m.name]++
			return n
		}
	}
	return nil
}

// imports makes a module of the standard library visible.
func (g *gen) imports(module string) {
	if !slices.Contains(g.p.Imports, module) {
		g.p.Imports = append(g.p.Imports, module)
	}
}

// library is a call of a function of a module.
func (g *gen) library(t types.Tensor, module, call string, kids ...any) *Node {
	g.imports(module)
	return ex(t, module+"."+call, kids...)
}

func init() {
	// callable reports that functions of the library may be called here, on tensors of these shapes.
	callable := func(g *gen, t types.Tensor, shapes ...types.Shape) bool {
		if g.smooth > 0 || g.mult > 8 || !t.Elem.IsNumber() {
			return false
		}
		for _, s := range shapes {
			if n := g.elems(s); n < 1 || n > 1000 {
				return false
			}
		}
		return true
	}
	extend("library scalar", func(g *gen, t types.Tensor, d int) *Node {
		u := types.Tensor{Elem: t.Elem, Shape: types.Shape{g.dim()}}
		if !t.IsScalar() || !callable(g, t, u.Shape) {
			return nil
		}
		x := g.expr(u, d)
		if !t.Elem.IsFloat() || g.chance(4) {
			switch g.r.IntN(4) {
			case 0:
				return g.library(t, "linalg", "dot($, $)", x, g.expr(u, d))
			case 1:
				return g.library(t, "linalg", "norm1($)", x)
			case 2:
				return g.library(t, "linalg", "norm_inf($)", x)
			}
			return g.library(t, "math", "polyval($, $)", x, g.expr(t, d))
		}
		switch g.r.IntN(6) {
		case 0:
			return g.library(t, "linalg", "norm($)", x)
		case 1:
			return g.library(t, "math", "logsumexp($)", x)
		case 2:
			return g.library(t, "stats", "std($)", x)
		case 3:
			return g.library(t, "stats", "median($)", x)
		case 4:
			return g.library(t, "stats", "mae($, $)", x, g.expr(u, d))
		}
		return g.library(t, "math", "hypot($, $)", g.expr(t, d), g.expr(t, d))
	})
	extend("library vector", func(g *gen, t types.Tensor, d int) *Node {
		if len(t.Shape) != 1 || !callable(g, t, t.Shape) {
			return nil
		}
		longer := func(n int64) types.Tensor {
			return types.Tensor{Elem: t.Elem, Shape: types.Shape{add(t.Shape[0], n)}}
		}
		switch k := g.r.IntN(5); {
		case k == 0:
			return g.library(t, "math", "diff($)", g.expr(longer(1), d))
		case k == 1:
			few := types.Tensor{Elem: t.Elem, Shape: types.Shape{types.Lit(3)}}
			return g.library(t, "signal", "correlate($, $)", g.expr(longer(2), d), g.expr(few, d))
		case !t.Elem.IsFloat():
			return nil
		case k == 2:
			return g.library(t, "linalg", "normalize($)", g.expr(t, d))
		}
		return g.library(t, "stats", "standardise($)", g.expr(t, d))
	})
	extend("library matrix", func(g *gen, t types.Tensor, d int) *Node {
		if len(t.Shape) != 2 || !callable(g, t, t.Shape) {
			return nil
		}
		if !t.Elem.IsFloat() || g.chance(3) {
			if g.chance(2) {
				part := func(i int) *Node { return g.expr(types.Tensor{Elem: t.Elem, Shape: t.Shape[i : i+1]}, d) }
				return g.library(t, "linalg", "outer($, $)", part(0), part(1))
			}
			return g.library(t, "linalg", []string{"tril($)", "triu($)"}[g.r.IntN(2)], g.expr(t, d))
		}
		return g.library(t, "nn", []string{"softmax($)", "log_softmax($)", "gelu($)"}[g.r.IntN(3)], g.expr(t, d))
	})
	// An arm in which shapes do not fit, which stops the program where it is taken.
	extend("shapes that do not fit", func(g *gen, t types.Tensor, d int) *Node {
		if len(g.dims) == 0 || !t.Elem.IsNumber() || g.elems(t.Shape) == 0 || !g.hazard() {
			return nil
		}
		n := types.Param(g.dims[g.r.IntN(len(g.dims))])
		k := g.size(n) + int64(g.r.IntN(4))
		bad := fmt.Sprintf("full[i32, $ - %d](1)", k+1)
		if g.chance(2) {
			bad = fmt.Sprintf("(0..$)[%d..%d]", k, k+2)
		}
		g.p.Unfit = true
		return ex(t, "(if $ { let w = "+bad+"; $ .+ (+/(w) as $) } else { $ })", g.cond(d), n, g.expr(t, d),
			elem(t.Elem), g.expr(t, d))
	})
}
