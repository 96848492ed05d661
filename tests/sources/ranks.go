package sources

import (
	"fmt"

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
	x, part, whole := g.arrange(t, g.expr(bare(t), 3)), g.name(), g.name()
	g.vars = append(g.vars, variable{name: whole, typ: bare(t)})
	return node(stmt, nil, "    let "+part+": $ = $;\n    let "+whole+" = replicate("+part+");\n", t, x)
}

func init() {
	extend("replicate", func(g *gen, t types.Tensor, d int) *Node {
		s := g.shard(t)
		if s.Sharding == types.Replicated {
			return nil
		}
		return ex(t, "replicate($)", g.arrange(s, g.expr(t, d)))
	})
}
