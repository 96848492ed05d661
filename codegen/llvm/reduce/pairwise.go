package reduce

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
)

// maxLevels bounds how often chunk results are reduced again: 256 * 4096^4 elements and more.
const maxLevels = 4

// level is the lanes into which the results of one level below go.
type level struct {
	mem value.Value
	n   int64 // lanes; those that are never reached are absent
}

func (r *Reduction) fold(l level) value.Value {
	return r.G.Cur.NewCall(r.foldFunc(l.n), l.mem)
}

// levels reduces the chunks of [lo, hi), and the results by the first rule of section 9, again and again until one is
// left. Level l holds the 128 lanes into which the results of level l-1 go; after 4096 results its fold goes one level
// up.
//
// Where nobody knows how many elements there are, one piece is its own result, and levels begin to hold something when
// there are elements for them: clearing and folding the lanes of all levels takes as long as some thousand elements
// (docs/tuning/reductions.md).
func (r *Reduction) levels(lo, hi value.Value) value.Value {
	g, size := r.G, r.S.Order.Chunk()
	t := r.slotType()
	depth := r.depth(size)
	lanes := make([]level, depth)
	reaches := make([]value.Value, depth) // that there are enough elements for a level; nil when that is known
	n, known := build.ConstantInt(r.n)
	pieces := int64(1) // after which level l gets a result: level 0 is emptied by the last of 4096
	for l := range lanes {
		lanes[l].n = kernel.NumLanes
		if known && depth == 1 { // fewer pieces than lanes
			lanes[l].n = min(lanes[l].n, (n+size-1)/size)
		}
		mem, back := g.Borrow(t, int(lanes[l].n))
		defer back()
		lanes[l].mem = mem
		if !known {
			reaches[l] = g.Cur.NewICmp(enum.IPredSGT, r.n, build.Int(build.I64, size*max(pieces-1, 1)))
			pieces *= kernel.Lanes.Chunk()
		}
		g.If(reaches[l], nil, func() []value.Value {
			r.clear(lanes[l])
			return nil
		})
	}
	state := make([]value.Value, depth+1) // the numbers of results in the levels, and the last one
	for l := range depth {
		state[l] = build.Int(build.I64, 0)
	}
	state[depth] = r.identity(g.Width)
	state = g.For(lo, hi, size, state, func(p value.Value, state []value.Value) []value.Value {
		end := r.minInt(g.Cur.NewAdd(p, build.Int(build.I64, size)), hi)
		x := r.oneChunk(p, end)
		return append(g.If(reaches[0], state[:depth], func() []value.Value {
			return r.push(lanes, state[:depth], 0, x)
		}), x)
	})
	only, counts := state[depth], state[:depth]
	out := g.If(reaches[0], []value.Value{only}, func() []value.Value {
		// At the end each level holds a last, short chunk.
		for l := 0; l+1 < depth; l++ {
			more := g.Cur.NewAnd(g.Cur.NewICmp(enum.IPredSGT, counts[l], build.Int(build.I64, 0)),
				g.Cur.NewICmp(enum.IPredSGT, r.above(counts, l), build.Int(build.I64, 0)))
			counts = g.If(more, counts, func() []value.Value { return r.push(lanes, counts, l+1, r.fold(lanes[l])) })
		}
		// The result is the fold of the highest level that holds anything.
		out := []value.Value{r.fold(lanes[0])}
		for l := 1; l < depth; l++ {
			has := g.Cur.NewICmp(enum.IPredSGT, counts[l], build.Int(build.I64, 0))
			out = g.If(has, out, func() []value.Value { return []value.Value{r.fold(lanes[l])} })
		}
		return out
	})
	return out[0]
}

// above is the number of results in the levels over l.
func (r *Reduction) above(counts []value.Value, l int) value.Value {
	sum := value.Value(build.Int(build.I64, 0))
	for _, c := range counts[l+1:] {
		sum = r.G.Add(sum, c)
	}
	return sum
}

// push adds x to its lane of level l; a full chunk of 4096 results is folded into the next level.
func (r *Reduction) push(lanes []level, counts []value.Value, l int, x value.Value) []value.Value {
	g := r.G
	t := r.slotType()
	at := g.Cur.NewGetElementPtr(t, lanes[l].mem, g.Cur.NewAnd(counts[l], build.Int(build.I64, kernel.NumLanes-1)))
	g.Cur.NewStore(r.Combine(g.Cur.NewLoad(t, at), x, g.Width), at)
	next := append([]value.Value{}, counts...)
	next[l] = g.Cur.NewAdd(counts[l], build.Int(build.I64, 1))
	if l+1 == len(lanes) {
		return next
	}
	full := g.Cur.NewICmp(enum.IPredEQ, next[l], build.Int(build.I64, kernel.Lanes.Chunk()))
	return g.If(full, next, func() []value.Value {
		sum := r.fold(lanes[l])
		r.clear(lanes[l])
		up := r.push(lanes, next, l+1, sum)
		up[l] = build.Int(build.I64, 0)
		return up
	})
}

// clear gives every lane the identity.
func (r *Reduction) clear(lanes level) {
	g := r.G
	id := r.identity(g.Width)
	g.For(build.Int(build.I64, 0), build.Int(build.I64, lanes.n), 1, nil,
		func(j value.Value, _ []value.Value) []value.Value {
			g.Cur.NewStore(id, g.Cur.NewGetElementPtr(r.slotType(), lanes.mem, j))
			return nil
		})
}

// depth is the number of levels that r.n elements in pieces of size can need.
func (r *Reduction) depth(size int64) int {
	n, known := build.ConstantInt(r.n)
	if !known {
		return maxLevels
	}
	levels := 1
	for pieces := (n + size - 1) / size; pieces > kernel.Lanes.Chunk() && levels < maxLevels; levels++ {
		pieces = (pieces + kernel.Lanes.Chunk() - 1) / kernel.Lanes.Chunk()
	}
	return levels
}
