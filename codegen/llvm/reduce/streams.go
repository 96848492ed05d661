package reduce

import (
	"slices"

	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Streams]
//
// A loop over the chunks of a long reduction, or over rows that are reduced, reads memory from one end to the other.
// Some processors read faster in several places at once, each of which their prefetchers follow. The order of a sum is
// that of the language, but chunks and rows are independent: so the range is cut into 2 or 4 parts, and one chunk of
// each goes side by side, in one loop with accumulators for all of them (docs/tuning/reductions.md).
//
// For lanes that have no registers there is memory (Note [Spilled accumulators]). Extremes and others whose order is
// free share the accumulators that one row would have. The last chunk may not be full, and goes by itself.

// streams is the code of such a loop.
type streams struct {
	g *emit.Func
	v kernel.Ref
	*schedule.Streams
	count int // of rows at once
	w     int // elements of a vector
}

// StreamsForm reduces chunks or rows side by side that are far apart.
var StreamsForm = emit.ParallelForm{
	Name: "streams",
	For:  "loops over the chunks of a reduction, or over rows that are reduced, which come from memory",
	Why:  "only where the loop is no vectors, and nothing long follows the reductions",
	Write: func(g *emit.Func, v kernel.Ref, lo, hi value.Value, body *kernel.Block) (value.Value, bool) {
		d := g.Schedule.Find("streams", v)
		if d == nil || g.Width != 0 {
			return nil, false
		}
		t, _ := g.Code().StreamsOf(v, body)
		c := &streams{g: g, v: v, Streams: t, count: int(d.Get("count"))}
		r := newReduction(g, t.Sums[0])
		if c.w, _ = r.alongWidth(); c.w == 0 {
			return nil, false
		}
		n := g.Cur.NewSub(hi, lo)
		if r.S.Chunk != scalar.None {
			n = g.Cur.NewSub(n, build.Int(build.I64, 1))
		}
		each := g.Cur.NewSDiv(n, build.Int(build.I64, int64(c.count)))
		g.For(lo, g.Cur.NewAdd(lo, each), 1, nil, func(i value.Value, _ []value.Value) []value.Value {
			c.sideBySide(i, each)
			return nil
		})
		return g.Cur.NewAdd(lo, g.Mul(each, build.Int(build.I64, int64(c.count)))), true
	},
}

// sideBySide does the iterations i, i + each, and so on.
func (c *streams) sideBySide(i, each value.Value) {
	g := c.g
	around := g.Env
	defer func() { g.Env = around }()
	elements := kernel.Lanes.Chunk() // of a row
	var rows []*accumulatorGroup
	var ends []value.Value // of the elements of each
	envs := make([][]emit.Val, c.count)
	for s := range envs {
		g.Env = slices.Clone(around)
		envs[s] = g.Env
		far := g.Mul(each, build.Int(build.I64, int64(s)))
		g.Env[c.v] = emit.Val{V: g.Add(i, far)}
		g.Block(&kernel.Block{Stmts: c.Before})
		for _, sum := range c.Sums {
			r := newReduction(g, sum)
			lo, end := value.Value(build.Int(build.I64, 0)), r.n
			var behind value.Value
			if sum.Chunk != scalar.None {
				lo = g.Cur.NewMul(g.Uniform(sum.Chunk), build.Int(build.I64, elements))
				end = g.Cur.NewAdd(lo, build.Int(build.I64, elements))
				behind = g.Mul(far, build.Int(build.I64, elements))
			} else {
				elements, _ = build.ConstantInt(r.n)
			}
			row := c.row(r, lo, end)
			row.env, row.behind = envs[s], behind
			rows, ends = append(rows, row), append(ends, end)
		}
	}
	lo := value.Value(build.Int(build.I64, 0))
	if chunk := c.Sums[0].Chunk; chunk != scalar.None {
		lo = g.Cur.NewMul(envs[0][chunk].V, build.Int(build.I64, elements))
	}
	whole := elements / kernel.NumLanes * kernel.NumLanes
	state := runGroups(g, rows, lo, g.Add(lo, build.Int(build.I64, whole)), c.w)
	next := 0
	eachGroup(rows, state, func(row *accumulatorGroup, mine []value.Value) []value.Value {
		g.Env = row.env
		stop := ends[next]
		if n, known := build.ConstantInt(stop); known {
			stop = build.Int(build.I64, n/kernel.NumLanes*kernel.NumLanes)
		}
		g.Set(row.r.S.ID, row.done(mine, stop), false)
		if next++; next%len(c.Sums) == 0 {
			g.Block(&kernel.Block{Stmts: c.After})
		}
		return nil
	})
}

// row is one reduction of one row.
func (c *streams) row(r *Reduction, lo, hi value.Value) *accumulatorGroup {
	if r.S.Order != kernel.Lanes {
		return r.group(lo, hi, c.w, max(fusedGroups/c.count, 1))
	}
	m := r.G.Machine
	// Three of four registers are for lanes.
	lanes := (m.Registers - m.Registers/4) * m.VectorBits / (8 * c.w * r.slotBytes())
	lanes /= c.count * len(c.Sums)
	if lanes >= kernel.NumLanes/c.w {
		return r.group(lo, hi, c.w, fusedGroups)
	}
	return r.laneGroup(lanes, hi, c.w)
}
