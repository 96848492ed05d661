package llvm

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
)

// maxLevels bounds how often chunk results are reduced again: 256 * 4096^4 elements and more.
const maxLevels = 4

// level is the lanes into which the results of one level below go.
type level struct {
	mem value.Value
	n   int64 // lanes; those that are never reached are absent
}

func (r *reduction) fold(l level) value.Value {
	return r.g.cur.NewCall(r.foldFunc(l.n), l.mem)
}

// levels reduces [lo, hi) in pieces of size elements, each by piece, and the results by the first rule
// of section 9, again and again until one is left. Level l holds the 128 lanes into which the results
// of level l-1 go; after 4096 results its fold goes one level up.
//
// Where nobody knows how many elements there are, one piece is its own result, and levels begin to hold something when
// there are elements for them: to clear and to fold the lanes of all levels takes as long as some thousand elements. (A
// layer norm of f32[64, 1000] took 134 us so, and 18 with code for this shape: one thread of a Zen 3, November 2026.)
func (r *reduction) levels(lo, hi value.Value, size int64, piece func(lo, hi value.Value) value.Value) value.Value {
	g := r.g
	t := r.slotType()
	depth := r.depth(size)
	lanes := make([]level, depth)
	reaches := make([]value.Value, depth) // that there are enough elements for a level; nil when that is known
	n, known := constantInt(r.n)
	pieces := int64(1) // after which level l gets a result: level 0 is emptied by the last of 4096
	for l := range lanes {
		lanes[l].n = kernel.NumLanes
		if known && depth == 1 { // fewer pieces than lanes
			lanes[l].n = min(lanes[l].n, (n+size-1)/size)
		}
		lanes[l].mem = g.stack(t, int(lanes[l].n))
		if !known {
			reaches[l] = g.cur.NewICmp(enum.IPredSGT, r.n, ci(i64, size*max(pieces-1, 1)))
			pieces *= kernel.Lanes.Chunk()
		}
		g.when(reaches[l], nil, func() []value.Value {
			r.clear(lanes[l])
			return nil
		})
	}
	state := make([]value.Value, depth+1) // the numbers of results in the levels, and the last one
	for l := range depth {
		state[l] = ci(i64, 0)
	}
	state[depth] = r.identity(g.w)
	state = g.count(lo, hi, size, state, func(p value.Value, state []value.Value) []value.Value {
		end := r.minInt(g.cur.NewAdd(p, ci(i64, size)), hi)
		x := piece(p, end)
		return append(g.when(reaches[0], state[:depth], func() []value.Value {
			return r.push(lanes, state[:depth], 0, x)
		}), x)
	})
	only, counts := state[depth], state[:depth]
	out := g.when(reaches[0], []value.Value{only}, func() []value.Value {
		// At the end each level holds a last, short chunk.
		for l := 0; l+1 < depth; l++ {
			more := g.cur.NewAnd(g.cur.NewICmp(enum.IPredSGT, counts[l], ci(i64, 0)),
				g.cur.NewICmp(enum.IPredSGT, r.above(counts, l), ci(i64, 0)))
			counts = g.when(more, counts, func() []value.Value { return r.push(lanes, counts, l+1, r.fold(lanes[l])) })
		}
		// The result is the fold of the highest level that holds anything.
		out := []value.Value{r.fold(lanes[0])}
		for l := 1; l < depth; l++ {
			has := g.cur.NewICmp(enum.IPredSGT, counts[l], ci(i64, 0))
			out = g.when(has, out, func() []value.Value { return []value.Value{r.fold(lanes[l])} })
		}
		return out
	})
	return out[0]
}

// above is the number of results in the levels over l.
func (r *reduction) above(counts []value.Value, l int) value.Value {
	sum := value.Value(ci(i64, 0))
	for _, c := range counts[l+1:] {
		sum = r.g.plus(sum, c)
	}
	return sum
}

// push adds x to its lane of level l; a full chunk of 4096 results is folded into the next level.
func (r *reduction) push(lanes []level, counts []value.Value, l int, x value.Value) []value.Value {
	g := r.g
	t := r.slotType()
	at := g.cur.NewGetElementPtr(t, lanes[l].mem, g.cur.NewAnd(counts[l], ci(i64, kernel.NumLanes-1)))
	g.cur.NewStore(r.combine(g.cur.NewLoad(t, at), x, g.w), at)
	next := append([]value.Value{}, counts...)
	next[l] = g.cur.NewAdd(counts[l], ci(i64, 1))
	if l+1 == len(lanes) {
		return next
	}
	full := g.cur.NewICmp(enum.IPredEQ, next[l], ci(i64, kernel.Lanes.Chunk()))
	return g.when(full, next, func() []value.Value {
		sum := r.fold(lanes[l])
		r.clear(lanes[l])
		up := r.push(lanes, next, l+1, sum)
		up[l] = ci(i64, 0)
		return up
	})
}

// clear gives every lane the identity.
func (r *reduction) clear(lanes level) {
	g := r.g
	id := r.identity(g.w)
	g.count(ci(i64, 0), ci(i64, lanes.n), 1, nil, func(j value.Value, _ []value.Value) []value.Value {
		g.cur.NewStore(id, g.cur.NewGetElementPtr(r.slotType(), lanes.mem, j))
		return nil
	})
}

// depth is the number of levels that r.n elements in pieces of size can need.
func (r *reduction) depth(size int64) int {
	n, known := constantInt(r.n)
	if !known {
		return maxLevels
	}
	levels := 1
	for pieces := (n + size - 1) / size; pieces > kernel.Lanes.Chunk() && levels < maxLevels; levels++ {
		pieces = (pieces + kernel.Lanes.Chunk() - 1) / kernel.Lanes.Chunk()
	}
	return levels
}
