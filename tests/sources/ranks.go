package sources

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// Some declared types say which part of a tensor a rank has. What meets others is replicated before, so that nothing
// that is sharded in one way meets what is sharded in another, and nothing is exchanged in the body of a loop.

// ranked is the first seed whose programs say something to ranks.
const ranked = 20784 << 20

// shard is t as declared in some place, which may be sharded along one of its axes.
func (g *gen) shard(t types.Tensor) types.Tensor {
	if g.p.Seed >= ranked && g.deep == 0 && !t.IsScalar() && g.chance(4) {
		t.Sharding = types.ShardedAlong(g.r.IntN(t.Rank()))
		g.ranks++
		g.used["sharded"]++
	}
	return t
}

// bare is t without what it says to ranks.
func bare(t types.Tensor) types.Tensor {
	t.Sharding = types.Replicated
	return t
}

// arrange is x as a place of type t takes it.
func (g *gen) arrange(t types.Tensor, x *Node) *Node {
	if t.Sharding == types.Replicated {
		return x
	}
	return ex(bare(t), fmt.Sprintf("reshard($, %d)", g.axis(t)), x)
}

// axis is the axis of a sharded type, from one end or the other.
func (g *gen) axis(t types.Tensor) int {
	k := t.Sharding.Axis()
	if g.chance(4) {
		k -= t.Rank()
	}
	return k
}

// parameter declares a parameter of type t, of which the body has the whole.
func (g *gen) parameter(name string, t types.Tensor) {
	v := variable{name: name, typ: bare(t)}
	if t.Sharding != types.Replicated {
		v.name = "w" + name
		g.start += fmt.Sprintf("    let %s = replicate(%s);\n", v.name, name)
	}
	g.vars = append(g.vars, v)
}

// declareSharded is a let whose type says what a rank has, and the name of the whole.
func (g *gen) declareSharded(t types.Tensor) *Node {
	x := g.onParts(bare(t), 2)
	if x == nil {
		x = g.expr(bare(t), 3)
	}
	x = g.arrange(t, x)
	part, whole := g.name(), g.name()
	g.vars = append(g.vars, variable{name: whole, typ: bare(t)})
	return node(stmt, nil, "    let "+part+": $ = $;\n    let "+whole+" = replicate("+part+");\n", t, x)
}

// part is an expression of type t that is cut along an axis.
func (g *gen) part(t types.Tensor, axis, d int) *Node {
	t.Sharding = types.ShardedAlong(axis)
	return g.arrange(t, g.expr(bare(t), d))
}

// onParts is an operation on operands of which ranks have parts; nil where there is none, or none may be here.
func (g *gen) onParts(t types.Tensor, d int) *Node {
	if g.p.Seed < ranked || g.deep > 0 || t.IsScalar() {
		return nil
	}
	g.ranks++
	r := t.Rank()
	k, j := g.r.IntN(r), g.r.IntN(r)
	switch g.r.IntN(8) {
	case 0:
		return ex(t, fmt.Sprintf("flip($, %d)", j), g.part(t, k, d))
	case 1:
		return ex(t, fmt.Sprintf("roll($, %d, %d)", 1-2*g.r.IntN(2), j), g.part(t, k, d))
	case 2:
		if r == 2 {
			u := types.Tensor{Elem: t.Elem, Shape: types.Shape{t.Shape[1], t.Shape[0]}}
			return ex(t, "transpose($)", g.part(u, k, d))
		}
		return ex(t, "where($, $, $)", g.part(of(types.Bool, t), k, d), g.part(t, k, d), g.expr(t, d))
	}
	if !t.Elem.IsNumber() {
		return nil
	}
	op := []string{"+", "*", "-"}[g.r.IntN(3)]
	switch g.r.IntN(6) {
	case 0:
		return ex(t, "($ ."+op+" $)", g.part(t, k, d), g.part(t, k, d))
	case 1:
		return ex(t, "($ ."+op+" $)", g.expr(t, d), g.part(t, k, d))
	case 2:
		return ex(t, fmt.Sprintf("cumsum($, axis = %d)", j), g.part(t, k, d))
	case 3:
		return ex(t, fmt.Sprintf("sort($, %d)", j), g.part(t, k, d))
	case 4:
		x, y := g.name(), g.name()
		return ex(t, "map(|"+x+", "+y+"| "+x+" "+op+" "+y+" * "+x+", $, $)", g.part(t, k, d), g.part(t, k, d))
	}
	u := types.Tensor{Elem: t.Elem, Shape: insert(t.Shape, j, g.dim())}
	if !g.fits(u.Shape) {
		return nil
	}
	return ex(t, fmt.Sprintf("%s/[axis=%d]($)", []string{"+", "*"}[g.r.IntN(2)], j), g.part(u, g.r.IntN(r+1), d))
}

// gradientOnParts is the derivative of a function that computes on parts.
func (g *gen) gradientOnParts(t types.Tensor, d int) *Node {
	if g.p.Seed < ranked || g.deep > 0 || g.smooth > 0 || t.IsScalar() || !t.Elem.IsFloat() || g.elems(t.Shape) > 1000 {
		return nil
	}
	g.ranks++
	k, j, x := g.r.IntN(t.Rank()), g.r.IntN(t.Rank()), g.name()
	f := []string{
		"+/(replicate(reshard(X .* $, K) .* reshard(X, K)))",
		"+/(reshard(sin(X), 0) .* reshard($, 0))",
		"{ let y = reshard(X .* X, K); let z = reshard(y .* $, J); +/(replicate(z) .* X) }",
		"+/(replicate(sort(reshard(X, K), J)) .* $)",
		"+/(iterate(3, X, |s| replicate(reshard(s .* $, K))))",
		"+/(replicate(map(|a, b| a * b, reshard(X, K), reshard($, K))))",
	}[g.r.IntN(6)]
	f = strings.NewReplacer("X", x, "K", fmt.Sprint(k), "J", fmt.Sprint(j)).Replace(f)
	return ex(t, "replicate(grad(|"+x+"| "+f+")($))", g.expr(t, d), g.expr(t, d))
}

func init() {
	extend("gradient on parts", func(g *gen, t types.Tensor, d int) *Node { return g.gradientOnParts(t, d) })
	extend("replicate", func(g *gen, t types.Tensor, d int) *Node {
		if x := g.onParts(t, d); x != nil {
			return ex(t, "replicate($)", x)
		}
		return nil
	})
}
